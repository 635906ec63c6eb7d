use std::fs;
use std::path::{Path, PathBuf};

use super::*;

const S: i64 = 1_000_000_000;

fn corpus() -> Option<PathBuf> {
    let chosen = std::env::var_os("KUBESIM_CORPUS").map(PathBuf::from);
    let folder = chosen.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"));
    folder.is_dir().then_some(folder)
}

fn problem(text: &str) -> (usize, usize, String) {
    let problem = series(text, &Columns::default()).unwrap_err();
    (problem.line, problem.column, problem.message)
}

#[test]
fn tables_are_series() {
    let text = "time,requests\n0,10\n60,12.5\n";
    assert_eq!(series(text, &Columns::default()), Ok(vec![(0, 10.0), (60 * S, 12.5)]));
    // Clock times count from the first row; a name chooses a column.
    let text = "id,timestamp,bytes,hits\n7,2014-04-10 00:04:00,1,94.0\n8,2014-04-10 00:09:00,1,56\n";
    let hits = Columns { value: Some("hits".into()), ..Columns::default() };
    assert_eq!(series(text, &hits), Ok(vec![(0, 94.0), (300 * S, 56.0)]));
    assert_eq!(series(text, &Columns::default()).unwrap_err().line, 1);
    let none = Columns { value: Some("hit".into()), ..Columns::default() };
    assert_eq!(series(text, &none).unwrap_err().help.as_deref(), Some("the columns are id, timestamp, bytes, hits"));
}

#[test]
fn broken_tables_are_refused_with_their_line() {
    for (text, line, column, message) in [
        ("time,requests\n0,10\n60,NaN\n", 3, 4, "requests: `NaN` is no rate: it must be a finite number"),
        ("time,requests\n0,10\n60,-5\n", 3, 4, "requests: `-5` is no rate: it is negative"),
        ("time,requests\n0,10\n120,11\n60,12\n", 4, 1, "time: `60` goes backwards"),
        ("time,requests\n0,10\n60,11\n60,12\n", 4, 1, "time: `60` is the same time twice"),
        ("time,requests\n-1,10\n", 2, 1, "time: `-1` lies before the start"),
        ("time,requests\n0,ten\n", 2, 3, "requests: `ten` is not a number"),
        ("time,requests\nsoon,1\n", 2, 1, "time: `soon` is not a time"),
        ("time,requests\n0,1\n2026-01-01,1\n", 3, 1, "`2026-01-01` is another kind of time than those before"),
        ("time\n0\n", 1, 1, "there is no column beside that of times"),
    ] {
        assert_eq!(problem(text), (line, column, message.to_string()));
    }
}

#[test]
fn answers_of_prometheus_are_series() {
    let text = r#"{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"job": "a"},
        "values": [[1700158623.5, "3"], [1700158653.5, "4.25"]]}]}}"#;
    assert_eq!(series(text, &Columns::default()), Ok(vec![(0, 3.0), (30 * S, 4.25)]));
    let start = "{\"data\": {\"resultType\": \"matrix\",\n \"result\": [";
    for (text, line, column, message) in [
        ("{\"status\": oops}".to_string(), 1, 12, "not valid JSON here"),
        ("{\n\"error\": \"timeout\"}".into(), 2, 10, "Prometheus answered with an error: timeout"),
        (
            "{\"x\": [1, \"}\"],\n\"data\": {\"resultType\": \"vector\"}}".into(),
            2,
            9,
            "not the answer to a range query: no `data` of type `matrix`",
        ),
        (format!("{start}]}}}}"), 2, 12, "the answer has 0 series; a load needs one"),
        (format!("{start}{{\"values\": []}}]}}}}"), 2, 12, "the series has no values"),
        (
            format!("{start}{{\"metric\": {{\"a\": \"[\\\"\"}}, \"values\": [[1, \"2\"],\n  [2, \"NaN\"]]}}]}}}}"),
            3,
            3,
            "value 2: is no rate: it must be a finite number",
        ),
        (format!("{start}{{\"values\": [[2, \"2\"],\n[1, \"1\"]]}}]}}}}"), 3, 1, "value 2: lies before the start"),
    ] {
        assert_eq!(problem(&text), (line, column, message.to_string()), "{text}");
    }
}

#[test]
fn logs_are_arrivals() {
    let log = "TIMESTAMP,Tokens\n2023-11-16 18:17:03.9799600,1\n2023-11-16 18:17:04.0319600,2\n2023-11-16 18:17:04.0319600,2\n";
    // 52 ms after the first.
    assert_eq!(requests(log, &Columns::default()), Ok(vec![0, 52_000_000, 52_000_000]));
    let error = requests("t,x\n5,1\n4,1\n", &Columns::default()).unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (3, "t: `4` goes backwards"));
}

#[test]
#[allow(clippy::print_stdout)]
fn recorded_loads_of_the_corpus_are_read() {
    let Some(corpus) = corpus() else { return println!("corpus: skipped") };
    let read = |file: &str| fs::read_to_string(corpus.join("loads").join(file)).unwrap();
    // Rows and, for the first, the sum, as their index says.
    let cup = series(&read("worldcup98_1998-07-01_07_per_minute.csv"), &Columns::default()).unwrap();
    assert_eq!((cup.len(), cup.iter().map(|(_, count)| count).sum::<f64>()), (10_080, 177_341_095.0));
    assert_eq!(cup[10_079].0, 10_079 * 60 * S);
    for (file, rows) in [("elb_request_count_5min.csv", 4_032), ("twitter_volume_goog_5min.csv", 9_000)] {
        assert_eq!(series(&read(file), &Columns::default()).unwrap().len(), rows, "{file}");
    }
    assert_eq!(requests(&read("azure_llm_2023_code_requests.csv"), &Columns::default()).unwrap().len(), 8_000);
}

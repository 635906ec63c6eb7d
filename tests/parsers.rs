//! Texts against naive grammars: quantities, Go durations, label and field selectors; and no input that `kubesim check`
//! cannot answer. `PROPTEST_CASES=100000 cargo test --test parsers` looks longer.

#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs;
use std::path::Path;

use kubesim::model::Span;
use kubesim::rules::quantity::Quantity;
use kubesim::rules::{go_duration, selector_text};
use kubesim::scenario::schema::samples::SAMPLES;
use kubesim::scenario::{Overrides, examine};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use regex::Regex;

fn regex(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// Pieces put together at random: most are wrong, many are nearly right.
fn pieces(all: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(all), 0..most).prop_map(|pieces| pieces.concat())
}

/// Whole units and digits behind the point as thousandths; `None` when it has more digits than that.
fn thousandths(whole: &str, fraction: &str) -> Option<i128> {
    let digits = fraction.trim_end_matches('0');
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: i128 = if digits.is_empty() { 0 } else { format!("{digits:0<3}").parse().ok()? };
    (digits.len() <= 3).then_some(whole * 1000 + part)
}

const QUANTITY: &str = r"^([+-]?)([0-9]*)(?:\.([0-9]*))?(|n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)$";

proptest! {
    #[test]
    fn quantities_are_taken_as_the_grammar_says(
        text in prop_oneof![
            pieces(&["1", "0", "25", "007", ".", "+", "-", "e", "E", "3", "n", "u", "m", "k", "K", "M", "G", "P", "i", " "], 6),
            r"[+-]?[0-9]{0,4}(\.[0-9]{0,4})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?",
            ".{0,6}",
        ]
    ) {
        let grammar = regex(QUANTITY);
        let parts = grammar.captures(&text).filter(|_| !text.is_empty());
        let parsed = Quantity::parse(&text);
        prop_assert_eq!(parsed.is_ok(), parts.is_some(), "{:?}", text);
        let (Ok(quantity), Some(parts)) = (parsed, parts) else { return Ok(()) };
        for written in [quantity.to_string(), quantity.recomputed()] {
            prop_assert_eq!(&Quantity::parse(&written).unwrap(), &quantity, "{:?} is written {:?}", text, written);
        }
        let part = |index: usize| parts.get(index).map_or("", |part| part.as_str());
        let factor: i128 = match part(4) {
            "" => 1, "k" => 1_000, "M" => 1_000_000, "Ki" => 1 << 10, "Mi" => 1 << 20, "Gi" => 1 << 30,
            _ => return Ok(()),
        };
        if let Some(thousandths) = thousandths(part(2), part(3)).filter(|thousandths| *thousandths < 1_000_000_000) {
            let amount = thousandths * factor * if part(1) == "-" { -1 } else { 1 };
            prop_assert_eq!(i128::from(quantity.milli_value()), amount, "{:?}", text);
        }
    }

    #[test]
    fn durations_are_taken_as_the_grammar_says(
        text in prop_oneof![
            pieces(&["1", "0", "90", ".", ".5", "+", "-", "h", "m", "s", "ms", "us", "µs", "ns", "d", " "], 7),
            "[+-]?([0-9]{1,3}(\\.[0-9]{0,3})?(h|m|s|ms|us|ns)){1,3}",
            ".{0,6}",
        ]
    ) {
        let grammar = regex(r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$");
        let parsed = go_duration::parse(&text);
        prop_assert_eq!(parsed.is_ok(), grammar.is_match(&text), "{:?}", text);
        let Ok(ns) = parsed else { return Ok(()) };
        prop_assert_eq!(go_duration::parse(&Span(ns).to_string()), Ok(ns), "{:?}", text);
        let mut sum: i128 = 0;
        for part in regex(r"([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|s|m|h)").captures_iter(&text) {
            let unit: i128 = match &part[3] {
                "h" => 3_600_000_000_000, "m" => 60_000_000_000, "s" => 1_000_000_000, "ms" => 1_000_000, "ns" => 1,
                _ => 1_000,
            };
            let Some(thousandths) = thousandths(&part[1], &part[2]) else { return Ok(()) };
            // What is finer than a nanosecond is cut off in each part.
            sum += thousandths * unit / 1000;
        }
        prop_assert_eq!(i128::from(ns), if text.starts_with('-') { -sum } else { sum }, "{:?}", text);
    }

    #[test]
    fn label_selectors_are_taken_as_the_grammar_says(
        text in prop_oneof![
            pieces(&["a", "b.c", "x/y", "-", "7", "in", "notin", "=", "==", "!=", "!", "<", ">", "(", ")", ",", " "], 9),
            "(!?[ab]|[ab](=|==|!=)[ab]?|[ab] (in|notin) \\([ab](,[ab]?){0,2}\\)|[ab][<>][0-9])(, ?!?[ab]){0,2}",
        ]
    ) {
        let name = "[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?";
        let key = format!(r"(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?{name}");
        let list = format!(r"\(\s*(?:{name})?\s*(?:,\s*(?:{name})?\s*)*\)");
        let term = format!(
            r"\s*(?:!\s*{key}|{key}|{key}\s*(?:==|=|!=)\s*(?:{name})?|{key}\s*[<>]\s*[0-9]+|{key}\s+(?:in|notin)\s*{list})\s*"
        );
        let is_good = text.trim().is_empty() || regex(&format!("^{term}(?:,{term})*$")).is_match(&text);
        let parsed = selector_text::parse_terms(&text);
        prop_assert_eq!(parsed.is_ok(), is_good, "{:?}: {:?}", text, parsed);
        let Ok(terms) = parsed else { return Ok(()) };
        let written = selector_text::canonical(&terms);
        let mut sorted = terms;
        sorted.sort_by(|a, b| a.key.cmp(&b.key));
        prop_assert_eq!(selector_text::parse_terms(&written), Ok(sorted), "{:?} is written {:?}", text, written);
    }

    #[test]
    fn field_selectors_are_taken_as_the_grammar_says(
        text in pieces(&["status.phase", "metadata.name", "x", "=", "==", "!=", "!", "\\", "\\,", "\\=", "\\\\", ",", "a b"], 7)
    ) {
        let term = r"(?:(?:status\.phase|metadata\.name)(?:!=|==|=)(?:[^\\,=]|\\[\\,=])*)?";
        let is_good = regex(&format!("^{term}(?:,{term})*$")).is_match(&text);
        let parsed = selector_text::parse_fields(&text, kubesim::model::Kind::Pod);
        prop_assert_eq!(parsed.is_ok(), is_good, "{:?}: {:?}", text, parsed);
    }

    #[test]
    fn values_of_field_selectors_survive_escaping(values in prop::collection::vec(".{0,12}", 1..4)) {
        let escape = |value: &String| value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
        let terms: Vec<String> = values.iter().map(|value| format!("metadata.name!={}", escape(value))).collect();
        let parsed = selector_text::parse_fields(&terms.join(","), kubesim::model::Kind::Pod).unwrap();
        let found: Vec<&str> = parsed.iter().map(|requirement| requirement.value.as_str()).collect();
        prop_assert_eq!(found, values.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert!(parsed.iter().all(|requirement| requirement.negated));
    }
}

/// Texts that are fine, to be spoiled.
fn good_texts() -> Vec<String> {
    let mut texts: Vec<String> = SAMPLES.iter().map(|text| (*text).to_string()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files = paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    texts.extend(files.map(|path| fs::read_to_string(path).unwrap()));
    texts.push(MANIFESTS.to_string());
    texts
}

const MANIFESTS: &str = r#"apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n, labels: {a: b}}
  spec: {taints: [{key: k, value: v, effect: NoSchedule}]}
  status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {generateName: d-, namespace: shop, annotations: {x: "y"}}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}
  template:
    metadata: {labels: {a: b, c: d}}
    spec:
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}
      tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
      containers:
      - name: c
        image: i:1
        ports: [{containerPort: 80}]
        readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 5}
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 1Gi}}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": null}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
"#;

const NASTY: &[&str] = &[
    "null",
    "[]",
    "{}",
    "-1",
    "1e999",
    "\"\"",
    "*a",
    "&a ",
    "<<: ",
    "!!binary x",
    "9223372036854775808",
    ".nan",
    "2001-01-01",
    "\u{0}",
    "\u{feff}",
    "\t",
    "\r\n",
    "---\n",
    "...\n",
    "- ",
    ": ",
    "? ",
    "#",
    "'",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "|\n",
    ">-\n",
    "%",
    "é",
    "\u{10ffff}",
    "kind: List\n",
    "0x10",
    "1_000",
    "~",
    "99999999999999999999999999999999",
    "-0.0",
    "{{ .Values.x }}",
];

/// One way to spoil a text; places are parts of its length.
#[derive(Clone, Debug)]
enum Spoil {
    Replace(f64, usize, &'static str),
    Insert(f64, &'static str),
    DoubleLine(f64),
    DropLine(f64),
    Indent(f64, usize),
    SwapLines(f64, f64),
    Cut(f64),
}

fn spoils() -> impl Strategy<Value = Vec<Spoil>> {
    let nasty = || prop::sample::select(NASTY);
    let place = || 0.0..1.0_f64;
    let spoil = prop_oneof![
        (place(), 0..20_usize, nasty()).prop_map(|(at, length, with)| Spoil::Replace(at, length, with)),
        (place(), nasty()).prop_map(|(at, what)| Spoil::Insert(at, what)),
        place().prop_map(Spoil::DoubleLine),
        place().prop_map(Spoil::DropLine),
        (place(), 0..9_usize).prop_map(|(at, spaces)| Spoil::Indent(at, spaces)),
        (place(), place()).prop_map(|(a, b)| Spoil::SwapLines(a, b)),
        place().prop_map(Spoil::Cut),
    ];
    prop::collection::vec(spoil, 1..5)
}

fn spoiled(text: &str, spoils: &[Spoil]) -> String {
    let mut text = text.to_string();
    for spoil in spoils {
        let mut characters: Vec<char> = text.chars().collect();
        let at = |place: f64, count: usize| ((place * count as f64) as usize).min(count);
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        let line = |place: f64| at(place, lines.len()).min(lines.len().saturating_sub(1));
        text = match spoil {
            Spoil::Replace(place, length, with) => {
                let start = at(*place, characters.len());
                let end = (start + length).min(characters.len());
                characters.splice(start..end, with.chars());
                characters.into_iter().collect()
            }
            Spoil::Insert(place, what) => {
                let start = at(*place, characters.len());
                characters.splice(start..start, what.chars());
                characters.into_iter().collect()
            }
            Spoil::Cut(place) => characters[..at(*place, characters.len())].iter().collect(),
            _ if lines.is_empty() => text,
            Spoil::DoubleLine(place) => {
                let index = line(*place);
                lines.insert(index, lines[index].clone());
                lines.join("\n")
            }
            Spoil::DropLine(place) => {
                let index = line(*place);
                lines.remove(index);
                lines.join("\n")
            }
            Spoil::Indent(place, spaces) => {
                let index = line(*place);
                lines[index] = format!("{}{}", " ".repeat(*spaces), lines[index].trim_start());
                lines.join("\n")
            }
            Spoil::SwapLines(a, b) => {
                let (a, b) = (line(*a), line(*b));
                lines.swap(a, b);
                lines.join("\n")
            }
        };
    }
    text
}

/// Looks at bytes as `kubesim check` does and writes out what it says.
fn look_at(bytes: &[u8]) -> Result<(), TestCaseError> {
    let examined = examine::bytes(bytes, "app.yaml", &Overrides::default()).examined;
    let shown = examined.problems.render(true);
    prop_assert!(shown.len() >= examined.problems.len());
    let is_fine = !examined.problems.has_errors();
    prop_assert_eq!(is_fine, !examined.plans.is_empty(), "what is fine can be run, and nothing else");
    for (source, mark) in examined.problems.iter().filter_map(|problem| problem.place.as_ref()) {
        prop_assert!(mark.line >= 1 && mark.column >= 1, "{}: {mark:?}", source.file);
    }
    Ok(())
}

/// Runs on a thread with the stack of the program: tests have less, and code without optimisation needs more.
fn on_a_stack_of_the_program(test: fn()) {
    std::thread::Builder::new().stack_size(8 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn any_bytes_are_answered() {
    on_a_stack_of_the_program(|| {
        let bytes = prop::collection::vec(any::<u8>(), 0..200);
        let text = pieces(NASTY, 30).prop_map(String::into_bytes);
        let mut runner = TestRunner::default();
        runner.run(&prop_oneof![bytes, text], |bytes| look_at(&bytes)).unwrap();
    });
}

#[test]
fn any_spoiled_manifest_is_answered() {
    on_a_stack_of_the_program(|| {
        let texts = good_texts();
        for text in &texts {
            look_at(text.as_bytes()).unwrap();
        }
        let mut runner = TestRunner::default();
        let spoiled = (prop::sample::select(texts), spoils()).prop_map(|(text, spoils)| spoiled(&text, &spoils));
        runner.run(&spoiled, |text| look_at(text.as_bytes())).unwrap();
    });
}

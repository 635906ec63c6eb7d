//! The two listings of the textbook: the recorded load or queue of each tick -> desired and running pods.

use crate::case::Disagreement;
use kubesim::autoscaling::textbook::{LoadRule, QueueRule};

/// What became of each row of a table.
pub type Rows = Vec<Result<(), Disagreement>>;

/// Replays a table; one outcome a row.
pub type TableReader = fn(&str) -> Rows;

/// t, load, desired, pods, action.
pub fn hpa(table: &str) -> Rows {
    let rule = LoadRule::default();
    let mut scaler = rule.start();
    replay(table, "t,load,desired,pods,action", |load| {
        let load = load.parse().map_err(|_| Disagreement::new("a load", load))?;
        Ok((rule.desired(load), scaler.next(load)))
    })
}

/// t, queue, desired, pods, action.
pub fn keda(table: &str) -> Rows {
    let rule = QueueRule::default();
    let mut scaler = rule.start();
    replay(table, "t,queue,desired,pods,action", |messages| {
        let messages = messages.parse().map_err(|_| Disagreement::new("a number of messages", messages))?;
        Ok((rule.desired(messages), scaler.next(messages)))
    })
}

/// `decide` makes desired and running pods of what is waiting at a tick.
fn replay(table: &str, header: &str, mut decide: impl FnMut(&str) -> Result<(i64, i64), Disagreement>) -> Rows {
    let mut lines = table.lines();
    if lines.next() != Some(header) {
        return vec![Err(Disagreement::new(header, "another header"))];
    }
    let mut before: Option<i64> = None;
    let rows = lines.enumerate().map(|(tick, line)| {
        let fields: Vec<&str> = line.split(',').collect();
        let &[_, input, ..] = fields.as_slice() else { return Err(Disagreement::new(header, line)) };
        let (desired, pods) = decide(input)?;
        let action = match before.replace(pods) {
            None => "init",
            Some(before) if pods > before => "up",
            Some(before) if pods < before => "down",
            Some(_) => "hold",
        };
        let got = format!("{tick},{input},{desired},{pods},{action}");
        if got == line { Ok(()) } else { Err(Disagreement::new(line, got)) }
    });
    rows.collect()
}

/// The figures that the textbook prints or draws.
#[test]
fn the_headlines_come_out() {
    let pods = |table: &str| -> Vec<i64> {
        table.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse().unwrap()).collect()
    };
    let (hpa, keda) =
        (pods(include_str!("../vectors/textbook/hpa.csv")), pods(include_str!("../vectors/textbook/keda.csv")));
    let facts = |pods: &[i64]| (pods.len(), *pods.iter().max().unwrap(), pods.iter().sum::<i64>());
    // The tables agree row by row (recorded_decisions_agree), so their sums are ours.
    assert_eq!((facts(&hpa), facts(&keda)), ((120, 9, 665), (100, 8, 456)));
    assert_eq!(keda.iter().filter(|pods| **pods == 0).count(), 1);
}

#[test]
fn a_row_that_differs_is_seen() {
    let table = "t,queue,desired,pods,action\n0,4,1,0,init\n1,7,1,2,up\n2,13";
    let rows = keda(table);
    assert_eq!(rows.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(rows[1], Err(Disagreement::new("1,7,1,2,up", "1,7,1,1,up")));
    assert_eq!(hpa(table).len(), 1);
}

//! What a run prints when it is done.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::{reasons, workloads};
use crate::experiment::single::Outcome;
use crate::model::Span;
use crate::model::time::SECOND_NS;
use crate::report::{ExpectationResult, Summary};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// How things are written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Paint {
    /// Whether colours are wanted.
    pub color: bool,
}

impl Paint {
    fn text(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

/// What is true of all worlds together.
#[derive(Clone, PartialEq, Debug)]
pub struct Whole {
    /// Where the files are.
    pub folder: String,
    /// How long it took, writing included.
    pub wall: Duration,
    /// How much of it was simulation.
    pub simulating: Duration,
}

/// The result of all worlds, for people.
pub fn render(outcomes: &[Outcome], whole: &Whole, paint: Paint) -> String {
    let mut text = String::new();
    let several = outcomes.len() > 1;
    for outcome in outcomes {
        if several {
            let _ = writeln!(text, "=== variant {}", outcome.summary.variant);
        }
        text.push_str(&workloads::render(&outcome.final_objects, &outcome.ready_pods));
        text.push('\n');
        let waiting = reasons::render(&outcome.final_objects);
        if !waiting.is_empty() {
            text.push_str(&waiting);
            text.push('\n');
        }
        let expectations = render_expectations(&outcome.summary.expectations, paint);
        if !expectations.is_empty() {
            text.push_str(&expectations);
            text.push('\n');
        }
        text.push_str(&world_facts(outcome, paint));
        if several {
            text.push('\n');
        }
    }
    text.push_str(&whole_facts(outcomes, whole));
    text
}

/// The expectations that were not met, one block a world; for `--quiet`.
pub fn render_failures(outcomes: &[Outcome], paint: Paint) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let failed = outcome.summary.expectations.iter().filter(|result| !result.met).cloned().collect::<Vec<_>>();
        if !failed.is_empty() && !outcome.summary.variant.is_empty() {
            let _ = writeln!(text, "=== variant {}", outcome.summary.variant);
        }
        text.push_str(&failed.iter().map(|result| one_expectation(result, paint)).collect::<String>());
    }
    text
}

fn render_expectations(results: &[ExpectationResult], paint: Paint) -> String {
    if results.is_empty() {
        return String::new();
    }
    let met = results.iter().filter(|result| result.met).count();
    let mut text = format!("Expectations: {met} of {} met\n", results.len());
    text.extend(results.iter().map(|result| one_expectation(result, paint)));
    text
}

fn one_expectation(result: &ExpectationResult, paint: Paint) -> String {
    let verdict = if result.met { paint.text(GOOD, "met    ") } else { paint.text(BAD, "NOT MET") };
    let decided = result.time_s.0.map_or("-".to_string(), |seconds| span(seconds).to_string());
    let mut text = format!("  {verdict}  {}: {}\n           decided at {decided}", result.when, result.that);
    if !result.detail.is_empty() {
        let _ = write!(text, ": {}", result.detail);
    }
    text.push('\n');
    text
}

/// Lines of `kubectl describe`: a word, a colon, a value.
fn fact(name: &str, value: impl std::fmt::Display) -> String {
    format!("{:<16}{value}\n", format!("{name}:"))
}

fn world_facts(outcome: &Outcome, paint: Paint) -> String {
    let summary = &outcome.summary;
    let mut text = fact("Simulated time", outcome.simulated);
    if let Some(why) = partial(summary) {
        text.push_str(&fact("Partial", paint.text(BAD, &why)));
    }
    text.push_str(&fact("Trace hash", &summary.hash));
    text
}

/// Why a run is partial, if it is.
pub fn partial(summary: &Summary) -> Option<String> {
    summary.partial.then(|| summary.partial_reason.clone().unwrap_or_else(|| "stopped before its end".to_string()))
}

fn whole_facts(outcomes: &[Outcome], whole: &Whole) -> String {
    let events: u64 = outcomes.iter().map(|outcome| outcome.events).sum();
    let simulating = whole.simulating.as_secs_f64();
    let mut text = String::new();
    if let Some(first) = outcomes.first() {
        text.push_str(&fact("Seed", first.summary.seed));
    }
    text.push_str(&fact("Events", format!("{events} ({} events/s)", rate(events as f64 / simulating.max(1e-9)))));
    text.push_str(&fact("Wall time", format!("{:.2}s ({simulating:.2}s of it simulating)", whole.wall.as_secs_f64())));
    text.push_str(&fact("Files", &whole.folder));
    text
}

/// Three digits and a unit: `1.25M`, `840k`.
fn rate(per_second: f64) -> String {
    let (value, unit) = match per_second {
        large if large >= 1e6 => (large / 1e6, "M"),
        middle if middle >= 1e3 => (middle / 1e3, "k"),
        small => (small, ""),
    };
    let decimals = if value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$}{unit}")
}

fn span(seconds: f64) -> Span {
    Span((seconds * SECOND_NS as f64).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::charts::ChartData;
    use crate::report::Value;
    use crate::sim::Ending;

    fn outcome(variant: &str, met: bool) -> Outcome {
        let mut summary = Summary::new("lost", "1.36");
        summary.variant = variant.to_string();
        summary.hash = "00ff".to_string();
        summary.expectations.push(ExpectationResult {
            variant: String::new(),
            that: "count(\"pods\") == 3".to_string(),
            when: "at 3m0s".to_string(),
            met,
            time_s: Value(Some(180.0)),
            detail: "it was 2".to_string(),
        });
        Outcome {
            summary,
            chart_data: ChartData::default(),
            final_objects: Vec::new(),
            ready_pods: Default::default(),
            ending: Ending::Duration,
            events: 1_000,
            simulated: Span::from_seconds(1800),
        }
    }

    fn whole() -> Whole {
        Whole { folder: "output/lost".into(), wall: Duration::from_millis(800), simulating: Duration::from_millis(500) }
    }

    #[test]
    fn a_result_reads_like_kubectl() {
        let expected = "\n\
Expectations: 0 of 1 met
  NOT MET  at 3m0s: count(\"pods\") == 3
           decided at 3m0s: it was 2

Simulated time: 30m0s
Trace hash:     00ff
Seed:           0
Events:         1000 (2.0k events/s)
Wall time:      0.80s (0.50s of it simulating)
Files:          output/lost
";
        assert_eq!(render(&[outcome("", false)], &whole(), Paint { color: false }), expected);
    }

    #[test]
    fn variants_have_a_block_each() {
        let text = render(&[outcome("base", true), outcome("relist", true)], &whole(), Paint { color: false });
        assert!(text.contains("=== variant base\n") && text.contains("=== variant relist\n"));
        assert_eq!(text.matches("Trace hash").count(), 2);
        assert!(text.contains("Events:         2000"));
    }

    #[test]
    fn quiet_shows_only_what_failed() {
        let outcomes = [outcome("base", true), outcome("relist", false)];
        let text = render_failures(&outcomes, Paint { color: false });
        assert!(text.starts_with("=== variant relist\n  NOT MET  at 3m0s"), "{text}");
        assert!(!text.contains("base"));
    }

    #[test]
    fn rates_have_few_digits() {
        for (value, text) in [(12.0, "12.0"), (1_234.0, "1.2k"), (840_000.0, "840k"), (12_340_000.0, "12.3M")] {
            assert_eq!(rate(value), text);
        }
    }
}

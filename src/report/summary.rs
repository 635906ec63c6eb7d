//! summary.json: what every output folder holds.

use serde::{Serialize, Serializer};

use crate::model::Map;

/// `apiVersion` of a summary; with [`KIND`] it marks a folder as ours.
pub const API_VERSION: &str = "kubesim.dev/v1alpha1";
/// `kind` of a summary.
pub const KIND: &str = "Summary";
/// `kind` of the summary of a sweep, which marks a folder as ours too.
pub const SWEEP_KIND: &str = "SweepSummary";
/// The name of the file.
pub const FILE_NAME: &str = "summary.json";

/// The summary of a run, or of all variants of a scenario.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// [`API_VERSION`].
    #[serde(rename = "apiVersion")]
    pub api_version: &'static str,
    /// [`KIND`].
    pub kind: &'static str,
    /// Name of the scenario.
    pub name: String,
    /// Name of the variant; left out when there are none, and on top.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Seed of all draws.
    pub seed: u64,
    /// Replication number.
    pub replication: u64,
    /// Version of kubesim.
    pub version: &'static str,
    /// Version of Kubernetes that was followed, e.g. `1.36`.
    pub kubernetes_version: String,
    /// Hash of the trace; left out on top of several variants.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// Virtual time from start to end; on top the longest of the variants.
    pub simulated_seconds: Value,
    /// Events of the simulation; on top the sum.
    pub events: u64,
    /// Requests answered by the API server; on top the sum.
    pub requests: u64,
    /// The run was stopped before its end.
    pub partial: bool,
    /// Why, e.g. `event budget of 1000000 spent`; left out when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_reason: Option<String>,
    /// The expectations, in the scenario's order.
    pub expectations: Vec<ExpectationResult>,
    /// KPIs by the names of docs/kpis.md; empty on top of several variants.
    pub kpis: Map<String, Value>,
    /// What the user should know about how the scenario was read and run.
    pub notices: Vec<String>,
    /// The variants' summaries, on top of several variants only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Summary>,
}

/// What became of an expectation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExpectationResult {
    /// The variant, on top of several variants only.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The condition, as the scenario writes it.
    pub that: String,
    /// When it had to hold, in words, e.g. `at 3m` or `within 8m from 3m`.
    pub when: String,
    /// Whether it was met.
    pub met: bool,
    /// When that was decided, in seconds since the start.
    pub time_s: Value,
    /// What was seen, in words.
    pub detail: String,
}

/// A number, or `null` when there is none. Whole numbers are written without a point.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Value(pub Option<f64>);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            // Below 2^53 every whole number is exact.
            Some(number) if number.trunc() == number && number.abs() < 9_007_199_254_740_992.0 => {
                serializer.serialize_i64(number as i64)
            }
            Some(number) if number.is_finite() => serializer.serialize_f64(number),
            _ => serializer.serialize_none(),
        }
    }
}

impl Summary {
    /// A summary of a whole run of which nothing is known yet.
    pub fn new(name: impl Into<String>, kubernetes_version: impl Into<String>) -> Summary {
        Summary {
            api_version: API_VERSION,
            kind: KIND,
            name: name.into(),
            variant: String::new(),
            seed: 0,
            replication: 0,
            version: env!("CARGO_PKG_VERSION"),
            kubernetes_version: kubernetes_version.into(),
            hash: String::new(),
            simulated_seconds: Value(None),
            events: 0,
            requests: 0,
            partial: false,
            partial_reason: None,
            expectations: Vec::new(),
            kpis: Map::default(),
            notices: Vec::new(),
            variants: Vec::new(),
        }
    }

    /// The summary on top of several variants: sums, the longest time, all expectations with their variant, notices
    /// once each. `variants` is not empty and in the scenario's order.
    pub fn over(variants: Vec<Summary>) -> Summary {
        let first = variants.first().expect("a scenario has at least one variant");
        let mut top = Summary {
            seed: first.seed,
            replication: first.replication,
            ..Summary::new(first.name.clone(), first.kubernetes_version.clone())
        };
        for variant in &variants {
            top.events += variant.events;
            top.requests += variant.requests;
            top.simulated_seconds = longer(top.simulated_seconds, variant.simulated_seconds);
            if variant.partial && !top.partial {
                top.partial = true;
                top.partial_reason = variant.partial_reason.as_ref().map(|why| format!("{}: {why}", variant.variant));
            }
            let results = variant.expectations.iter().cloned();
            top.expectations
                .extend(results.map(|result| ExpectationResult { variant: variant.variant.clone(), ..result }));
            for notice in &variant.notices {
                if !top.notices.contains(notice) {
                    top.notices.push(notice.clone());
                }
            }
        }
        top.variants = variants;
        top
    }

    /// Whether every expectation was met.
    pub fn all_met(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.met)
    }

    /// The file's text: indented JSON and a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a summary has text keys and finite numbers");
        text.push('\n');
        text
    }
}

fn longer(a: Value, b: Value) -> Value {
    Value(match (a.0, b.0) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    })
}

/// Whether the text of a summary.json was written by kubesim.
pub fn is_ours(text: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(text) else { return false };
    let group = API_VERSION.split_once('/').map_or(API_VERSION, |(group, _)| group);
    let ours = value["apiVersion"].as_str().and_then(|version| version.strip_prefix(group));
    (value["kind"] == KIND || value["kind"] == SWEEP_KIND) && ours.is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(variant: &str, seconds: f64, met: bool) -> Summary {
        let mut summary = Summary::new("dropped-watch-event", "1.36");
        summary.variant = variant.to_string();
        summary.hash = "0f".repeat(16);
        summary.simulated_seconds = Value(Some(seconds));
        summary.events = 100;
        summary.expectations.push(ExpectationResult {
            variant: String::new(),
            that: "count(\"pods\") == 3".to_string(),
            when: "at 3m".to_string(),
            met,
            time_s: Value(Some(180.0)),
            detail: "it was 2".to_string(),
        });
        summary.kpis.insert("queue_wait_seconds_mean".to_string(), Value(Some(0.0015)));
        summary.kpis.insert("reconciles_total".to_string(), Value(Some(12.0)));
        summary.kpis.insert("staleness_seconds_max".to_string(), Value(None));
        summary.notices.push("5 nodes by default".to_string());
        summary
    }

    #[test]
    fn numbers_are_plain_and_missing_ones_null() {
        let text = run("", 1800.0, true).to_json();
        for line in [
            "\"apiVersion\": \"kubesim.dev/v1alpha1\",",
            "\"simulated_seconds\": 1800,",
            "\"queue_wait_seconds_mean\": 0.0015,",
            "\"reconciles_total\": 12,",
            "\"staleness_seconds_max\": null",
            "\"partial\": false,",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("variant"));
        assert!(is_ours(text.as_bytes()));
    }

    #[test]
    fn the_summary_on_top_holds_all_variants() {
        let mut stopped = run("relist", 30.0, false);
        stopped.partial = true;
        stopped.partial_reason = Some("event budget of 100 spent".to_string());
        let top = Summary::over(vec![run("base", 1800.0, true), stopped]);
        assert_eq!((top.events, top.simulated_seconds), (200, Value(Some(1800.0))));
        assert!(top.partial && !top.all_met());
        assert_eq!(top.partial_reason.as_deref(), Some("relist: event budget of 100 spent"));
        assert_eq!(top.notices.len(), 1);
        let value: serde_json::Value = serde_json::from_str(&top.to_json()).expect("JSON");
        assert_eq!(value["expectations"][1]["variant"], "relist");
        assert_eq!(value["variants"][0]["kpis"]["reconciles_total"], 12);
    }

    #[test]
    fn other_peoples_summaries_are_not_ours() {
        for text in [
            "",
            "{}",
            "[1]",
            "{\"kind\":\"Summary\"}",
            "{\"apiVersion\":\"kubesim.developer/v1\",\"kind\":\"Summary\"}",
        ] {
            assert!(!is_ours(text.as_bytes()), "{text}");
        }
        for kind in [KIND, SWEEP_KIND] {
            let text = format!("{{\"apiVersion\":\"kubesim.dev/v1\",\"kind\":\"{kind}\"}}");
            assert!(is_ours(text.as_bytes()), "{text}");
        }
    }
}

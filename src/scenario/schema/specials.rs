//! Definitions of the schema for plain values with a grammar of their own: patterns and examples.

use serde_json::{Value, json};

use super::shape::Special;
use crate::model::Kind;
use crate::scenario::file::API_VERSION;
use crate::scenario::flags::FlagTable;
use crate::scenario::references::PROCESSES;
use crate::sim::plan::KubernetesVersion;

const DURATION: &str = r"^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
const SIGNED_DURATION: &str = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
const QUANTITY: &str = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";
const DNS_SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const INSTANT: &str =
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$";

impl Special {
    /// Name of the definition; `None` when it is written where it is used.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Special::ApiVersion | Special::Files | Special::Anything => return None,
            Special::Duration => "duration",
            Special::SignedDuration => "signedDuration",
            Special::Quantity => "quantity",
            Special::Instant => "instant",
            Special::KubernetesVersion => "kubernetesVersion",
            Special::Name => "name",
            Special::Seed => "seed",
            Special::Object => "object",
            Special::Process => "process",
            Special::Kind => "kind",
            Special::Condition => "condition",
            Special::Taint => "taint",
            Special::ControllerManagerFlag => "controllerManagerFlag",
            Special::SchedulerFlag => "schedulerFlag",
            Special::ApiServerFlag => "apiServerFlag",
            Special::Factor => "factor",
            Special::Formula => "formula",
        })
    }

    /// The schema of such a value.
    pub fn schema(self) -> Value {
        match self {
            Special::ApiVersion => json!({"const": API_VERSION}),
            Special::Files => {
                json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object"}}})
            }
            Special::Anything => json!({}),
            Special::Duration => json!({
                "description": "A duration as Go writes it.",
                "type": "string", "pattern": DURATION, "examples": ["250ms", "30s", "1h30m"],
            }),
            Special::SignedDuration => json!({
                "description": "A duration as Go writes it, forward or back.",
                "type": "string", "pattern": SIGNED_DURATION, "examples": ["1h", "-30s"],
            }),
            Special::Quantity => json!({
                "description": "A Kubernetes quantity, not negative.",
                "type": ["string", "number"], "pattern": QUANTITY, "minimum": 0, "examples": ["500m", "4", "16Gi"],
            }),
            Special::Instant => json!({
                "description": "An instant as RFC 3339 writes it.",
                "type": "string", "pattern": INSTANT, "examples": [crate::scenario::defaults::START_AT],
            }),
            Special::KubernetesVersion => versions(),
            Special::Formula => json!({
                "description": "An expression in `t`, the seconds since the start.",
                "type": "string", "examples": ["10 + t / 60", "50 + 30 * sin(2 * pi * t / 600)"],
            }),
            Special::Name => json!({
                "description": "A name as Kubernetes wants them: lower-case letters, digits, `-` and `.`.",
                "type": "string", "pattern": DNS_SUBDOMAIN, "maxLength": 253,
            }),
            Special::Seed => json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
            Special::Object => json!({
                "description": "An object as kubectl names it, with its namespace in front unless that is `default`.",
                "type": "string", "pattern": "^([^/]+/)?[A-Za-z.0-9]+/[^/]+$",
                "examples": ["deployment/api", "shop/deployment/api"],
            }),
            Special::Process => processes(),
            Special::Kind => kinds(),
            Special::Condition => json!({
                "description": "A CEL expression over the observed state.",
                "type": "string",
                "examples": [
                    "object(\"deployment/api\").status.readyReplicas == 3",
                    "count(\"pods\", \"app=api\", \"status.phase=Running\") >= 3",
                    "metric(\"workqueue_depth\", {\"name\": \"replicaset\"}) == 0.0",
                ],
            }),
            Special::Taint => json!({
                "description": "A taint as `kubectl taint` writes it.",
                "type": "string", "pattern": "^.*:(NoSchedule|PreferNoSchedule|NoExecute)$",
                "examples": ["gpu=true:NoSchedule"],
            }),
            Special::ControllerManagerFlag => flags(FlagTable::ControllerManager),
            Special::SchedulerFlag => flags(FlagTable::Scheduler),
            Special::ApiServerFlag => flags(FlagTable::ApiServer),
            Special::Factor => json!({
                "description": "So many times as long.",
                "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?x$", "examples": ["10x", "1.5x"],
            }),
        }
    }
}

fn versions() -> Value {
    let known: Vec<&str> = KubernetesVersion::ALL.iter().map(|version| version.as_str()).collect();
    let mut all: Vec<Value> = known.iter().map(|version| Value::from(*version)).collect();
    all.extend(known.iter().map(|version| Value::from(format!("v{version}"))));
    all.extend(known.iter().filter_map(|version| version.parse::<f64>().ok().map(Value::from)));
    json!({"description": "A version of Kubernetes that is followed.", "enum": all})
}

/// A process that a scenario brings, as references name it.
const OWN_PROCESS: &str = "[a-z0-9][-a-z0-9.]*(#[0-9]+)?(/[a-z0-9][-a-z0-9.]*)?";

/// Processes and their components as references name them.
fn processes() -> Value {
    let mut patterns = Vec::new();
    let mut examples = Vec::new();
    for (process, components) in PROCESSES {
        let names: Vec<&str> = components.iter().map(|(name, _)| *name).collect();
        patterns.push(format!("{process}(#[0-9]+)?(/(leader|{}))?", names.join("|")));
        examples.push((*process).to_string());
        examples.extend(names.iter().map(|name| format!("{process}/{name}")));
    }
    json!({
        "description": "A process that runs in this scenario, or a controller in one.",
        // Operators of the scenario's own are processes, too.
        "type": "string", "pattern": format!("^({}|{OWN_PROCESS})$", patterns.join("|")), "examples": examples,
    })
}

fn kinds() -> Value {
    let known = || Kind::BUILT_IN.into_iter().map(Kind::info);
    let mut words: Vec<&str> = known().map(|info| info.name).collect();
    words.extend(known().flat_map(|info| std::iter::once(info.plural).chain(info.aliases.iter().copied())));
    let mut seen = Vec::new();
    words.into_iter().filter(|word| !word.is_empty()).for_each(|word| {
        if !seen.contains(&word) {
            seen.push(word);
        }
    });
    json!({
        "description": "A kind of object that is simulated: one of the examples, or one that an operator brings.",
        "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9]*(\\.[-a-z0-9.]+)?$", "examples": seen,
    })
}

fn flags(table: FlagTable) -> Value {
    let examples: Vec<String> = table.with_effect().iter().map(|flag| format!("{}=", flag.name)).collect();
    let description = format!(
        "A flag of {}, `--flag=value`. Those of the examples have an effect here; other real ones give a notice.",
        table.component()
    );
    json!({"description": description, "type": "string", "examples": examples})
}

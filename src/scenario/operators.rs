//! `spec.operators`: operators of the scenario's own, and the custom resources they work on.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::defaults;
use super::diagnostic::Code;
use super::distribution;
use super::entry::{Entry, Fields, shown};
use super::known::{self, DEFAULT_GROUP};
use super::references::{self, ObjectRef};
use super::replicas::{self, Replicas};
use super::schema::shape::Special;
use crate::client::queue_settings::{HandlerAdd, LimiterSettings, QueueKind, QueueSettings};
use crate::controllers::custom::{
    Afterwards, ChildNames, Children, Count, ErrorBackoff, FailureRule, OperatorSettings, RequestSpec, Shutdown,
    StatusFields,
};
use crate::model::{Distribution, Kind, Span};
use crate::rules::codec;
use crate::rules::manifest::{self, ManifestKind, Surroundings};
use crate::sim::plan::{RateLimit, ResyncPlan};

/// Most objects of an operator that are made by their number.
const MOST_OBJECTS: i64 = 1_000_000;
/// Most children of an object.
const MOST_CHILDREN: i64 = 10_000;

/// An item of `spec.operators`.
#[derive(Clone, Debug)]
pub struct OperatorEntry {
    /// Path of the item.
    pub path: String,
    /// What it does.
    pub settings: OperatorSettings,
    /// Its queue and workers.
    pub queue: QueueSettings,
    /// `of`: the objects that are made for it.
    pub objects: Objects,
    /// `resync`.
    pub resync: ResyncPlan,
    /// `client`: its rate limit.
    pub client: Option<RateLimit>,
    /// `client.timeout`.
    pub request_timeout: Option<Span>,
    /// `replicas` and how they elect one of them.
    pub replicas: Replicas,
    /// `runsIn`, with its path.
    pub runs_in: Option<(String, ObjectRef)>,
}

/// Custom resources that are there when the run begins, numbered from 1.
#[derive(Clone, Debug)]
pub struct Objects {
    /// Path of `of`.
    pub path: String,
    /// Their kind.
    pub kind: Kind,
    /// How many.
    pub count: usize,
    /// Their namespace; empty for kinds without.
    pub namespace: String,
    /// Their spec.
    pub spec: Value,
}

impl Objects {
    /// Their manifests.
    pub fn manifests(&self) -> impl Iterator<Item = (ObjectRef, Value)> + '_ {
        let info = self.kind.info();
        (1..=self.count).map(move |number| {
            let name = format!("{}-{number}", info.aliases[0]);
            let mut metadata = json!({"name": name});
            if info.namespaced {
                metadata["namespace"] = self.namespace.as_str().into();
            }
            let value = json!({
                "apiVersion": info.api_version, "kind": info.name, "metadata": metadata, "spec": self.spec,
            });
            (ObjectRef { kind: self.kind, namespace: self.namespace.clone(), name }, value)
        })
    }
}

/// What `reconcile` says.
struct Reconcile {
    takes: Distribution,
    requests: Vec<RequestSpec>,
    fails: Vec<FailureRule>,
    afterwards: Afterwards,
    without_cancel: bool,
}

/// Reads an operator.
pub fn read(entry: &Entry<'_>) -> Option<OperatorEntry> {
    let mut fields = entry.fields()?;
    fields.later(&["flags", "memory", "cpu"]);
    let name = fields.require("name").and_then(|name| name_of(&name));
    let of = fields.require("of").and_then(|of| objects(&of));
    let reconcile = fields.get("reconcile").map(|entry| reconcile(&entry, of.as_ref().map(|of| of.kind)));
    let workers = fields.get("maxConcurrentReconciles").and_then(|entry| entry.whole(1..=100_000));
    let kind = [("priority", QueueKind::Priority), ("plain", QueueKind::WorkQueue)];
    let kind = fields.get("queue").and_then(|entry| entry.word(&kind)).unwrap_or(QueueKind::Priority);
    let limiter = fields.get("rateLimiter").and_then(|entry| rate_limiter(&entry));
    let adds = [("plain", HandlerAdd::Plain), ("rateLimited", HandlerAdd::RateLimited)];
    let adds = fields.get("adds").and_then(|entry| entry.word(&adds)).unwrap_or(HandlerAdd::Plain);
    let error_backoff = fields.get("errorBackoff").and_then(|entry| error_backoff(&entry));
    let generation_changed = truth(&mut fields, "generationChangedPredicate");
    let expectations = truth(&mut fields, "expectations");
    let resync = fields.get("resync").and_then(|entry| entry.duration()).unwrap_or(defaults::OPERATOR_RESYNC);
    let (client, request_timeout) = fields.get("client").and_then(|entry| client(&entry)).unwrap_or_default();
    let timeout = fields.get("gracefulShutdownTimeout").and_then(|entry| entry.duration());
    let replicas = replicas::read(&mut fields);
    let runs_in = fields.get("runsIn").and_then(|entry| runs_in(&entry));
    if runs_in.is_some() && replicas.count.is_some() {
        let message = "`replicas` and `runsIn` exclude each other";
        entry.problem(Code::Contradiction, message, Some("it runs as often as the pods that it runs in".into()));
    }
    fields.finish();
    let (name, objects) = (name?, of?);
    let Reconcile { takes, requests, fails, afterwards, without_cancel } =
        reconcile.unwrap_or_else(|| Some(Reconcile::default()))?;
    let limiter = limiter.unwrap_or(Limits { base: None, max: None, bucket: None });
    let retry_delay = limiter.item();
    let queue = QueueSettings {
        kind,
        limiter: limiter.settings(kind),
        handler_add: adds,
        ..QueueSettings::controller_runtime(workers.map_or(defaults::OPERATOR_WORKERS, |number| number as u32), takes)
    };
    let Some(name) = entry.known.operator(&name) else {
        entry.problem(Code::BadPath, "the name of an operator cannot be set", None);
        return None;
    };
    let settings = OperatorSettings {
        name,
        kind: objects.kind,
        generation_changed,
        requests,
        fails,
        afterwards,
        error_backoff,
        retry_delay,
        expectations,
        shutdown: Shutdown { timeout: timeout.unwrap_or(defaults::GRACEFUL_SHUTDOWN_TIMEOUT), without_cancel },
    };
    let resync = if resync == Span::ZERO { ResyncPlan::Never } else { ResyncPlan::Every(resync) };
    Some(OperatorEntry {
        path: entry.path.clone(),
        settings,
        queue,
        objects,
        resync,
        client,
        request_timeout,
        replicas,
        runs_in,
    })
}

impl Default for Reconcile {
    fn default() -> Reconcile {
        Reconcile {
            takes: Distribution::Constant(defaults::RECONCILE_TIME.0),
            requests: vec![RequestSpec::Get, RequestSpec::UpdateStatus(default_status())],
            fails: Vec::new(),
            afterwards: Afterwards::Done,
            without_cancel: false,
        }
    }
}

fn truth(fields: &mut Fields<'_>, name: &'static str) -> bool {
    fields.get(name).and_then(|entry| entry.truth()).unwrap_or(false)
}

/// The name of a process: no other process may be called so.
fn name_of(entry: &Entry<'_>) -> Option<String> {
    let name = super::file::name(entry)?;
    let is_taken = references::PROCESSES.iter().any(|(process, _)| *process == name)
        || name == "kubectl"
        || entry.known.operators.iter().filter(|known| known.name == name).count() > 1;
    if is_taken {
        entry.problem(Code::BadName, format!("the name `{name}` is taken"), None);
        return None;
    }
    Some(name)
}

fn objects(entry: &Entry<'_>) -> Option<Objects> {
    let mut fields = entry.fields()?;
    let kind = fields.require("kind").and_then(|kind| kind_of(&kind));
    let version = fields.get("apiVersion").and_then(|version| api_version(&version));
    fields.get("plural").and_then(|plural| super::file::name(&plural));
    fields.get("namespaced").and_then(|namespaced| namespaced.truth());
    let count = fields.get("count").and_then(|count| count.whole(0..=MOST_OBJECTS)).unwrap_or(0);
    let namespace = fields.get("namespace").and_then(|namespace| super::file::name(&namespace));
    let spec = fields.get("spec").and_then(|spec| free_mapping(&spec));
    fields.finish();
    let (path, name) = kind?;
    let kind = find_kind(entry, &path, &name, version.as_deref())?;
    if namespace.is_some() && !kind.info().namespaced {
        entry.problem(Code::Contradiction, format!("a {kind} is in no namespace"), None);
    }
    let namespace = if kind.info().namespaced { namespace.unwrap_or("default".into()) } else { String::new() };
    Some(Objects {
        path: entry.path.clone(),
        kind,
        count: count as usize,
        namespace,
        spec: spec.unwrap_or_else(|| Value::Object(Map::new())),
    })
}

/// The name of a kind, and its path.
fn kind_of(entry: &Entry<'_>) -> Option<(String, String)> {
    let text = entry.text()?;
    if known::is_kind(text) {
        return Some((entry.path.clone(), text.to_string()));
    }
    let help = Some("kinds are written like Database: letters and digits".to_string());
    entry.problem(Code::BadName, format!("`{text}` is not the name of a kind"), help);
    None
}

fn api_version(entry: &Entry<'_>) -> Option<String> {
    let text = entry.text()?;
    let is_group = |group: &str| group.contains('.') && crate::rules::names::is_dns_subdomain(group);
    let is_version = |version: &str| version.starts_with('v') && crate::rules::names::is_dns_subdomain(version);
    match text.split_once('/') {
        Some((group, version)) if is_group(group) && is_version(version) => Some(text.to_string()),
        _ => {
            let help = format!("a custom resource has a group and a version: {DEFAULT_GROUP}");
            entry.problem(Code::BadValue, format!("`{text}` is not GROUP/VERSION of a custom resource"), Some(help));
            None
        }
    }
}

/// The kind that an operator brings.
fn find_kind(entry: &Entry<'_>, path: &str, name: &str, version: Option<&str>) -> Option<Kind> {
    let fits = |kind: &Kind| kind.as_str() == name && version.is_none_or(|wanted| kind.info().api_version == wanted);
    let problem = |code, message: String, help: &str| {
        let part = super::yaml::Part::Value;
        entry.add(entry.document.problem(code, path, part, message).help(help));
    };
    match entry.known.kinds.iter().find(fits) {
        Some(kind) if kind.is_custom() => return Some(kind),
        Some(_) => problem(
            Code::NotSimulated,
            format!("`{name}` is a kind of Kubernetes"),
            "operators work on custom resources; let it create what it needs of other kinds",
        ),
        None => problem(
            Code::TooLarge,
            format!("no room for the kind `{name}`"),
            "the operators of a scenario bring at most 24 kinds, set by the scenario itself and not by variants",
        ),
    }
    None
}

fn reconcile(entry: &Entry<'_>, kind: Option<Kind>) -> Option<Reconcile> {
    let mut fields = entry.fields()?;
    let takes = fields.get("takes").map(|takes| distribution::read(&takes));
    let requests = fields
        .get("requests")
        .map(|requests| requests.items().iter().map(|item| request(item, kind)).collect::<Option<Vec<_>>>());
    let fails = fields.get("fails").map(|fails| fails.items().iter().map(failure).collect::<Option<Vec<_>>>());
    let after = fields.get("requeueAfter").map(|after| distribution::read(&after));
    let requeue = fields.get("requeue").and_then(|requeue| requeue.truth()).unwrap_or(false);
    let without_cancel = truth(&mut fields, "withoutCancel");
    fields.finish();
    if after.is_some() && requeue {
        let help = Some("an error hides both; without one the first of them counts".to_string());
        entry.problem(Code::Contradiction, "requeueAfter and requeue exclude each other", help);
    }
    let default = Reconcile::default();
    Some(Reconcile {
        takes: takes.unwrap_or(Some(default.takes))?,
        requests: requests.unwrap_or(Some(default.requests))?,
        fails: fails.unwrap_or(Some(Vec::new()))?,
        afterwards: match after {
            Some(after) => Afterwards::After(after?),
            None if requeue => Afterwards::Requeue,
            None => Afterwards::Done,
        },
        without_cancel,
    })
}

fn default_status() -> StatusFields {
    StatusFields([("phase".to_string(), json!("Ready"))].into_iter().collect())
}

/// `get`, `list`, `update`, `update-status`, or one of `{list: KIND}`, `{update-status: {...}}`, `{create: {...}}`.
fn request(entry: &Entry<'_>, own: Option<Kind>) -> Option<RequestSpec> {
    if !entry.value.is_object() {
        let words = [("get", 0), ("list", 1), ("update", 2), ("update-status", 3)];
        return Some(match entry.word(&words)? {
            0 => RequestSpec::Get,
            1 => RequestSpec::List(own?),
            2 => RequestSpec::Update,
            _ => RequestSpec::UpdateStatus(default_status()),
        });
    }
    let mut fields = entry.fields()?;
    let found = fields.one_of(&["list", "update-status", "create"]);
    fields.finish();
    let (name, inner) = found?;
    match name {
        "list" => references::kind(&inner).map(RequestSpec::List),
        "create" => children(&inner).map(RequestSpec::Children),
        _ => {
            let Value::Object(given) = free_mapping(&inner)? else { return None };
            Some(RequestSpec::UpdateStatus(StatusFields(given)))
        }
    }
}

fn children(entry: &Entry<'_>) -> Option<Children> {
    let mut fields = entry.fields()?;
    let count = fields.get("count").map(|count| count_of(&count));
    let names = [("deterministic", ChildNames::Deterministic), ("random", ChildNames::Random)];
    let names = fields.get("names").and_then(|entry| entry.word(&names)).unwrap_or(ChildNames::Deterministic);
    let must_go = truth(&mut fields, "waitForDeletion");
    let template = fields.require("template").and_then(|template| template_of(&template));
    let wait_for_cache = fields.get("waitForCache").map(|wait| wait_for_cache(&wait));
    fields.finish();
    let (kind, template) = template?;
    let wait_for_cache = match wait_for_cache {
        Some(timeout) => Some(timeout?),
        None => None,
    };
    let count = count.unwrap_or(Some(Count::Fixed(1)))?;
    Some(Children { kind, template: Arc::new(template), count, names, must_go, wait_for_cache })
}

fn wait_for_cache(entry: &Entry<'_>) -> Option<Span> {
    let mut fields = entry.fields()?;
    let timeout = fields.require("timeout").and_then(|timeout| positive(&timeout));
    fields.finish();
    timeout
}

/// A mapping of which every field is taken as it is.
fn free_mapping(entry: &Entry<'_>) -> Option<Value> {
    entry.pairs().iter().for_each(|(_, value)| value.is_a(Special::Anything));
    entry.value.is_object().then(|| entry.value.clone())
}

/// A number, or a field of the object's spec.
fn count_of(entry: &Entry<'_>) -> Option<Count> {
    let text = entry.text_or_number()?;
    if let Ok(number) = text.parse::<i64>()
        && (0..=MOST_CHILDREN).contains(&number)
    {
        return Some(Count::Fixed(number as usize));
    }
    let field = text.strip_prefix("spec.").filter(|field| field.split('.').all(|step| !step.is_empty()));
    if field.is_none() {
        let help = format!("a number up to {MOST_CHILDREN}, or a field of the object's spec: spec.replicas");
        entry.problem(Code::BadValue, format!("`{text}` is no number of children"), Some(help));
    }
    field.map(|field| Count::SpecField(field.to_string()))
}

/// A manifest without a name, as its kind and JSON.
fn template_of(entry: &Entry<'_>) -> Option<(Kind, Value)> {
    free_mapping(entry)?;
    let word = |field: &str| entry.value.get(field).and_then(Value::as_str);
    let Some(name) = word("kind") else {
        let message = "`kind` must be given";
        entry.problem(Code::MissingField, message, Some("a template is a manifest without a name".into()));
        return None;
    };
    let fits = |kind: &Kind| {
        kind.as_str() == name && word("apiVersion").is_none_or(|version| version == kind.info().api_version)
    };
    let Some(kind) = entry.known.kinds.iter().find(fits) else {
        let help = crate::rules::suggest::help(name, entry.known.kinds.iter().map(Kind::as_str));
        entry.problem(Code::UnknownKind, format!("unknown kind `{name}`"), help);
        return None;
    };
    let mut value = entry.value.clone();
    value["apiVersion"] = kind.info().api_version.into();
    let metadata = value.as_object_mut()?.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        entry.problem(Code::BadValue, "`metadata` must be a mapping", None);
        return None;
    }
    for field in ["name", "generateName", "namespace", "ownerReferences"] {
        if metadata.get(field).is_some() {
            let help = Some("children are named after their owner, and are in its namespace".to_string());
            entry.problem(Code::Contradiction, format!("`metadata.{field}` cannot be given in a template"), help);
            return None;
        }
    }
    let mut named = value.clone();
    named["metadata"]["name"] = "x".into();
    if kind.info().namespaced {
        named["metadata"]["namespace"] = "default".into();
    }
    let around = Surroundings { any_namespace: true, ..Surroundings::default() };
    let found = ManifestKind::of(kind).map(|kind| manifest::problems(kind, &named, &around)).unwrap_or_default();
    let mut wrong: Vec<(String, String)> =
        found.into_iter().map(|(error, _)| (error.path.clone(), error.message)).collect();
    if wrong.is_empty() {
        let problems = codec::decode_among(&named, &entry.known.kinds).err().into_iter().flatten();
        wrong.extend(problems.map(|problem| (problem.path, problem.message)));
    }
    for (path, message) in &wrong {
        let part = super::yaml::Part::Value;
        entry.add(entry.document.problem(Code::BadManifest, &format!("{}.{path}", entry.path), part, message.clone()));
    }
    wrong.is_empty().then_some((kind, named))
}

fn failure(entry: &Entry<'_>) -> Option<FailureRule> {
    let mut fields = entry.fields()?;
    let object = fields.get("object").and_then(|object| super::file::name(&object));
    let dependency = fields.get("dependency").and_then(|name| super::file::label(&name));
    let probability = fields.get("probability").map(|probability| share(&probability));
    let from = fields.get("from").and_then(|from| from.duration()).unwrap_or(Span::ZERO);
    let until = fields.get("until").map(|until| until.duration());
    let lasts = fields.get("for").map(|lasts| lasts.duration());
    let error = fields.get("error").and_then(|error| error.text().map(str::to_string));
    let terminal = truth(&mut fields, "terminal");
    fields.finish();
    if until.is_some() && lasts.is_some() {
        entry.problem(Code::Contradiction, "`until` and `for` exclude each other", None);
    }
    let until = match (until, lasts) {
        (Some(until), _) => Some(until?),
        (None, Some(lasts)) => Some(from + lasts?),
        (None, None) => None,
    };
    if until.is_some_and(|until| until <= from) {
        entry.problem(Code::NeverHappens, "it ends before it begins", None);
    }
    let error = error.unwrap_or_else(|| match dependency {
        Some(dependency) => format!("{dependency} is down"),
        None => "reconcile failed".to_string(),
    });
    let probability = match probability {
        Some(probability) => Some(probability?),
        None => None,
    };
    Some(FailureRule { object, probability, from, until, error, terminal })
}

fn share(entry: &Entry<'_>) -> Option<f64> {
    let number = entry.number()?;
    if (0.0..=1.0).contains(&number) {
        return Some(number);
    }
    entry.problem(Code::BadValue, format!("must be a number from 0 to 1, not {}", shown(entry.value)), None);
    None
}

/// `rateLimiter`.
struct Limits {
    base: Option<Span>,
    max: Option<Span>,
    bucket: Option<RateLimit>,
}

impl Limits {
    fn item(&self) -> (Span, Span) {
        (self.base.unwrap_or(defaults::LIMITER_BASE), self.max.unwrap_or(defaults::LIMITER_MAX))
    }

    /// controller-runtime's queue by priority has no bucket of its own, its plain queue has client-go's.
    fn settings(&self, kind: QueueKind) -> LimiterSettings {
        let (base, max) = self.item();
        let item = LimiterSettings::ItemExponential { base, max };
        let default = (kind == QueueKind::WorkQueue).then_some(defaults::LIMITER_BUCKET);
        match self.bucket.or(default) {
            Some(bucket) => {
                let burst = u32::try_from(bucket.burst).unwrap_or(u32::MAX);
                LimiterSettings::MaxOf(vec![item, LimiterSettings::Bucket { qps: bucket.qps, burst }])
            }
            None => item,
        }
    }
}

fn rate_limiter(entry: &Entry<'_>) -> Option<Limits> {
    let mut fields = entry.fields()?;
    let base = fields.get("base").and_then(|base| positive(&base));
    let max = fields.get("max").and_then(|max| positive(&max));
    let bucket = bucket(&mut fields, defaults::LIMITER_BUCKET);
    fields.finish();
    let limits = Limits { base, max, bucket };
    let (base, max) = limits.item();
    if max < base {
        let message = format!("max ({max}) is below base ({base})");
        entry.problem(Code::Contradiction, message, None);
    }
    Some(limits)
}

/// `qps` and `burst`, if one of them is given.
fn bucket(fields: &mut Fields<'_>, default: RateLimit) -> Option<RateLimit> {
    let qps = fields.get("qps").and_then(|qps| {
        let number = qps.number()?;
        if number <= 0.0 {
            qps.problem(Code::BadValue, format!("must be above 0, not {}", shown(qps.value)), None);
        }
        Some(number)
    });
    let burst = fields.get("burst").and_then(|burst| burst.whole(1..=i64::from(i32::MAX)));
    let is_given = qps.is_some() || burst.is_some();
    is_given.then(|| RateLimit { qps: qps.unwrap_or(default.qps), burst: burst.unwrap_or(default.burst) })
}

fn positive(entry: &Entry<'_>) -> Option<Span> {
    let span = entry.duration()?;
    if span == Span::ZERO {
        entry.problem(Code::BadValue, "must be longer than 0s", None);
        return None;
    }
    Some(span)
}

fn error_backoff(entry: &Entry<'_>) -> Option<ErrorBackoff> {
    let mut fields = entry.fields()?;
    let base = fields.get("base").and_then(|base| positive(&base)).unwrap_or(defaults::ERROR_BACKOFF_BASE);
    let max = fields.get("max").and_then(|max| positive(&max)).unwrap_or(defaults::ERROR_BACKOFF_MAX);
    fields.finish();
    if max < base {
        entry.problem(Code::Contradiction, format!("max ({max}) is below base ({base})"), None);
    }
    Some(ErrorBackoff { base, max })
}

/// The rate limit and the time-out of its requests.
fn client(entry: &Entry<'_>) -> Option<(Option<RateLimit>, Option<Span>)> {
    let mut fields = entry.fields()?;
    let limit = bucket(&mut fields, defaults::OPERATOR_CLIENT);
    let timeout = super::client::timeout(&mut fields);
    fields.finish();
    Some((limit, timeout))
}

fn runs_in(entry: &Entry<'_>) -> Option<(String, ObjectRef)> {
    let object = references::object(entry)?;
    if !matches!(object.kind, Kind::Deployment | Kind::ReplicaSet | Kind::Pod) {
        entry.problem(Code::BadValue, format!("a {} has no pods", object.kind), None);
        return None;
    }
    Some((entry.path.clone(), object))
}

#[cfg(test)]
#[path = "operators_tests.rs"]
mod tests;

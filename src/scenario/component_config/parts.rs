//! What configuration files of components share.

use super::super::diagnostic::Code;
use super::super::entry::{Entry, Fields, shown};
use super::super::schema::shape::Special;
use super::super::settings::{GivenElection, Said, Settings};
use super::super::yaml::Part;
use crate::model::Span;
use crate::rules::go_duration;

/// `apiVersion` and `kind`, which were looked at before.
pub fn begin<'a>(root: &Entry<'a>) -> Option<Fields<'a>> {
    let mut fields = root.fields()?;
    fields.get("apiVersion");
    fields.get("kind");
    Some(fields)
}

/// A field that may be written with a small or, as in types without names for JSON, with a capital letter.
pub fn either<'a>(fields: &mut Fields<'a>, small: &'static str, capital: &'static str) -> Option<Entry<'a>> {
    let (found, other) = (fields.get(small), fields.get(capital));
    found.or(other)
}

/// A duration as Go writes it, which may be negative.
pub fn duration(entry: &Entry<'_>) -> Option<Span> {
    let problem = |message: String| {
        let help = "durations are written as Go writes them: 250ms, 30s, 1h30m";
        entry.problem(Code::BadValue, message, Some(help.to_string()));
        None
    };
    match entry.value.as_str().map(go_duration::parse) {
        Some(Ok(ns)) => Some(Span(ns)),
        Some(Err(why)) => problem(format!("{} is not a duration: {why}", shown(entry.value))),
        None => problem(format!("must be a duration, not {}", shown(entry.value))),
    }
}

/// A value with its place.
pub fn said<T>(entry: &Entry<'_>, name: &'static str, value: T) -> Said<T> {
    Said { value, name, at: entry.document.problem(Code::BadValue, &entry.path, Part::Value, "") }
}

/// A whole number of 32 bits.
pub fn whole(entry: &Entry<'_>) -> Option<i64> {
    entry.whole(i64::from(i32::MIN)..=i64::from(i32::MAX))
}

/// A field that is known and changes nothing that is simulated.
pub fn unused(fields: &mut Fields<'_>, names: &[&'static str]) {
    for name in names {
        fields.get(name).inspect(|entry| entry.is_a(Special::Anything));
    }
}

/// `clientConnection`
///
/// Upstream: component-base/config/validation/validation.go, `ValidateClientConnectionConfiguration`
pub fn client_connection(entry: &Entry<'_>, settings: &mut Settings) {
    let Some(mut fields) = entry.fields() else { return };
    for name in ["kubeconfig", "acceptContentTypes", "contentType"] {
        fields.get(name).and_then(|entry| entry.text());
    }
    // Zero is as good as not given.
    let qps = fields.get("qps").and_then(|entry| entry.number().map(|qps| said(&entry, "qps", qps)));
    settings.qps = qps.filter(|qps| qps.value != 0.0);
    if let Some(entry) = fields.get("burst")
        && let Some(burst) = whole(&entry)
    {
        if burst < 0 {
            entry.problem(Code::BadValue, format!("must be non-negative, not {burst}"), None);
        }
        settings.burst = (burst > 0).then(|| said(&entry, "burst", burst));
    }
    fields.finish();
}

/// `leaderElection`. Whether its times fit together is looked at when flags have had their say.
pub fn leader_election(entry: &Entry<'_>) -> GivenElection {
    let mut election = GivenElection::default();
    let Some(mut fields) = entry.fields() else { return election };
    election.leader_elect = fields.get("leaderElect").and_then(|entry| entry.truth());
    let mut time = |name: &'static str| {
        let entry = fields.get(name)?;
        // Zero is as good as not given.
        duration(&entry).filter(|span| *span != Span::ZERO).map(|span| said(&entry, name, span))
    };
    election.lease_duration = time("leaseDuration");
    election.renew_deadline = time("renewDeadline");
    election.retry_period = time("retryPeriod");
    if let Some(entry) = fields.get("resourceLock")
        && entry.text().is_some_and(|lock| !matches!(lock, "" | "leases"))
    {
        entry.problem(Code::BadValue, format!("must be \"leases\", not {}", shown(entry.value)), None);
    }
    let mut name = |field: &'static str| {
        let text = fields.get(field).and_then(|entry| entry.text()).filter(|text| !text.is_empty());
        text.map(str::to_string)
    };
    election.resource_name = name("resourceName");
    election.resource_namespace = name("resourceNamespace");
    fields.finish();
    election
}

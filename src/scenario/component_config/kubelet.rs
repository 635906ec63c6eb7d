//! KubeletConfiguration: thresholds of eviction are judged; the kubelets here do not follow the file yet.
//!
//! Upstream: pkg/kubelet/eviction/helpers.go, `ParseThresholdConfig`, v1.36.

use super::super::diagnostic::Code;
use super::super::entry::{Entry, shown};
use super::super::flags::notice;
use super::super::settings::Settings;
use super::parts;
use crate::model::Span;
use crate::rules::quantity::Quantity;
use crate::rules::suggest;

/// What thresholds are set for.
const SIGNALS: [&str; 9] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "allocatableMemory.available",
    "pid.available",
];

/// Reads the document. Fields that have nothing to do with eviction are not looked at.
pub fn read(root: &Entry<'_>) -> Settings {
    let Some(mut fields) = parts::begin(root) else { return Settings::default() };
    let hard = fields.get("evictionHard");
    let soft = fields.get("evictionSoft");
    for list in [&hard, &soft].into_iter().flatten() {
        signals(list).iter().for_each(|(signal, entry)| threshold(signal, entry));
    }
    let grace = fields.get("evictionSoftGracePeriod");
    let periods = grace.as_ref().map(signals).unwrap_or_default();
    for (_, entry) in &periods {
        if parts::duration(entry).is_some_and(|span| span < Span::ZERO) {
            entry.problem(Code::BadValue, "must be a positive value", None);
        }
    }
    for (signal, entry) in soft.as_ref().map(signals).unwrap_or_default() {
        if !periods.iter().any(|(other, _)| *other == signal) {
            let message = format!("grace period must be specified for the soft eviction threshold {signal}");
            entry.problem(Code::BadValue, message, Some("give it in evictionSoftGracePeriod".to_string()));
        }
    }
    for (signal, entry) in fields.get("evictionMinimumReclaim").as_ref().map(signals).unwrap_or_default() {
        reclaim(signal, &entry);
    }
    if let Some(entry) = fields.get("evictionPressureTransitionPeriod")
        && parts::duration(&entry).is_some_and(|span| span < Span::ZERO)
    {
        entry.problem(Code::BadValue, "must not be negative", None);
    }
    if let Some(entry) = fields.get("evictionMaxPodGracePeriod") {
        entry.whole(0..=i64::from(i32::MAX));
    }
    let message = "a KubeletConfiguration is judged and not followed yet: the kubelet's defaults hold";
    notice(&fields.entry.with(&root.value["kind"], "kind"), message.to_string());
    Settings::default()
}

/// Pairs of a mapping by signal.
fn signals<'a>(list: &Entry<'a>) -> Vec<(&'a str, Entry<'a>)> {
    let pairs = list.pairs();
    for (signal, entry) in pairs.iter().filter(|(signal, _)| !SIGNALS.contains(signal)) {
        let message = format!("unknown eviction signal {signal}");
        entry.problem(Code::BadValue, message, suggest::help(signal, SIGNALS));
    }
    pairs.into_iter().filter(|(signal, _)| SIGNALS.contains(signal)).collect()
}

/// 0% and 100% are legal: they say that the signal does not count.
fn threshold(signal: &str, entry: &Entry<'_>) {
    let Some(text) = entry.text() else { return };
    match percentage(entry, text) {
        Some(share) if share < 0.0 => {
            let message = format!("eviction percentage threshold {signal} must be >= 0%: {text}");
            entry.problem(Code::BadValue, message, None);
        }
        Some(share) if share > 1.0 => {
            let message = format!("eviction percentage threshold {signal} must be <= 100%: {text}");
            entry.problem(Code::BadValue, message, None);
        }
        Some(_) => {}
        None if text.ends_with('%') => {}
        None => {
            if quantity(entry, text).is_some_and(|quantity| quantity.milli_value() <= 0) {
                let message = format!("eviction threshold {signal} must be positive: {text}");
                entry.problem(Code::BadValue, message, None);
            }
        }
    }
}

fn reclaim(signal: &str, entry: &Entry<'_>) {
    let Some(text) = entry.text() else { return };
    let is_negative = match text.ends_with('%') {
        true => percentage(entry, text).is_some_and(|share| share <= 0.0),
        false => quantity(entry, text).is_some_and(|quantity| quantity.milli_value() < 0),
    };
    if is_negative {
        entry.problem(Code::BadValue, format!("negative eviction minimum reclaim specified for {signal}"), None);
    }
}

/// A share of 1, when the text ends with `%`; what is no number is a problem.
fn percentage(entry: &Entry<'_>, text: &str) -> Option<f32> {
    let share =
        text.strip_suffix('%')?.parse::<f32>().ok().filter(|share| share.is_finite()).map(|share| share / 100.0);
    if share.is_none() {
        entry.problem(Code::BadValue, format!("{} is not a percentage", shown(entry.value)), None);
    }
    share
}

fn quantity(entry: &Entry<'_>, text: &str) -> Option<Quantity> {
    let quantity = Quantity::parse(text).ok();
    if quantity.is_none() {
        let help = "amounts are written as 250Mi, 1Gi or 10%";
        entry.problem(Code::BadValue, format!("{} is not a quantity", shown(entry.value)), Some(help.to_string()));
    }
    quantity
}

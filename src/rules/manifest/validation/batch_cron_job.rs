//! Rules of CronJobs.
//!
//! Upstream: pkg/apis/batch/validation/validation.go, `validateCronJobSpec`, `validateTimeZone`, v1.36.

use super::super::{Errors, Field};
use super::{batch, values};
use crate::rules::cron::{Schedule, zone_named};

/// Jobs take eleven characters more than their CronJob, and may have 63.
const NAME_LENGTH_MAX: usize = 52;

/// Adds what the server refuses.
pub fn check(root: &Field<'_>, errors: &mut Errors) {
    let spec = root.get("spec");
    check_spec(&spec, false, errors);
    check_zone(&spec.get("timeZone"), errors);
    let name = root.at(&["metadata", "name"]);
    if name.text().len() > NAME_LENGTH_MAX {
        errors.invalid(&name, "must be no more than 52 characters");
    }
}

/// Adds what the server refuses in a change. A zone that stays and a long name that is there are not looked at again.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (old_spec, new_spec) = (old.get("spec"), new.get("spec"));
    check_spec(&new_spec, names_zone(old_spec.get("schedule").text()), errors);
    if old_spec.get("timeZone").value != new_spec.get("timeZone").value {
        check_zone(&new_spec.get("timeZone"), errors);
    }
}

fn names_zone(schedule: &str) -> bool {
    schedule.contains("TZ")
}

fn check_spec(spec: &Field<'_>, may_name_zone: bool, errors: &mut Errors) {
    let schedule = spec.get("schedule");
    if schedule.text().is_empty() {
        errors.required(&schedule, "");
    } else {
        if let Err(error) = Schedule::parse(schedule.text()) {
            errors.invalid(&schedule, &error.to_string());
        }
        match may_name_zone {
            _ if !names_zone(schedule.text()) => {}
            false => {
                errors.invalid(&schedule, "cannot use TZ or CRON_TZ in schedule, use the timeZone field instead");
            }
            true if spec.get("timeZone").is_given() => {
                errors.invalid(&schedule, "cannot use both the timeZone field and TZ or CRON_TZ in schedule");
            }
            true => {}
        }
    }
    errors.not_negative(&spec.get("startingDeadlineSeconds"));
    let policy = spec.get("concurrencyPolicy");
    match policy.text() {
        "" => errors.required(&policy, ""),
        _ => values::check_word(&policy, &["Allow", "Forbid", "Replace"], errors),
    }
    let job = spec.at(&["jobTemplate", "spec"]);
    batch::check_spec(&job, errors);
    let selector = job.get("selector");
    if selector.is_given() {
        errors.invalid(&selector, "`selector` will be auto-generated");
    }
    let manual = job.get("manualSelector");
    if manual.is_true() {
        errors.not_supported(&manual, &["nil", "false"]);
    }
    errors.not_negative(&spec.get("successfulJobsHistoryLimit"));
    errors.not_negative(&spec.get("failedJobsHistoryLimit"));
}

/// A zone of the time zone database; absent is fine.
fn check_zone(zone: &Field<'_>, errors: &mut Errors) {
    let name = zone.text();
    if !zone.is_given() {
        return;
    }
    if name.is_empty() {
        return errors.invalid(zone, "must be absent or a non-empty string");
    }
    if name.eq_ignore_ascii_case("Local") {
        errors.invalid(zone, "must be an explicit time zone as defined in https://www.iana.org/time-zones");
    } else if zone_named(name).is_none() {
        errors.invalid(zone, &format!("unknown time zone {name}"));
    }
}

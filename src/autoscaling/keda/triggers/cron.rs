//! Cron: a number of replicas inside of a window that comes again and again.
//!
//! The scaler looks ahead only: inside is when the window's end comes before its next start. A schedule that never fires
//! again lies before every time.
//!
//! Upstream: kedacore/keda pkg/scalers/cron_scaler.go.

use jiff::tz::TimeZone;

use super::TriggerValue;
use crate::model::Time;
use crate::rules::cron::Schedule;

/// The options of a trigger.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// `start`
    pub start: Schedule,
    /// `end`
    pub end: Schedule,
    /// `timezone`
    pub zone: TimeZone,
    /// `desiredReplicas` inside of the window; the target of the metric is 1.
    pub desired_replicas: i64,
}

/// What the trigger says at a time.
pub fn value(settings: &Settings, now: Time) -> TriggerValue {
    let next = |schedule: &Schedule| schedule.next(now, &settings.zone).unwrap_or(Time(i64::MIN));
    let is_active = next(&settings.end) <= next(&settings.start);
    let replicas = if is_active { settings.desired_replicas } else { 0 };
    TriggerValue { metric_milli: replicas.saturating_mul(1_000), is_active }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{cron::zone_named, timestamp};

    #[test]
    fn windows() {
        for (start, end, zone, now, is_active) in [
            ("0 8 * * *", "0 18 * * *", "UTC", "2025-03-10T07:59:59Z", false),
            // At the start itself the next start is tomorrow's.
            ("0 8 * * *", "0 18 * * *", "UTC", "2025-03-10T08:00:00Z", true),
            ("0 8 * * *", "0 18 * * *", "UTC", "2025-03-10T18:00:00Z", false),
            ("0 22 * * *", "0 6 * * *", "UTC", "2025-03-10T23:00:00Z", true),
            // Both at once: never outside.
            ("0 12 * * *", "0 12 * * *", "UTC", "2025-03-10T03:00:00Z", true),
            // Kolkata is 5 h 30 min ahead: 06:00 is 00:30 UTC.
            ("0 6 * * *", "0 20 * * *", "Asia/Kolkata", "2025-03-10T00:29:59Z", false),
            ("0 6 * * *", "0 20 * * *", "Asia/Kolkata", "2025-03-10T00:30:00Z", true),
        ] {
            let parse = |text: &str| Schedule::parse(text).unwrap().0;
            let settings =
                Settings { start: parse(start), end: parse(end), zone: zone_named(zone).unwrap(), desired_replicas: 3 };
            let value = value(&settings, timestamp::parse(now).unwrap());
            assert_eq!(value.is_active, is_active, "{start} {end} {now}");
            assert_eq!(value.metric_milli, if is_active { 3_000 } else { 0 });
        }
    }
}

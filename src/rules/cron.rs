//! Cron schedules: reading the five fields, and the next time a schedule fires.
//!
//! The day loop steps by calendar days and the hour loop by hours, so nights on which clocks change have quirks of their
//! own: a time that does not exist is skipped for that day or fires later, one that exists twice fires twice.
//!
//! Upstream: github.com/robfig/cron v3.0.1 parser.go, spec.go, constantdelay.go, as vendored by Kubernetes v1.36; dates are
//! made as Go's `time.Date` does.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time as CivilTime};
use jiff::tz::TimeZone;

use super::go_duration::{self, GoDurationError};
use crate::model::Time;

/// When something is due again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// At fields of the calendar.
    Calendar(Calendar),
    /// After a whole number of seconds.
    Every {
        /// The distance, at least one second.
        seconds: i64,
    },
}

/// The values at which a schedule fires, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calendar {
    minute: u64,
    hour: u64,
    day: u64,
    month: u64,
    weekday: u64,
}

/// Why a text is no schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CronError {
    /// Nothing there.
    Empty,
    /// How many fields there are instead of five.
    Fields(usize),
    /// `@` and an unknown word.
    Descriptor(String),
    /// What follows `@every` is no duration.
    Every(String, GoDurationError),
    /// What follows `TZ=` is no known zone.
    Zone(String),
    /// More than one hyphen or slash in a part.
    Separators(&'static str, String),
    /// Neither a number nor a name.
    Word(String),
    /// A range begins below what the field takes: begin, least value, part.
    BelowMinimum(u32, u32, String),
    /// A range ends above what the field takes: end, greatest value, part.
    AboveMaximum(u32, u32, String),
    /// A range ends before it begins: begin, end, part.
    Backwards(u32, u32, String),
    /// A step of zero.
    StepZero(String),
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CronError::Empty => f.write_str("an empty schedule"),
            CronError::Fields(found) => write!(f, "expected exactly 5 fields, found {found}"),
            CronError::Descriptor(word) => write!(f, "unrecognized descriptor: {word}"),
            CronError::Every(text, error) => write!(f, "failed to parse duration {text:?}: {error}"),
            CronError::Zone(name) => write!(f, "unknown time zone {name}"),
            CronError::Separators(what, part) => write!(f, "too many {what}: {part}"),
            CronError::Word(part) => write!(f, "failed to parse {part:?}: neither a number nor a known name"),
            CronError::BelowMinimum(value, min, part) => {
                write!(f, "beginning of range ({value}) below minimum ({min}): {part}")
            }
            CronError::AboveMaximum(value, max, part) => {
                write!(f, "end of range ({value}) above maximum ({max}): {part}")
            }
            CronError::Backwards(start, end, part) => {
                write!(f, "beginning of range ({start}) beyond end of range ({end}): {part}")
            }
            CronError::StepZero(part) => write!(f, "step of range should be a positive number: {part}"),
        }
    }
}

/// Marks a field that was written `*` or `?`: such a day field does not widen the other one.
const STAR: u64 = 1 << 63;

/// Years after which the search for a next time is given up.
const SEARCH_YEARS: i16 = 5;

struct Bounds {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { min: 0, max: 59, names: &[] };
const HOURS: Bounds = Bounds { min: 0, max: 23, names: &[] };
const DAYS: Bounds = Bounds { min: 1, max: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    min: 1,
    max: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds = Bounds { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Schedule {
    /// Reads a schedule, and the zone that a leading `TZ=` or `CRON_TZ=` names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<(Schedule, Option<TimeZone>), CronError> {
        if text.is_empty() {
            return Err(CronError::Empty);
        }
        let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
            return Ok((Schedule::parse_plain(text)?, None));
        };
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let zone = zone_named(name).ok_or_else(|| CronError::Zone(name.to_string()))?;
        Ok((Schedule::parse_plain(rest.trim())?, Some(zone)))
    }

    fn parse_plain(text: &str) -> Result<Schedule, CronError> {
        if text.starts_with('@') {
            return descriptor(text);
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(CronError::Fields(fields.len()));
        };
        Ok(Schedule::Calendar(Calendar {
            minute: bits_of(minute, &MINUTES)?,
            hour: bits_of(hour, &HOURS)?,
            day: bits_of(day, &DAYS)?,
            month: bits_of(month, &MONTHS)?,
            weekday: bits_of(weekday, &WEEKDAYS)?,
        }))
    }

    /// The first time after `after` (nanoseconds since 1970) at which it fires, by the clocks of `zone`; `None` when there
    /// is none within five years. Always a whole second.
    pub fn next(&self, after: Time, zone: &TimeZone) -> Option<Time> {
        let second = after.0.div_euclid(1_000_000_000);
        let due = match self {
            Schedule::Every { seconds } => Some(second + seconds),
            Schedule::Calendar(calendar) => calendar.next_second(second + 1, zone),
        };
        due.and_then(|second| second.checked_mul(1_000_000_000)).map(Time)
    }
}

/// A zone of the time zone database, written exactly as there.
pub fn zone_named(name: &str) -> Option<TimeZone> {
    let zone = jiff::tz::TimeZoneDatabase::bundled().get(name).ok()?;
    (zone.iana_name() == Some(name)).then_some(zone)
}

fn descriptor(text: &str) -> Result<Schedule, CronError> {
    if let Some(duration) = text.strip_prefix("@every ") {
        let ns = go_duration::parse(duration).map_err(|error| CronError::Every(duration.to_string(), error))?;
        return Ok(Schedule::Every { seconds: (ns / 1_000_000_000).max(1) });
    }
    let first = |bounds: &Bounds| 1_u64 << bounds.min;
    let hourly = Calendar {
        minute: first(&MINUTES),
        hour: all(&HOURS),
        day: all(&DAYS),
        month: all(&MONTHS),
        weekday: all(&WEEKDAYS),
    };
    let daily = Calendar { hour: first(&HOURS), ..hourly };
    let monthly = Calendar { day: first(&DAYS), ..daily };
    Ok(Schedule::Calendar(match text {
        "@yearly" | "@annually" => Calendar { month: first(&MONTHS), ..monthly },
        "@monthly" => monthly,
        "@weekly" => Calendar { weekday: first(&WEEKDAYS), ..daily },
        "@daily" | "@midnight" => daily,
        "@hourly" => hourly,
        _ => return Err(CronError::Descriptor(text.to_string())),
    }))
}

fn all(bounds: &Bounds) -> u64 {
    stepped(bounds.min, bounds.max, 1) | STAR
}

fn stepped(start: u32, end: u32, step: u32) -> u64 {
    (start..=end).step_by(step as usize).fold(0, |bits, value| bits | 1 << value)
}

/// A field: parts between commas. Empty parts count for nothing, so `,` alone never fires.
fn bits_of(field: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let parts = field.split(',').filter(|part| !part.is_empty());
    parts.map(|part| bits_of_part(part, bounds)).try_fold(0, |bits, part| Ok(bits | part?))
}

/// `*`, `?`, `N`, `N-M`, each with `/step` behind it; `N/step` goes on to the field's end.
fn bits_of_part(part: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let slashes: Vec<&str> = part.split('/').collect();
    let hyphens: Vec<&str> = slashes[0].split('-').collect();
    let (start, mut end, mut mark) = match hyphens[..] {
        // What follows the hyphen is not looked at.
        ["*" | "?", ..] => (bounds.min, bounds.max, STAR),
        [one] => (number_or_name(one, bounds)?, number_or_name(one, bounds)?, 0),
        [low, high] => (number_or_name(low, bounds)?, number_or_name(high, bounds)?, 0),
        _ => return Err(CronError::Separators("hyphens", part.to_string())),
    };
    let step = match slashes[..] {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if hyphens.len() == 1 {
                end = bounds.max;
            }
            if step > 1 {
                mark = 0;
            }
            step
        }
        _ => return Err(CronError::Separators("slashes", part.to_string())),
    };
    if start < bounds.min {
        return Err(CronError::BelowMinimum(start, bounds.min, part.to_string()));
    }
    if end > bounds.max {
        return Err(CronError::AboveMaximum(end, bounds.max, part.to_string()));
    }
    if start > end {
        return Err(CronError::Backwards(start, end, part.to_string()));
    }
    if step == 0 {
        return Err(CronError::StepZero(part.to_string()));
    }
    Ok(stepped(start, end, step) | mark)
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u32, CronError> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(index) => Ok(index as u32 + bounds.min),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, CronError> {
    // Go takes a plus sign as well; what does not fit is out of range anyway.
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(CronError::Word(text.to_string()));
    }
    Ok(digits.parse().unwrap_or(u32::MAX))
}

impl Calendar {
    fn next_second(&self, from: i64, zone: &TimeZone) -> Option<i64> {
        let mut at = from;
        let last_year = local(at, zone)?.year() + SEARCH_YEARS;
        // Once a field has been moved, all finer ones start at their first value.
        let mut moved = false;
        'year: loop {
            if local(at, zone)?.year() > last_year {
                return None;
            }
            while !has(self.month, local(at, zone)?.month()) {
                let now = local(at, zone)?;
                let now = if moved { now } else { now.date().first_of_month().to_datetime(CivilTime::midnight()) };
                moved = true;
                at = instant(plus_month(now)?, zone)?;
                if local(at, zone)?.month() == 1 {
                    continue 'year;
                }
            }
            while !self.fires_on(local(at, zone)?) {
                let now = local(at, zone)?;
                let now = if moved { now } else { now.date().to_datetime(CivilTime::midnight()) };
                moved = true;
                at = to_midnight(instant(now.checked_add(jiff::Span::new().days(1)).ok()?, zone)?, zone)?;
                if local(at, zone)?.day() == 1 {
                    continue 'year;
                }
            }
            while !has(self.hour, local(at, zone)?.hour()) {
                if !moved {
                    let now = local(at, zone)?;
                    at = instant(now.date().at(now.hour(), 0, 0, 0), zone)?;
                    moved = true;
                }
                at += 3_600;
                if local(at, zone)?.hour() == 0 {
                    continue 'year;
                }
            }
            while !has(self.minute, local(at, zone)?.minute()) {
                at = at.div_euclid(60) * 60 + 60;
                moved = true;
                if local(at, zone)?.minute() == 0 {
                    continue 'year;
                }
            }
            while local(at, zone)?.second() != 0 {
                at += 1;
                moved = true;
                if local(at, zone)?.second() == 0 {
                    continue 'year;
                }
            }
            return Some(at);
        }
    }

    /// Both day fields must fit if one of them is a star, else one of them.
    fn fires_on(&self, day: DateTime) -> bool {
        let by_day = has(self.day, day.day());
        let by_weekday = has(self.weekday, day.weekday().to_sunday_zero_offset());
        match (self.day | self.weekday) & STAR != 0 {
            true => by_day && by_weekday,
            false => by_day || by_weekday,
        }
    }
}

fn has(bits: u64, value: i8) -> bool {
    bits & (1 << value) != 0
}

fn local(second: i64, zone: &TimeZone) -> Option<DateTime> {
    Some(zone.to_datetime(Timestamp::from_second(second).ok()?))
}

/// The same day and time of the next month; a day that it has not runs over into the month after.
fn plus_month(now: DateTime) -> Option<DateTime> {
    let first = now.date().first_of_month().checked_add(jiff::Span::new().months(1)).ok()?;
    first.checked_add(jiff::Span::new().days(now.day() - 1)).ok().map(|date| date.to_datetime(now.time()))
}

/// A local time as an instant, the way Go does it: the offset that holds at the instant that the time would be if the
/// offset at the same reading in UTC held.
fn instant(at: DateTime, zone: &TimeZone) -> Option<i64> {
    let as_utc = TimeZone::UTC.to_timestamp(at).ok()?.as_second();
    let offset_at = |second: i64| Some(i64::from(zone.to_offset(Timestamp::from_second(second).ok()?).seconds()));
    let guess = as_utc - offset_at(as_utc)?;
    Some(as_utc - offset_at(guess)?)
}

/// Midnight, where a day's step has landed an hour beside it because clocks changed.
fn to_midnight(at: i64, zone: &TimeZone) -> Option<i64> {
    let hour = i64::from(local(at, zone)?.hour());
    Some(match hour {
        0 => at,
        13.. => at + (24 - hour) * 3_600,
        _ => at - hour * 3_600,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::timestamp;

    fn next(schedule: &str, zone: &str, after: &str) -> String {
        let (schedule, named) = Schedule::parse(schedule).unwrap();
        let zone = named.unwrap_or_else(|| zone_named(zone).unwrap());
        let after = timestamp::parse(after).unwrap();
        schedule.next(after, &zone).map_or("never".into(), timestamp::format_seconds)
    }

    #[test]
    fn fields_are_read() {
        for (text, minutes) in [
            ("5/15", vec![5, 20, 35, 50]),
            ("1-5/2", vec![1, 3, 5]),
            ("58-59,,0", vec![0, 58, 59]),
            ("+7", vec![7]),
            (",", vec![]),
        ] {
            let bits = minutes.iter().fold(0, |bits, minute| bits | 1_u64 << minute);
            assert_eq!(bits_of(text, &MINUTES), Ok(bits), "{text}");
        }
        assert_eq!(bits_of("*-x", &MONTHS), bits_of("?", &MONTHS));
        assert_eq!(bits_of("feb-APR", &MONTHS), Ok(0b1_1100));
        // A step of two takes the star mark away, a step of one does not.
        assert_eq!(bits_of("*/1", &HOURS).unwrap() & STAR, STAR);
        assert_eq!(bits_of("*/2", &HOURS).unwrap() & STAR, 0);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, message) in [
            ("", "an empty schedule"),
            ("* * * *", "expected exactly 5 fields, found 4"),
            ("61 * * * *", "end of range (61) above maximum (59): 61"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("-1 * * * *", "failed to parse \"\": neither a number nor a known name"),
            ("MON * * * *", "failed to parse \"MON\": neither a number nor a known name"),
            ("@Daily", "unrecognized descriptor: @Daily"),
            ("@every 5", "failed to parse duration \"5\": missing unit in duration"),
            ("TZ=Mars/X 0 0 * * *", "unknown time zone Mars/X"),
        ] {
            assert_eq!(Schedule::parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn the_next_time() {
        for (schedule, zone, after, due) in [
            ("*/20 * * * *", "UTC", "2024-01-01T00:00:00Z", "2024-01-01T00:20:00Z"),
            ("0 0 29 2 *", "UTC", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            // 2096 + 5 = 2101; 2100 is no leap year, the next is 2104.
            ("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "never"),
            ("59 23 31 2 *", "UTC", "2024-01-01T00:00:00Z", "never"),
            // Either day field: 2024-01-02 is a Tuesday.
            ("0 0 15 * TUE", "UTC", "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"),
            // `*/1` keeps the star mark, so both must fit; `*/2` (odd days) does not: Tuesday the 2nd fires.
            ("0 0 */1 * TUE", "UTC", "2024-01-02T12:00:00Z", "2024-01-09T00:00:00Z"),
            ("0 0 */2 * TUE", "UTC", "2024-01-01T12:00:00Z", "2024-01-02T00:00:00Z"),
            // Berlin is an hour ahead in winter.
            ("30 8 * * *", "Europe/Berlin", "2024-01-01T00:00:00Z", "2024-01-01T07:30:00Z"),
            ("CRON_TZ=Asia/Kolkata 0 0 * * *", "UTC", "2024-01-01T00:00:00Z", "2024-01-01T18:30:00Z"),
            // 02:30 does not exist in Berlin on 2024-03-31.
            ("30 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00Z", "2024-04-01T00:30:00Z"),
            ("@every 1m30s", "UTC", "2024-01-01T00:00:00.9Z", "2024-01-01T00:01:30Z"),
            ("@every -5m", "UTC", "2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z"),
            ("@weekly", "UTC", "2024-01-01T00:00:00Z", "2024-01-07T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, zone, after), due, "{schedule} {zone} {after}");
        }
    }

    #[test]
    fn zones_are_named_exactly() {
        assert!(zone_named("Europe/Berlin").is_some() && zone_named("UTC").is_some());
        assert!(zone_named("Europe/berlin").is_none() && zone_named("GMT+1").is_none() && zone_named("").is_none());
    }
}

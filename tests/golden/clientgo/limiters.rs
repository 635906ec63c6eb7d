//! Rate limiters of work queues, and the token bucket of a client.

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, count, field, float, int, list, only_fields, text};
use kubesim::client::token_bucket::TokenBucket;
use kubesim::client::workqueue::RateLimiter;
use kubesim::model::{Name, Span, Time};

/// The limiter that a recording describes.
pub fn limiter(description: &Value) -> Result<RateLimiter<Name>, Disagreement> {
    let span = |name: &str| int(description, name).map(Span);
    let kind = text(description, "type")?;
    let fields: &[&str] = match kind {
        "item_exponential" => &["type", "base_ns", "max_ns"],
        "item_fast_slow" => &["type", "fast_ns", "slow_ns", "max_fast"],
        "bucket" => &["type", "qps", "burst"],
        "max_of" => &["type", "of"],
        "with_max_wait" => &["type", "of", "max_ns"],
        _ => &["type"],
    };
    only_fields(description, fields)?;
    match kind {
        "item_exponential" => Ok(RateLimiter::item_exponential(span("base_ns")?, span("max_ns")?)),
        "item_fast_slow" => {
            Ok(RateLimiter::item_fast_slow(span("fast_ns")?, span("slow_ns")?, count(description, "max_fast")?))
        }
        "bucket" => Ok(RateLimiter::bucket(float(description, "qps")?, count(description, "burst")?)),
        "max_of" => list(description, "of")?.iter().map(limiter).collect::<Result<_, _>>().map(RateLimiter::MaxOf),
        "with_max_wait" => Ok(RateLimiter::with_max_wait(limiter(field(description, "of")?)?, span("max_ns")?)),
        "default_controller" => Ok(RateLimiter::default_controller()),
        "default_item_based" => Ok(RateLimiter::item_exponential(Span::from_milliseconds(1), Span::from_seconds(1000))),
        other => Err(Disagreement::new("a known type of limiter", other)),
    }
}

/// `seq` of when, forget and num with the answer of each in `expect`.
pub fn ratelimiter(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["limiter", "seq", "expect"])?;
    compare_answers(list(case, "seq")?, list(case, "expect")?, &delays(case)?)
}

/// The answer of each operation on a limiter.
pub fn delays(case: &Value) -> Result<Vec<i64>, Disagreement> {
    let mut limiter = limiter(field(case, "limiter")?)?;
    let answers = list(case, "seq")?.iter().map(|operation| {
        only_fields(operation, &["t", "op", "key"])?;
        let key = Name::new(text(operation, "key")?);
        let now = Time(int(operation, "t")?);
        match text(operation, "op")? {
            "when" => Ok(limiter.when(&key, now).0),
            "num" => Ok(i64::from(limiter.num_requeues(&key))),
            "forget" => {
                limiter.forget(&key);
                Ok(0)
            }
            other => Err(Disagreement::new("a known operation", other)),
        }
    });
    answers.collect()
}

/// `ops` on a client's token bucket: accept answers when it returned, try answers 1 or 0.
pub fn flowcontrol(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["qps", "burst", "ops", "expect"])?;
    compare_answers(list(case, "ops")?, list(case, "expect")?, &accepted(case)?)
}

/// The answer of each operation on a token bucket.
pub fn accepted(case: &Value) -> Result<Vec<i64>, Disagreement> {
    let mut bucket = TokenBucket::for_client(float(case, "qps")? as f32, count(case, "burst")?);
    let answers = list(case, "ops")?.iter().map(|operation| {
        only_fields(operation, &["t", "op"])?;
        let now = Time(int(operation, "t")?);
        match text(operation, "op")? {
            "accept" => Ok((now + bucket.reserve(now)).0),
            "try" => Ok(i64::from(bucket.try_accept(now))),
            other => Err(Disagreement::new("a known operation", other)),
        }
    });
    answers.collect()
}

fn compare_answers(operations: &[Value], expect: &[Value], got: &[i64]) -> Result<(), Disagreement> {
    if operations.len() != expect.len() {
        return Err(Disagreement::new(expect.len(), operations.len()));
    }
    for (index, (operation, (expected, got))) in operations.iter().zip(expect.iter().zip(got)).enumerate() {
        compare(format!("expect[{index}] after {operation}"), expected, &json!(got), 0.0)?;
    }
    Ok(())
}

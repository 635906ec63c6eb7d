//! Rate limiters of work queues, and the token bucket of a client.

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, count, field, float, int, list, text};
use kubesim::client::token_bucket::TokenBucket;
use kubesim::client::workqueue::RateLimiter;
use kubesim::model::{Name, Span, Time};

/// The limiter that a recording describes.
pub fn limiter(description: &Value) -> Result<RateLimiter<Name>, Disagreement> {
    let span = |name: &str| int(description, name).map(Span);
    match text(description, "type")? {
        "item_exponential" => Ok(RateLimiter::item_exponential(span("base_ns")?, span("max_ns")?)),
        "item_fast_slow" => {
            Ok(RateLimiter::item_fast_slow(span("fast_ns")?, span("slow_ns")?, count(description, "max_fast")?))
        }
        "bucket" => Ok(RateLimiter::bucket(float(description, "qps")?, count(description, "burst")?)),
        "max_of" => list(description, "of")?.iter().map(limiter).collect::<Result<_, _>>().map(RateLimiter::MaxOf),
        "with_max_wait" => Ok(RateLimiter::with_max_wait(limiter(field(description, "of")?)?, span("max_ns")?)),
        "default_controller" => Ok(RateLimiter::default_controller()),
        other => Err(Disagreement::new("a known type of limiter", other)),
    }
}

/// `seq` of when, forget and num with the answer of each in `expect`.
pub fn ratelimiter(case: &Value) -> Result<(), Disagreement> {
    let mut limiter = limiter(field(case, "limiter")?)?;
    let (operations, expect) = (list(case, "seq")?, list(case, "expect")?);
    if operations.len() != expect.len() {
        return Err(Disagreement::new(expect.len(), operations.len()));
    }
    for (index, (operation, expected)) in operations.iter().zip(expect).enumerate() {
        let key = Name::new(text(operation, "key")?);
        let now = Time(int(operation, "t")?);
        let got = match text(operation, "op")? {
            "when" => limiter.when(&key, now).0,
            "num" => i64::from(limiter.num_requeues(&key)),
            "forget" => {
                limiter.forget(&key);
                0
            }
            other => return Err(Disagreement::new("a known operation", other)),
        };
        compare(format!("expect[{index}] after {operation}"), expected, &json!(got), 0.0)?;
    }
    Ok(())
}

/// `ops` on a client's token bucket: accept answers when it returned, try answers 1 or 0.
pub fn flowcontrol(case: &Value) -> Result<(), Disagreement> {
    let mut bucket = TokenBucket::for_client(float(case, "qps")? as f32, count(case, "burst")?);
    let (operations, expect) = (list(case, "ops")?, list(case, "expect")?);
    if operations.len() != expect.len() {
        return Err(Disagreement::new(expect.len(), operations.len()));
    }
    for (index, (operation, expected)) in operations.iter().zip(expect).enumerate() {
        let now = Time(int(operation, "t")?);
        let got = match text(operation, "op")? {
            "accept" => (now + bucket.reserve(now)).0,
            "try" => i64::from(bucket.try_accept(now)),
            other => return Err(Disagreement::new("a known operation", other)),
        };
        compare(format!("expect[{index}] after {operation}"), expected, &json!(got), 0.0)?;
    }
    Ok(())
}

//! The rate limit of a client as its configuration gives it.
//!
//! Upstream: k8s.io/client-go rest/config.go (`RESTClientForConfigAndClient`), v1.36.

use crate::client::token_bucket::TokenBucket;

/// `QPS` where the configuration says 0.
const DEFAULT_QPS: f32 = 5.0;
/// `Burst` where the configuration says 0.
const DEFAULT_BURST: u32 = 10;

/// `QPS` and `Burst` of a client's configuration, as given: zero stands for a default.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ClientLimit {
    /// Tokens a second; negative for no limit.
    pub qps: f32,
    /// Most tokens.
    pub burst: u32,
}

impl ClientLimit {
    /// The bucket of the client; `None` if it has no limit.
    pub fn bucket(self) -> Option<TokenBucket> {
        let qps = if self.qps == 0.0 { DEFAULT_QPS } else { self.qps };
        let burst = if self.burst == 0 { DEFAULT_BURST } else { self.burst };
        (qps > 0.0).then(|| TokenBucket::for_client(qps, burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Span, Time};

    #[test]
    fn zero_is_the_default_and_negative_is_none() {
        assert!(ClientLimit { qps: -1.0, burst: 0 }.bucket().is_none());
        let mut bucket = ClientLimit::default().bucket().unwrap();
        let waits: Vec<Span> = (0..12).map(|_| bucket.reserve(Time(0))).collect();
        // Ten at once, then one in 1/5 s.
        assert_eq!(waits[9..], [Span::ZERO, Span::from_milliseconds(200), Span::from_milliseconds(400)]);
    }
}

//! Settings of a controller's queue, limiter and workers.

use std::hash::Hash;

use crate::model::{Distribution, Span};

use super::workqueue::RateLimiter;

/// Settings of a controller around a work queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSettings {
    /// Workers (`--concurrent-*-syncs`, `MaxConcurrentReconciles`).
    pub workers: u32,
    /// Computing time of a reconcile, between reading the caches and the first request.
    pub reconcile_time: Distribution,
    /// Which queue.
    pub kind: QueueKind,
    /// How long a key waits before its next try.
    pub limiter: LimiterSettings,
    /// What follows a reconcile.
    pub worker_loop: WorkerLoop,
    /// How handlers add keys.
    pub handler_add: HandlerAdd,
}

/// Which queue a controller has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// client-go's: first in, first out.
    WorkQueue,
    /// controller-runtime's: by priority.
    Priority,
}

/// What follows a reconcile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerLoop {
    /// As the controllers of kube-controller-manager do by hand: retries may have a ceiling, and a controller can ask for
    /// a later look although it failed.
    InTree,
    /// As controller-runtime does: an error hides a later look, and retries have no ceiling.
    ControllerRuntime,
}

/// How handlers add keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandlerAdd {
    /// At once.
    Plain,
    /// Through the limiter: each add, the redundant ones too, counts as a failure of its key and takes a token.
    RateLimited,
}

/// Settings of a rate limiter.
#[derive(Clone, PartialEq, Debug)]
pub enum LimiterSettings {
    /// `base` x 2^failures of the key, at most `max`.
    ItemExponential {
        /// The first delay.
        base: Span,
        /// The longest delay.
        max: Span,
    },
    /// `fast` for the first `max_fast` failures of the key, then `slow`.
    ItemFastSlow {
        /// The delay of the first failures.
        fast: Span,
        /// The delay of the others.
        slow: Span,
        /// How many failures are served fast.
        max_fast: u32,
    },
    /// The same delay always.
    FixedInterval(Span),
    /// A bucket for all keys.
    Bucket {
        /// Tokens a second.
        qps: f64,
        /// Most tokens.
        burst: u32,
    },
    /// The longest delay of several.
    MaxOf(Vec<LimiterSettings>),
    /// The delay of a limiter, at most `max`.
    WithMaxWait {
        /// The limiter.
        inner: Box<LimiterSettings>,
        /// The longest delay.
        max: Span,
    },
}

impl QueueSettings {
    /// A controller of kube-controller-manager.
    pub fn in_tree(workers: u32, reconcile_time: Distribution) -> QueueSettings {
        QueueSettings {
            workers,
            reconcile_time,
            kind: QueueKind::WorkQueue,
            limiter: LimiterSettings::default_controller(),
            worker_loop: WorkerLoop::InTree,
            handler_add: HandlerAdd::Plain,
        }
    }

    /// An operator made with controller-runtime.
    ///
    /// Upstream: sigs.k8s.io/controller-runtime pkg/controller/controller.go, v0.24.
    pub fn controller_runtime(workers: u32, reconcile_time: Distribution) -> QueueSettings {
        QueueSettings {
            kind: QueueKind::Priority,
            limiter: LimiterSettings::default_controller_item(),
            worker_loop: WorkerLoop::ControllerRuntime,
            ..QueueSettings::in_tree(workers, reconcile_time)
        }
    }
}

impl LimiterSettings {
    /// What in-tree controllers use, see [`RateLimiter::default_controller`].
    pub fn default_controller() -> LimiterSettings {
        let bucket = LimiterSettings::Bucket { qps: 10.0, burst: 100 };
        LimiterSettings::MaxOf(vec![LimiterSettings::default_controller_item(), bucket])
    }

    /// What controller-runtime's queue uses, see [`RateLimiter::default_controller_item`].
    pub fn default_controller_item() -> LimiterSettings {
        LimiterSettings::ItemExponential { base: Span::from_milliseconds(5), max: Span::from_seconds(1000) }
    }

    /// A limiter with these settings that has counted nothing.
    pub fn build<K: Clone + Eq + Hash>(&self) -> RateLimiter<K> {
        match self {
            LimiterSettings::ItemExponential { base, max } => RateLimiter::item_exponential(*base, *max),
            LimiterSettings::ItemFastSlow { fast, slow, max_fast } => {
                RateLimiter::item_fast_slow(*fast, *slow, *max_fast)
            }
            LimiterSettings::FixedInterval(interval) => RateLimiter::FixedInterval(*interval),
            LimiterSettings::Bucket { qps, burst } => RateLimiter::bucket(*qps, *burst),
            LimiterSettings::MaxOf(members) => RateLimiter::MaxOf(members.iter().map(LimiterSettings::build).collect()),
            LimiterSettings::WithMaxWait { inner, max } => RateLimiter::with_max_wait(inner.build(), *max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Time;

    #[test]
    fn the_default_settings_make_the_default_limiters() {
        let delays = |mut limiter: RateLimiter<u32>| -> Vec<Span> {
            // 150 keys once each at one instant, then one of them again and again.
            let keys = (0..150).chain(std::iter::repeat_n(0, 30));
            keys.map(|key| limiter.when(&key, Time(0))).collect()
        };
        assert_eq!(delays(LimiterSettings::default_controller().build()), delays(RateLimiter::default_controller()));
        let item = LimiterSettings::default_controller_item();
        assert_eq!(delays(item.build()), delays(RateLimiter::default_controller_item()));
        let cut = LimiterSettings::WithMaxWait { inner: Box::new(item), max: Span::from_milliseconds(20) };
        assert_eq!(delays(cut.build()).iter().max(), Some(&Span::from_milliseconds(20)));
    }
}

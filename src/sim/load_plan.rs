//! What a plan says of load: who sends requests to whom, what a request costs, and message queues.

use crate::model::{Distribution, Kind, Span};
use crate::plant::requests::Routing;
use crate::plant::usage::{CpuDemand, Demand, MemoryDemand};
use crate::workload::arrivals::Arrivals;
use crate::workload::rate::Rate;

/// Kind, namespace and name of an object.
pub type Named = (Kind, String, String);

/// All load of a plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LoadPlans {
    /// Requests.
    pub loads: Vec<LoadPlan>,
    /// What requests cost; the first that applies to a pod counts.
    pub demands: Vec<DemandPlan>,
    /// Message queues.
    pub queues: Vec<MessageQueuePlan>,
}

/// An item of `spec.load`.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadPlan {
    /// Its name.
    pub name: String,
    /// A Service, or who owns the pods that serve.
    pub to: Named,
    /// Requests a second.
    pub rate: Rate,
    /// How single requests follow each other; `None`: requests are a rate.
    pub arrivals: Option<Arrivals>,
    /// How long a client waits; `None` is for ever.
    pub timeout: Option<Span>,
    /// How often a client tries again.
    pub retries: u32,
    /// Which ready pod a request goes to.
    pub routing: Routing,
}

/// What an item of `spec.containers` says about work.
#[derive(Clone, PartialEq, Debug)]
pub struct DemandPlan {
    /// Whose pods.
    pub of: Named,
    /// CPU.
    pub cpu: CpuDemand,
    /// Memory.
    pub memory: MemoryDemand,
    /// How long a request takes inside, without waiting; the CPU time of a request if `None`.
    pub takes: Option<Distribution>,
    /// Requests that a container works on at once; `None` if only CPU limits them.
    pub concurrency: Option<u32>,
    /// Requests that may wait in a container; any number if `None`.
    pub queue: Option<u32>,
}

/// What keeps messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// RabbitMQ: a message is unacknowledged while a consumer has it.
    RabbitMq,
    /// Kafka: partitions, each read by one consumer at a time.
    Kafka {
        /// How many.
        partitions: u32,
    },
    /// Any other.
    Generic,
}

/// An item of `spec.queues`.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageQueuePlan {
    /// Its name, by which triggers find it.
    pub name: String,
    /// What it is.
    pub kind: QueueKind,
    /// Messages at the start.
    pub messages: u64,
    /// Messages a second that are published.
    pub publish: Option<Rate>,
    /// How single messages follow each other; `None`: they are a rate.
    pub arrivals: Option<Arrivals>,
    /// Who takes them.
    pub consume: Option<ConsumePlan>,
}

/// Who takes messages.
#[derive(Clone, PartialEq, Debug)]
pub struct ConsumePlan {
    /// Whose pods.
    pub by: Named,
    /// How long a message takes.
    pub each: Distribution,
    /// Messages that a pod holds at most; it works on one after the other.
    pub prefetch: u32,
    /// A message that is not acknowledged in this time is delivered again; never if `None`.
    pub visibility: Option<Span>,
    /// A message that was delivered so often without success goes to the dead letters; never if `None`.
    pub deliveries: Option<u32>,
}

impl DemandPlan {
    /// What a container needs.
    pub fn demand(&self) -> Demand {
        let takes_ns = self.takes.as_ref().and_then(mean_ns).map_or(self.cpu.per_request_ns, |mean| mean as i64);
        Demand { cpu: self.cpu, memory: self.memory, takes_ns, concurrency: self.concurrency }
    }
}

/// The mean of a distribution in ns; `None` if it is zero. Of a normal one that before its cut at zero.
pub fn mean_ns(of: &Distribution) -> Option<f64> {
    /// The standard normal quantile of 0.99.
    const Z_P99: f64 = 2.326_347_874_040_841;
    let mean = match of {
        Distribution::Constant(ns) => *ns as f64,
        Distribution::Uniform { low_ns, high_ns } => (*low_ns as f64 + *high_ns as f64) / 2.0,
        Distribution::Exponential { mean_ns } | Distribution::Normal { mean_ns, .. } => *mean_ns as f64,
        Distribution::Lognormal { p50_ns, p99_ns } => {
            let sigma = libm::log(*p99_ns as f64 / *p50_ns as f64) / Z_P99;
            *p50_ns as f64 * libm::exp(sigma * sigma / 2.0)
        }
        Distribution::Choice(options) => {
            let weights: f64 = options.iter().map(|(weight, _)| weight).sum();
            options.iter().map(|(weight, of)| weight * mean_ns(of).unwrap_or(0.0)).sum::<f64>() / weights
        }
        Distribution::Trace(values) => values.iter().map(|ns| *ns as f64).sum::<f64>() / values.len() as f64,
    };
    (mean > 0.0).then_some(mean)
}

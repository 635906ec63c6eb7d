//! RabbitMQ: how long a queue is, or how fast it is filled and emptied.
//!
//! Upstream: kedacore/keda pkg/scalers/rabbitmq_scaler.go.

use super::{TriggerValue, milli};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Messages in the queue.
    QueueLength,
    /// Messages published a second.
    MessageRate,
    /// Messages delivered a second.
    DeliverGetRate,
    /// Published by delivered.
    PublishedToDeliveredRatio,
    /// Seconds until the queue is empty, as upstream estimates it.
    ExpectedQueueConsumptionTime,
}

impl Mode {
    /// All of them, in the order of the documentation.
    pub const ALL: [Mode; 5] = [
        Mode::QueueLength,
        Mode::MessageRate,
        Mode::DeliverGetRate,
        Mode::PublishedToDeliveredRatio,
        Mode::ExpectedQueueConsumptionTime,
    ];

    /// As a trigger writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::QueueLength => "QueueLength",
            Mode::MessageRate => "MessageRate",
            Mode::DeliverGetRate => "DeliverGetRate",
            Mode::PublishedToDeliveredRatio => "PublishedToDeliveredRatio",
            Mode::ExpectedQueueConsumptionTime => "ExpectedQueueConsumptionTime",
        }
    }

    /// The mode of this name.
    pub fn find(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// What the broker says of a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Queue {
    /// Messages, ready and unacknowledged.
    pub messages: i64,
    /// Messages published a second.
    pub publish_rate: f64,
    /// Messages delivered or fetched a second.
    pub deliver_get_rate: f64,
}

/// What the trigger says.
pub fn value(mode: Mode, queue: &Queue, activation_value: f64) -> TriggerValue {
    let Queue { messages, publish_rate, deliver_get_rate } = *queue;
    let length = messages as f64;
    let is_above = |measured: f64| measured > activation_value;
    let (measured, is_active) = match mode {
        Mode::QueueLength => (length, is_above(length)),
        Mode::MessageRate => (publish_rate, is_above(publish_rate) || is_above(length)),
        Mode::DeliverGetRate => (deliver_get_rate, is_above(deliver_get_rate)),
        Mode::PublishedToDeliveredRatio => {
            let is_stalled = publish_rate > 0.0 && deliver_get_rate == 0.0;
            let ratio = match (is_stalled, deliver_get_rate > 0.0) {
                (true, _) => activation_value,
                (_, true) => publish_rate / deliver_get_rate,
                _ => 0.0,
            };
            (ratio, is_above(ratio) || is_stalled)
        }
        Mode::ExpectedQueueConsumptionTime => {
            let is_stalled = messages > 0 && deliver_get_rate == 0.0;
            let seconds = match (messages > 0, is_stalled) {
                (false, _) => 0.0,
                (_, true) => activation_value,
                _ => (publish_rate - deliver_get_rate) / deliver_get_rate + length / deliver_get_rate,
            };
            (seconds, is_above(seconds) || is_stalled)
        }
    };
    TriggerValue { metric_milli: milli(measured), is_active }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: Mode, messages: i64, publish_rate: f64, deliver_get_rate: f64) -> (i64, bool) {
        let value = value(mode, &Queue { messages, publish_rate, deliver_get_rate }, 5.0);
        (value.metric_milli, value.is_active)
    }

    #[test]
    fn modes() {
        for (mode, messages, published, delivered, expected) in [
            (Mode::QueueLength, 5, 9.0, 9.0, (5_000, false)),
            (Mode::QueueLength, 6, 0.0, 0.0, (6_000, true)),
            // A long queue is reason enough even when nobody publishes.
            (Mode::MessageRate, 6, 0.0, 0.0, (0, true)),
            (Mode::DeliverGetRate, 6, 9.0, 4.0, (4_000, false)),
            (Mode::PublishedToDeliveredRatio, 0, 12.0, 2.0, (6_000, true)),
            // Nothing is delivered: the activation value, and active.
            (Mode::PublishedToDeliveredRatio, 0, 12.0, 0.0, (5_000, true)),
            (Mode::PublishedToDeliveredRatio, 9, 0.0, 0.0, (0, false)),
            // (12 - 2)/2 + 10/2 = 5 + 5.
            (Mode::ExpectedQueueConsumptionTime, 10, 12.0, 2.0, (10_000, true)),
            (Mode::ExpectedQueueConsumptionTime, 10, 12.0, 0.0, (5_000, true)),
            (Mode::ExpectedQueueConsumptionTime, 0, 12.0, 2.0, (0, false)),
            // (0 - 8)/8 + 1/8 is below zero.
            (Mode::ExpectedQueueConsumptionTime, 1, 0.0, 8.0, (0, false)),
        ] {
            assert_eq!(of(mode, messages, published, delivered), expected, "{mode:?}");
        }
    }

    #[test]
    fn names_are_found() {
        assert_eq!(Mode::find("MessageRate"), Some(Mode::MessageRate));
        assert_eq!(Mode::find("messageRate"), None);
    }
}

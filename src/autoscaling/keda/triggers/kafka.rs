//! Kafka: how far a consumer group lags behind a topic.
//!
//! More consumers than partitions would idle, so the lag that the HPA sees is limited, unless idle ones are allowed.
//! The limit is a whole-number division, so a lag of up to one threshold less one above it passes, and the HPA rounds it
//! up to one consumer more than there are partitions.
//!
//! Upstream: kedacore/keda pkg/scalers/kafka_scaler.go.

use super::TriggerValue;

/// Where a group without a committed offset begins to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OffsetReset {
    /// At the end of the log.
    #[default]
    Latest,
    /// At its beginning.
    Earliest,
}

/// The options of a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// `lagThreshold`: messages a consumer is to have; above zero.
    pub lag_threshold: i64,
    /// `activationLagThreshold`: messages.
    pub activation_lag_threshold: i64,
    /// `offsetResetPolicy`
    pub offset_reset: OffsetReset,
    /// `allowIdleConsumers`: more consumers than partitions.
    pub allow_idle_consumers: bool,
    /// `scaleToZeroOnInvalidOffset`: a partition without a committed offset does not count.
    pub scale_to_zero_on_invalid_offset: bool,
    /// `excludePersistentLag`: a partition whose committed offset stands still does not count.
    pub exclude_persistent_lag: bool,
    /// `limitToPartitionsWithLag`: no more consumers than partitions that lag.
    pub limit_to_partitions_with_lag: bool,
    /// `ensureEvenDistributionOfPartitions`: a number of consumers that divides the number of partitions.
    pub ensure_even_distribution: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            lag_threshold: 10,
            activation_lag_threshold: 0,
            offset_reset: OffsetReset::Latest,
            allow_idle_consumers: false,
            scale_to_zero_on_invalid_offset: false,
            exclude_persistent_lag: false,
            limit_to_partitions_with_lag: false,
            ensure_even_distribution: false,
        }
    }
}

/// Offsets of one partition, in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition {
    /// What the group has committed, if anything.
    pub committed: Option<i64>,
    /// The end of the log.
    pub latest: i64,
    /// What had been committed at the poll before, if there was one.
    pub previous: Option<i64>,
}

impl Settings {
    /// Messages that a partition lags for the metric, and for being active.
    fn lag(&self, partition: &Partition) -> (i64, i64) {
        let Some(committed) = partition.committed else {
            let lag = match self.offset_reset {
                _ if self.scale_to_zero_on_invalid_offset => 0,
                OffsetReset::Latest => 1,
                OffsetReset::Earliest => partition.latest,
            };
            return (lag, lag);
        };
        let lag = partition.latest - committed;
        let is_stuck = self.exclude_persistent_lag && partition.previous == Some(committed);
        (if is_stuck { 0 } else { lag }, lag)
    }

    /// What the trigger says. An empty topic has no lag.
    pub fn value(&self, partitions: &[Partition]) -> TriggerValue {
        let lags: Vec<(i64, i64)> = partitions.iter().map(|partition| self.lag(partition)).collect();
        let total: i64 = lags.iter().map(|(lag, _)| lag).sum();
        let with_persistent: i64 = lags.iter().map(|(_, lag)| lag).sum();
        let lagging = lags.iter().filter(|(lag, _)| *lag > 0).count() as i64;
        TriggerValue {
            metric_milli: self.limited(total, partitions.len() as i64, lagging).saturating_mul(1_000),
            is_active: with_persistent > self.activation_lag_threshold,
        }
    }

    fn limited(&self, total: i64, partitions: i64, lagging: i64) -> i64 {
        if self.allow_idle_consumers && !self.limit_to_partitions_with_lag && !self.ensure_even_distribution {
            return total;
        }
        let mut lag = total;
        if self.ensure_even_distribution {
            let divisors = (1..=partitions).filter(|count| partitions % count == 0);
            let enough = divisors.into_iter().find(|count| count * self.lag_threshold >= lag);
            lag = enough.unwrap_or(partitions) * self.lag_threshold;
        }
        let most = if self.limit_to_partitions_with_lag { lagging } else { partitions };
        if lag / self.lag_threshold > most { most * self.lag_threshold } else { lag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lagging(lags: &[i64]) -> Vec<Partition> {
        lags.iter().map(|lag| Partition { committed: Some(100), latest: 100 + lag, previous: None }).collect()
    }

    #[test]
    fn idle_consumers_are_avoided() {
        let settings = Settings::default();
        // 3 partitions, threshold 10: 39 / 10 = 3 is not above 3, so 39 passes; 40 / 10 = 4 is, so 3 x 10.
        assert_eq!(settings.value(&lagging(&[39, 0, 0])).metric_milli, 39_000);
        assert_eq!(settings.value(&lagging(&[40, 0, 0])).metric_milli, 30_000);
        let idle = Settings { allow_idle_consumers: true, ..settings };
        assert_eq!(idle.value(&lagging(&[40, 0, 0])).metric_milli, 40_000);
        // One partition lags: at most 1 x 10.
        let limited = Settings { limit_to_partitions_with_lag: true, ..settings };
        assert_eq!(limited.value(&lagging(&[40, 0, 0])).metric_milli, 10_000);
        // 6 partitions, lag 35: of 1, 2, 3 and 6 the smallest with x 10 >= 35 is 6.
        let even = Settings { ensure_even_distribution: true, ..settings };
        assert_eq!(even.value(&lagging(&[35, 0, 0, 0, 0, 0])).metric_milli, 60_000);
    }

    #[test]
    fn partitions_without_an_offset() {
        let fresh = [Partition { committed: None, latest: 50, previous: None }];
        for (offset_reset, to_zero, expected) in [
            (OffsetReset::Latest, false, 1),
            (OffsetReset::Latest, true, 0),
            (OffsetReset::Earliest, false, 10),
            (OffsetReset::Earliest, true, 0),
        ] {
            // The whole log, 50, is limited to 1 partition x 10.
            let settings = Settings { offset_reset, scale_to_zero_on_invalid_offset: to_zero, ..Settings::default() };
            assert_eq!(settings.value(&fresh).metric_milli, expected * 1_000);
        }
    }

    #[test]
    fn a_group_that_stands_still_is_active_and_not_scaled() {
        let settings = Settings { exclude_persistent_lag: true, ..Settings::default() };
        let stuck = [Partition { committed: Some(7), latest: 50, previous: Some(7) }];
        assert_eq!(settings.value(&stuck), TriggerValue { metric_milli: 0, is_active: true });
    }
}

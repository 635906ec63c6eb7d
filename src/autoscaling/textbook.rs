//! The two autoscalers of textbooks: a step rule with cooldowns for load, another for a queue.
//!
//! They are no Kubernetes: no tolerance, no window, no readiness, and what they react to is known at once. They are here to
//! be drawn beside the real ones. Time is counted in ticks; the first tick is the start and decides nothing.

/// Replicas for a load, at most some more or less at a time, each direction with a cooldown of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadRule {
    /// Pods at the start.
    pub initial_pods: i64,
    /// Load (requests a second) that a pod is meant to carry.
    pub target_per_pod: f64,
    /// Fewest pods.
    pub min_pods: i64,
    /// Most pods that are added at a time.
    pub step_up: i64,
    /// Ticks between two additions.
    pub up_cooldown_ticks: i64,
    /// Most pods that are taken away at a time.
    pub step_down: i64,
    /// Ticks between two removals.
    pub down_cooldown_ticks: i64,
}

impl Default for LoadRule {
    fn default() -> LoadRule {
        LoadRule {
            initial_pods: 3,
            target_per_pod: 10.0,
            min_pods: 1,
            step_up: 3,
            up_cooldown_ticks: 15,
            step_down: 1,
            down_cooldown_ticks: 30,
        }
    }
}

impl LoadRule {
    /// The pods that a load needs.
    pub fn desired(&self, load: f64) -> i64 {
        (libm::ceil(load / self.target_per_pod) as i64).max(self.min_pods)
    }

    /// The autoscaler before its first tick, as if the last changes were a cooldown ago.
    pub fn start(self) -> LoadScaler {
        LoadScaler {
            rule: self,
            pods: self.initial_pods,
            tick: 0,
            last_up: -self.up_cooldown_ticks,
            last_down: -self.down_cooldown_ticks,
        }
    }
}

/// A [`LoadRule`] in the course of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadScaler {
    rule: LoadRule,
    pods: i64,
    tick: i64,
    last_up: i64,
    last_down: i64,
}

impl LoadScaler {
    /// The pods at the next tick, with the load of that tick.
    pub fn next(&mut self, load: f64) -> i64 {
        let (rule, tick) = (self.rule, self.tick);
        self.tick += 1;
        let desired = rule.desired(load);
        if tick == 0 {
            return self.pods;
        }
        if desired > self.pods && tick - self.last_up >= rule.up_cooldown_ticks {
            (self.pods, self.last_up) = (desired.min(self.pods + rule.step_up), tick);
        } else if desired < self.pods && tick - self.last_down >= rule.down_cooldown_ticks {
            (self.pods, self.last_down) = (desired.max(self.pods - rule.step_down), tick);
        }
        self.pods
    }
}

/// Replicas for a queue: up at once, down in steps when nothing changed for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRule {
    /// Pods at the start.
    pub initial_pods: i64,
    /// Messages that a pod is meant to have waiting.
    pub messages_per_pod: i64,
    /// Fewest pods.
    pub min_pods: i64,
    /// Most pods.
    pub max_pods: i64,
    /// Most pods that are taken away at a time.
    pub step_down: i64,
    /// Ticks without change before some are taken away.
    pub cooldown_ticks: i64,
}

impl Default for QueueRule {
    fn default() -> QueueRule {
        QueueRule { initial_pods: 0, messages_per_pod: 10, min_pods: 0, max_pods: 20, step_down: 3, cooldown_ticks: 15 }
    }
}

impl QueueRule {
    /// The pods that a queue needs.
    pub fn desired(&self, messages: i64) -> i64 {
        // Rounded up; a queue has no fewer than no messages.
        let needed = (messages.max(0) + self.messages_per_pod - 1) / self.messages_per_pod;
        needed.max(self.min_pods).min(self.max_pods)
    }

    /// The autoscaler before its first tick, as if the last change was a cooldown ago.
    pub fn start(self) -> QueueScaler {
        QueueScaler { rule: self, pods: self.initial_pods, tick: 0, last_change: -self.cooldown_ticks }
    }
}

/// A [`QueueRule`] in the course of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueScaler {
    rule: QueueRule,
    pods: i64,
    tick: i64,
    last_change: i64,
}

impl QueueScaler {
    /// The pods at the next tick, with the queue of that tick.
    pub fn next(&mut self, messages: i64) -> i64 {
        let (rule, tick) = (self.rule, self.tick);
        self.tick += 1;
        let desired = rule.desired(messages);
        if tick == 0 {
            return self.pods;
        }
        if desired > self.pods {
            (self.pods, self.last_change) = (desired, tick);
        } else if desired < self.pods && tick - self.last_change >= rule.cooldown_ticks {
            (self.pods, self.last_change) = (desired.max(self.pods - rule.step_down), tick);
        }
        self.pods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_followed_in_steps() {
        let mut scaler = LoadRule::default().start();
        // 3 pods at the start whatever the load; 100 needs 10, but 3 more at a time, every 15 ticks.
        let pods: Vec<i64> = (0..32).map(|_| scaler.next(100.0)).collect();
        assert_eq!((pods[0], pods[1], pods[15], pods[16], pods[31]), (3, 6, 6, 9, 10));
        // Down by one every 30 ticks; the first may be at once.
        let pods: Vec<i64> = (0..31).map(|_| scaler.next(0.0)).collect();
        assert_eq!((pods[0], pods[29], pods[30]), (9, 9, 8));
    }

    #[test]
    fn loads_are_rounded_up_and_one_pod_stays() {
        let rule = LoadRule::default();
        assert_eq!((rule.desired(0.0), rule.desired(10.0), rule.desired(10.1)), (1, 1, 2));
    }

    #[test]
    fn a_queue_is_followed_up_at_once_and_down_late() {
        let mut scaler = QueueRule::default().start();
        assert_eq!((scaler.next(55), scaler.next(55), scaler.next(1000)), (0, 6, 20));
        // Changed at tick 2: ticks 3 to 16 hold, 17 takes three away.
        let pods: Vec<i64> = (0..15).map(|_| scaler.next(0)).collect();
        assert_eq!((pods[13], pods[14]), (20, 17));
        assert_eq!(QueueRule::default().desired(-4), 0);
    }
}

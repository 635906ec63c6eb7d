//! metrics-server: two points a container, and what they say about the pod.
//!
//! - CPU is the difference of two points of the same run of a container, over the time between them.
//! - A container whose age at the newer point lies in [10 s, resolution) has its start, with no CPU used, as first point.
//! - A point with the timestamp of the one before changes nothing: the kubelet has not looked since.
//! - A restart discards what was before. One that started at or after the last point is another run.
//! - A pod has no value until every one of its containers has. Its timestamp is the earliest of its containers', its window
//!   that of this container.
//!
//! Upstream: kubernetes-sigs/metrics-server pkg/storage/{pod,types}.go.

use super::cadvisor::{PodPoints, Point};
use crate::model::{Map, Name, Span, Time, Uid};

/// Resolution that the upstream manifest sets.
pub const RESOLUTION: Span = Span::from_seconds(15);
/// Youngest age at which the start of a container counts as a point.
const FRESH_AGE_MIN: Span = Span::from_seconds(10);
const SECOND_NS: i128 = 1_000_000_000;

/// What is published of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContainerUsage {
    /// In billionths of a core, truncated.
    pub cpu_nano: i64,
    /// In bytes.
    pub memory_bytes: i64,
}

impl ContainerUsage {
    /// In thousandths of a core, rounded up as `Quantity.MilliValue` rounds.
    pub fn cpu_milli(&self) -> i64 {
        self.cpu_nano / 1_000_000 + i64::from(self.cpu_nano % 1_000_000 > 0)
    }
}

/// What is published of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodUsage {
    /// When its oldest value was measured.
    pub timestamp: Time,
    /// Over which time that one's CPU is the mean.
    pub window: Span,
    /// Containers in the kubelet's order.
    pub containers: Vec<(Name, ContainerUsage)>,
}

impl PodUsage {
    /// CPU of all containers, in thousandths of a core, each rounded up.
    pub fn cpu_milli(&self) -> i64 {
        self.containers.iter().map(|(_, usage)| usage.cpu_milli()).sum()
    }

    /// Memory of all containers in bytes.
    pub fn memory_bytes(&self) -> i64 {
        self.containers.iter().map(|(_, usage)| usage.memory_bytes).sum()
    }
}

/// Two points of a container.
#[derive(Clone, Copy, Debug)]
struct Pair {
    last: Point,
    previous: Option<Point>,
}

/// The memory of metrics-server.
#[derive(Clone, Debug)]
pub struct MetricsServer {
    resolution: Span,
    pods: Map<Uid, Vec<(Name, Pair)>>,
}

impl MetricsServer {
    /// One that has scraped nothing yet.
    pub fn new(resolution: Span) -> MetricsServer {
        MetricsServer { resolution, pods: Map::default() }
    }

    /// A scrape of all kubelets has come back with these pods; others are forgotten.
    pub fn store<'a>(&mut self, scraped: impl IntoIterator<Item = (&'a Uid, &'a PodPoints)>) {
        let mut pods = Map::default();
        for (uid, points) in scraped {
            let before = self.pods.get(uid);
            let pair = |(name, point): &(Name, Point)| {
                let known = before.and_then(|pod| pod.iter().find(|(known, _)| known == name)).map(|(_, pair)| *pair);
                (name.clone(), Pair { last: *point, previous: self.previous(point, known) })
            };
            pods.insert(uid.clone(), points.iter().map(pair).collect());
        }
        self.pods = pods;
    }

    /// The older of the two points from which the CPU at `point` is told.
    fn previous(&self, point: &Point, known: Option<Pair>) -> Option<Point> {
        let age = point.at - point.started_at;
        if FRESH_AGE_MIN <= age && age < self.resolution {
            return Some(Point { at: point.started_at, cpu_ns: 0, ..*point });
        }
        let known = known?;
        if point.started_at >= known.last.at {
            return None;
        }
        match point.at > known.last.at {
            true => Some(known.last),
            false => known.previous.filter(|previous| previous.at < point.at),
        }
    }

    /// What is published of a pod; `None` as long as one of its containers has no value.
    pub fn pod(&self, uid: &Uid) -> Option<PodUsage> {
        let pairs = self.pods.get(uid)?;
        let mut containers = Vec::with_capacity(pairs.len());
        let mut oldest: Option<(Time, Span)> = None;
        for (name, Pair { last, previous }) in pairs {
            let previous = (*previous)?;
            let window = last.at - previous.at;
            // A counter that fell belongs to another run after all.
            let used = last.cpu_ns.checked_sub(previous.cpu_ns).filter(|used| *used >= 0)?;
            let cpu_nano = (i128::from(used) * SECOND_NS / i128::from(window.0)) as i64;
            containers.push((name.clone(), ContainerUsage { cpu_nano, memory_bytes: last.memory_bytes }));
            if oldest.is_none_or(|(timestamp, _)| last.at < timestamp) {
                oldest = Some((last.at, window));
            }
        }
        let (timestamp, window) = oldest?;
        Some(PodUsage { timestamp, window, containers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    /// A point at `at_s` of a container that started at `started_s` and used `cpu_s` core-seconds.
    fn point(at_s: i64, started_s: i64, cpu_s: i64) -> Point {
        Point { at: Time(at_s * S), started_at: Time(started_s * S), cpu_ns: cpu_s * S, memory_bytes: at_s }
    }

    fn published(scrapes: &[&[Point]]) -> Vec<Option<(i64, i64, i64, i64)>> {
        let mut server = MetricsServer::new(RESOLUTION);
        let uid = Uid::from("pod");
        let names = ["web", "sidecar"];
        scrapes
            .iter()
            .map(|points| {
                let pod: PodPoints = names.iter().zip(*points).map(|(name, at)| (Name::from(*name), *at)).collect();
                server.store([(&uid, &pod)]);
                let usage = server.pod(&uid)?;
                Some((usage.timestamp.0 / S, usage.window.0 / S, usage.cpu_milli(), usage.memory_bytes()))
            })
            .collect()
    }

    #[test]
    fn cpu_needs_two_points_of_one_run() {
        // 3 core-s in 15 s are 200 m, then 10 in 20 s 500 m; the last scrape sees the same point again.
        let scrapes: [&[Point]; 4] =
            [&[point(100, 0, 50)], &[point(115, 0, 53)], &[point(135, 0, 63)], &[point(135, 0, 63)]];
        let found = published(&scrapes);
        assert_eq!(found, [None, Some((115, 15, 200, 115)), Some((135, 20, 500, 135)), Some((135, 20, 500, 135))]);
    }

    #[test]
    fn a_fresh_container_counts_from_its_start() {
        // Age 12 s: 6 core-s in 12 s. Age 9 s or 15 s: nothing to compare with, until the next point.
        assert_eq!(published(&[&[point(112, 100, 6)]]), [Some((112, 12, 500, 112))]);
        assert_eq!(published(&[&[point(110, 100, 5)]]), [Some((110, 10, 500, 110))]);
        assert_eq!(published(&[&[point(109, 100, 5)], &[point(124, 100, 8)]]), [None, Some((124, 15, 200, 124))]);
        assert_eq!(published(&[&[point(115, 100, 5)]]), [None]);
    }

    #[test]
    fn a_restart_costs_a_resolution() {
        // The run that began at 116 is another one than that seen at 115; its age at 135 is 19 s, so nothing until 150.
        let scrapes: [&[Point]; 4] =
            [&[point(100, 0, 50)], &[point(115, 0, 53)], &[point(135, 116, 1)], &[point(150, 116, 4)]];
        assert_eq!(published(&scrapes), [None, Some((115, 15, 200, 115)), None, Some((150, 15, 200, 150))]);
    }

    #[test]
    fn a_pod_waits_for_all_its_containers_and_is_as_old_as_the_oldest() {
        // web: 200 m at 115; the sidecar started late and has its value at the second scrape only: 100 m at 114 over 14 s
        // (1.4 s are 1400 ms: 100 m).
        let late = Point { cpu_ns: 1_400_000_000, ..point(114, 95, 0) };
        let scrapes: [&[Point]; 2] = [&[point(100, 0, 50), point(100, 95, 0)], &[point(115, 0, 53), late]];
        assert_eq!(published(&scrapes), [None, Some((114, 14, 300, 229))]);
    }

    #[test]
    fn who_is_not_scraped_is_forgotten() {
        let mut server = MetricsServer::new(RESOLUTION);
        let uid = Uid::from("pod");
        let pod: PodPoints = vec![(Name::from("web"), point(112, 100, 6))];
        server.store([(&uid, &pod)]);
        assert!(server.pod(&uid).is_some());
        server.store([]);
        assert_eq!(server.pod(&uid), None);
    }

    #[test]
    fn thousandths_are_rounded_up() {
        let milli = |cpu_nano| ContainerUsage { cpu_nano, memory_bytes: 0 }.cpu_milli();
        assert_eq!([0, 1, 1_000_000, 1_000_001].map(milli), [0, 1, 1, 2]);
    }
}

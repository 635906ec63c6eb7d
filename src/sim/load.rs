//! Loads in the loop: requests go to ready pods, and containers use CPU and memory.
//!
//! A look comes every second and where a rate jumps. It first counts what happened since the last one, with the pods that
//! were ready then, and then sees which containers run and which pods are ready. So a pod gets requests at most a second
//! after it became ready, and loses them at most a second after it ceased to be; requests to one that has died fail.
//! Looks are upkeep, make no records and change nothing but the plant.
//!
//! DIVERGES: a ready pod is known without an EndpointSlice and its way to the nodes.

use crate::component::{Draws, Sensors, UsageReading};
use crate::engine::calendar::Nature;
use crate::model::name::hash_text;
use crate::model::{Key, Kind, Map, Object, Pod, Span, Time, Uid};
use crate::plant::requests::{Crowd, Histogram, PodNumber, Source, crowd};
use crate::plant::usage::{Demand, Limits, Outcome};
use crate::workload::Luck;
use crate::workload::arrivals::ArrivalStream;
use crate::workload::rate::Rate;

use super::event::Event;
use super::load_plan::{DemandPlan, LoadPlan, Named};
use super::plan::Plan;
use super::world::World;

/// Time between two looks at most.
const LOOK_EVERY: Span = Span::from_seconds(1);
/// Requests that a container without limits works on at once.
const SLOTS_UNLIMITED: u32 = 10_000;

/// What became of a load's requests so far.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct LoadCounts {
    /// Requests that came.
    pub arrived: f64,
    /// Requests that were served.
    pub served: f64,
    /// Requests that failed.
    pub failed: f64,
}

/// A load at run time.
#[derive(Clone)]
struct Run {
    /// For its draws.
    entity: u64,
    counts: LoadCounts,
    /// Pods that were ready at the last look.
    ready: Vec<Uid>,
    single: Option<Box<Single>>,
}

/// A load whose requests are simulated one by one.
#[derive(Clone)]
struct Single {
    crowd: Crowd,
    stream: ArrivalStream,
    pods: Map<Uid, Server>,
}

/// A pod as a server of single requests.
#[derive(Clone, Copy)]
struct Server {
    number: PodNumber,
    /// Slot time that was counted as CPU so far.
    busy_ns: i64,
    /// CPU time for a slot time.
    share: f64,
}

/// All loads of a world.
#[derive(Clone, Default)]
pub struct LoadState {
    runs: Vec<Run>,
    looked_at: Time,
}

/// A stream of arrivals as the crowd asks for it, in ns since the start.
struct Arriving<'a> {
    stream: &'a mut ArrivalStream,
    rate: &'a Rate,
    load: u64,
}

impl Source for Arriving<'_> {
    fn next(&mut self, draws: &mut dyn Draws) -> Option<i64> {
        self.stream.next(self.rate, i64::MAX, &mut Luck { draws, load: self.load })
    }
}

impl LoadState {
    /// The loads of a plan before they begin.
    pub fn new(plan: &Plan) -> LoadState {
        let run = |load: &LoadPlan| {
            let entity = hash_text(&load.name);
            let single = load.arrivals.clone().map(|arrivals| {
                let demand = plan.load.demands.iter().find(|demand| demand.of == load.to);
                let cpu_ns = demand.map_or(0, |demand| demand.cpu.per_request_ns);
                let takes = demand.and_then(|demand| demand.takes.clone());
                let settings = crowd::Settings {
                    routing: load.routing,
                    timeout_ns: load.timeout.map(|span| span.0),
                    retries: load.retries,
                    takes: takes.unwrap_or(crate::model::Distribution::Constant(cpu_ns)),
                    entity,
                };
                let stream = ArrivalStream::new(arrivals, 0);
                Box::new(Single { crowd: Crowd::new(settings), stream, pods: Map::default() })
            });
            Run { entity, counts: LoadCounts::default(), ready: Vec::new(), single }
        };
        LoadState { runs: plan.load.loads.iter().map(run).collect(), looked_at: plan.start_at }
    }
}

impl World {
    /// The first look, if there is anything to look at.
    pub(super) fn load_begins(&mut self) {
        if !self.plan.load.loads.is_empty() || !self.plan.load.demands.is_empty() {
            self.load_sees();
            self.schedule_look();
        }
    }

    fn schedule_look(&mut self) {
        let now = self.calendar.now();
        let elapsed = (now - self.plan.start_at).0;
        let jumps = self.plan.load.loads.iter().filter_map(|load| load.rate.next_change(elapsed));
        let next = jumps.min().map_or(now + LOOK_EVERY, |at| (self.plan.start_at + Span(at)).min(now + LOOK_EVERY));
        self.calendar.schedule(next, Nature::Upkeep, Event::LoadLook);
    }

    /// Counts until now, then sees what is there.
    pub(super) fn load_look(&mut self) {
        self.load_counts_until_now();
        self.load_sees();
        self.schedule_look();
    }

    fn load_counts_until_now(&mut self) {
        let now = self.calendar.now();
        let plan = self.plan.clone();
        let mut state = std::mem::take(&mut self.loads);
        let (from_ns, to_ns) = ((state.looked_at - plan.start_at).0, (now - plan.start_at).0);
        // Loads of one pod are counted together: what waits, waits for the same CPU.
        let mut arriving: Map<Uid, Vec<(usize, f64)>> = Map::default();
        for (index, (run, load)) in state.runs.iter_mut().zip(&plan.load.loads).enumerate() {
            if let Some(single) = &mut run.single {
                let Single { crowd, stream, pods } = &mut **single;
                let mut source = Arriving { stream, rate: &load.rate, load: run.entity };
                crowd.run_until(to_ns, &mut source, &mut self.draws);
                for (uid, server) in pods.iter_mut() {
                    let busy_ns = crowd.busy_ns(server.number);
                    let cpu_ns = (busy_ns - server.busy_ns) as f64 * server.share;
                    server.busy_ns = busy_ns;
                    let (waiting, working) = crowd.open(server.number);
                    self.plant.usage.count(uid, now, cpu_ns, f64::from(waiting + working));
                }
                let counts = crowd.counts();
                run.counts = LoadCounts {
                    arrived: counts.arrived as f64,
                    served: counts.served as f64,
                    failed: counts.failed as f64,
                };
                continue;
            }
            let area = load.rate.integral(from_ns, to_ns, &mut Luck { draws: &mut self.draws, load: run.entity });
            run.counts.arrived += area;
            if run.ready.is_empty() {
                run.counts.failed += area;
            }
            let share = area / run.ready.len() as f64;
            run.ready.iter().for_each(|uid| arriving.entry(uid.clone()).or_default().push((index, share)));
        }
        for (uid, shares) in arriving {
            let patience = shares.iter().filter_map(|(index, _)| plan.load.loads[*index].timeout).min();
            let total: f64 = shares.iter().map(|(_, share)| share).sum();
            let outcome = self.plant.usage.advance(&uid, now, total, patience);
            for (place, (index, share)) in shares.iter().enumerate() {
                // What waited before is the first load's.
                let part = if total > 0.0 { share / total } else { f64::from(u8::from(place == 0)) };
                state.runs[*index].counts.add(&outcome, part);
            }
        }
        let others: Vec<Uid> = self.plant.usage.pods().cloned().collect();
        others.iter().for_each(|uid| drop_outcome(self.plant.usage.advance(uid, now, 0.0, None)));
        state.looked_at = now;
        self.loads = state;
    }

    /// Which containers run, and which pods are ready.
    fn load_sees(&mut self) {
        let plan = self.plan.clone();
        let mut state = std::mem::take(&mut self.loads);
        let pods: Vec<Object> = self.api.truth().iter(Kind::Pod).cloned().collect();
        let mut seen: Vec<(Uid, u32)> = Vec::new();
        let mut targets: Vec<Vec<(&Pod, Limits)>> = plan.load.loads.iter().map(|_| Vec::new()).collect();
        for pod in pods.iter().filter_map(Object::as_pod).filter(|pod| !pod.node_name.is_empty()) {
            let key = Key { kind: Kind::Pod, namespace: pod.meta.namespace.clone(), name: pod.meta.name.clone() };
            let demand = plan.load.demands.iter().find(|demand| self.is_of(&demand.of, &key));
            let served = plan.load.loads.iter().map(|load| self.is_served_by(&load.to, pod, &key));
            let served: Vec<bool> = served.collect();
            if demand.is_none() && !served.contains(&true) {
                continue;
            }
            let limits = self.meters(pod, demand, &mut seen);
            for (index, _) in served.iter().enumerate().filter(|(_, is_served)| **is_served) {
                targets[index].push((pod, limits));
            }
        }
        let gone = self.forget_meters(&seen);
        for (index, (run, pods)) in state.runs.iter_mut().zip(&targets).enumerate() {
            run.counts.failed +=
                gone.iter().filter(|(uid, _)| run.ready.contains(uid)).map(|(_, lost)| lost).sum::<f64>();
            let is_running = |pod: &Pod| seen.iter().any(|(uid, _)| *uid == pod.meta.uid);
            let is_ready = |pod: &Pod| pod.is_ready() && pod.meta.deletion.is_none() && is_running(pod);
            let ready = pods.iter().filter(|(pod, _)| is_ready(pod));
            run.ready = ready.map(|(pod, _)| pod.meta.uid.clone()).collect();
            if let Some(single) = &mut run.single {
                let demand = plan.load.demands.iter().find(|demand| demand.of == plan.load.loads[index].to);
                let running: Vec<_> = pods.iter().filter(|(pod, _)| is_running(pod)).copied().collect();
                single.see(&running, &run.ready, demand, &mut self.draws);
            }
        }
        self.loads = state;
    }

    /// Starts the counters of a pod's containers that have started; gives what the pod's main containers may use together.
    fn meters(&mut self, pod: &Pod, demand: Option<&DemandPlan>, seen: &mut Vec<(Uid, u32)>) -> Limits {
        let first = pod.spec.init_containers.len();
        let mut cpu_milli = Some(0);
        for (index, container) in pod.spec.containers.iter().enumerate() {
            let number = (first + index) as u32;
            let limits = Limits { cpu_milli: container.limits.cpu_milli, memory_bytes: container.limits.memory_bytes };
            cpu_milli = cpu_milli.zip(limits.cpu_milli).map(|(sum, own)| sum + own);
            let Some(since) = self.plant.running_since(&pod.meta.uid, number) else { continue };
            seen.push((pod.meta.uid.clone(), number));
            let known: Option<UsageReading> = self.plant.usage(&pod.meta.uid, number);
            if known.is_none_or(|reading| reading.started_at != since) {
                let demand = demand.map_or_else(Demand::default, DemandPlan::demand);
                self.plant.usage.start(&pod.meta.uid, number, demand, limits, since);
            }
        }
        Limits { cpu_milli, memory_bytes: None }
    }

    /// Containers that do not run any more use nothing; gives how many requests were lost in which pods.
    fn forget_meters(&mut self, seen: &[(Uid, u32)]) -> Vec<(Uid, f64)> {
        let pods: Vec<Uid> = self.plant.usage.pods().cloned().collect();
        let mut lost = Vec::new();
        for uid in pods {
            for container in 0..self.plant.usage.containers(&uid) {
                if self.plant.usage.read(&uid, container).is_some() && !seen.contains(&(uid.clone(), container)) {
                    lost.push((uid.clone(), self.plant.usage.stop(&uid, container)));
                }
            }
        }
        lost
    }

    fn is_served_by(&self, target: &Named, pod: &Pod, key: &Key) -> bool {
        let (kind, namespace, name) = target;
        if *kind != Kind::Service {
            return self.is_of(target, key);
        }
        let service = Key { kind: Kind::Service, namespace: namespace.as_str().into(), name: name.as_str().into() };
        let selector = self.api.truth().get(&service).and_then(Object::as_service).map(|service| &service.selector);
        let is_near = pod.meta.namespace == namespace.as_str();
        is_near && selector.is_some_and(|labels| !labels.is_empty() && labels.is_subset_of(&pod.meta.labels))
    }

    /// The loads by name with what became of their requests, and the latencies of those whose requests are single.
    pub fn load_results(&self) -> impl Iterator<Item = (&str, LoadCounts, Option<&Histogram>)> {
        self.plan.load.loads.iter().zip(&self.loads.runs).map(|(load, run)| {
            let latencies = run.single.as_ref().map(|single| single.crowd.latencies());
            (load.name.as_str(), run.counts, latencies)
        })
    }

    /// The counters of a container as of the last look, for probes.
    pub fn container_usage(&self, uid: &Uid, container: u32) -> Option<UsageReading> {
        self.plant.usage.read(uid, container)
    }
}

/// Pods that no load goes to have no requests whose outcome would count.
fn drop_outcome(_: Outcome) {}

impl LoadCounts {
    fn add(&mut self, outcome: &Outcome, part: f64) {
        self.served += outcome.served * part;
        self.failed += outcome.failed * part;
    }
}

impl Single {
    /// Pods come and go, become ready and cease to be.
    fn see(&mut self, running: &[(&Pod, Limits)], ready: &[Uid], demand: Option<&DemandPlan>, draws: &mut dyn Draws) {
        let gone: Vec<Uid> =
            self.pods.keys().filter(|uid| !running.iter().any(|(pod, _)| pod.meta.uid == **uid)).cloned().collect();
        for uid in gone {
            if let Some(server) = self.pods.shift_remove(&uid) {
                self.crowd.remove_pod(server.number, draws);
            }
        }
        for (pod, limits) in running {
            let crowd = &mut self.crowd;
            let server = *self.pods.entry(pod.meta.uid.clone()).or_insert_with(|| server(crowd, limits, demand));
            crowd.set_ready(server.number, ready.contains(&pod.meta.uid));
        }
    }
}

/// A new server: as many slots as its concurrency says, else as its CPU limit has cores, whose last may be a part of one.
fn server(crowd: &mut Crowd, limits: &Limits, demand: Option<&DemandPlan>) -> Server {
    let queue = demand.and_then(|demand| demand.queue);
    let cpu_ns = demand.map_or(0, |demand| demand.cpu.per_request_ns);
    let given = demand.and_then(|demand| demand.takes.as_ref());
    let cores = limits.cpu_milli.filter(|milli| *milli > 0 && cpu_ns > 0);
    let by_cpu = cores.map_or(SLOTS_UNLIMITED, |milli| ((milli + 999) / 1_000) as u32);
    let slots = demand.and_then(|demand| demand.concurrency).unwrap_or(by_cpu);
    // With a limit below its slots' cores, each slot has a part of a core while it computes.
    let stretch = match cores {
        Some(milli) if given.is_none() => (f64::from(slots) * 1_000.0 / milli as f64).max(1.0),
        _ => 1.0,
    };
    let share = match given {
        None if cpu_ns > 0 => 1.0 / stretch,
        Some(takes) => super::load_plan::mean_ns(takes).map_or(0.0, |mean| (cpu_ns as f64 / mean).min(1.0)),
        None => 0.0,
    };
    Server { number: crowd.add_slow_pod(slots, queue, stretch), busy_ns: 0, share }
}

//! Replicas of a process: how many, how they elect one of them, and the clocks of their hosts.

use super::defaults;
use super::diagnostic::Code;
use super::entry::{Entry, Fields};
use super::settings;
use crate::model::Span;
use crate::sim::plan::{CacheStart, ClockPlan, ElectionPlan, ElectionSettings, ProcessPlan};

/// What a scenario says about the replicas of a process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replicas {
    /// `replicas`.
    pub count: Option<u32>,
    /// `leaderElection`.
    pub election: Option<GivenElection>,
    /// `clocks`, one a replica.
    pub clocks: Vec<ClockPlan>,
}

/// `leaderElection`; what is not given is the component's own.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GivenElection {
    /// Whether they elect one of them.
    pub leader_elect: Option<bool>,
    /// How long others leave a holder alone.
    pub lease_duration: Option<Span>,
    /// How long a leader tries to renew.
    pub renew_deadline: Option<Span>,
    /// Time between two attempts.
    pub retry_period: Option<Span>,
    /// Name of the Lease.
    pub resource_name: Option<String>,
    /// Namespace of the Lease.
    pub resource_namespace: Option<String>,
    /// Whether a leader that is asked to end gives the lease back.
    pub release_on_cancel: Option<bool>,
    /// When the informers start.
    pub caches: Option<CacheStart>,
    /// How long it goes on acting after its leadership.
    pub stop_hook: Option<Span>,
    /// From its end to its next start.
    pub restart_after: Option<Span>,
}

/// Reads `replicas`, `leaderElection` and `clocks` of a component.
pub fn read(fields: &mut Fields<'_>) -> Replicas {
    let given_count = fields.get("replicas").map(|entry| entry.whole(1..=MOST_REPLICAS));
    let count = given_count.flatten().map(|count| count as u32);
    let election = fields.get("leaderElection").and_then(|entry| read_election(&entry));
    let clocks_entry = fields.get("clocks");
    let items = clocks_entry.as_ref().map(Entry::items).unwrap_or_default();
    let clocks: Vec<ClockPlan> = items.iter().filter_map(clock).collect();
    let wanted = count.unwrap_or(1) as usize;
    // A number of replicas that cannot be read is a mistake of its own.
    if let Some(entry) = clocks_entry.filter(|_| items.len() > wanted && given_count != Some(None)) {
        let replicas = if wanted == 1 { "replica" } else { "replicas" };
        let message = format!("{} clocks for {wanted} {replicas}", items.len());
        entry.problem(Code::Contradiction, message, Some("give one for each replica, in order, or fewer".into()));
    }
    Replicas { count, election, clocks }
}

/// More replicas than anybody runs.
const MOST_REPLICAS: i64 = 100;

fn read_election(entry: &Entry<'_>) -> Option<GivenElection> {
    let mut fields = entry.fields()?;
    let mut span = |name: &'static str| fields.get(name).and_then(|entry| entry.duration());
    let mut given = GivenElection {
        lease_duration: span("leaseDuration"),
        renew_deadline: span("renewDeadline"),
        retry_period: span("retryPeriod"),
        stop_hook: span("stopHook"),
        restart_after: span("restartAfter"),
        ..GivenElection::default()
    };
    let mut truth = |name: &'static str| fields.get(name).and_then(|entry| entry.truth());
    given.leader_elect = truth("leaderElect");
    given.release_on_cancel = truth("releaseOnCancel");
    let mut name = |name: &'static str| fields.get(name).and_then(|entry| super::file::name(&entry));
    given.resource_name = name("resourceName");
    given.resource_namespace = name("resourceNamespace");
    let words = [("cold", CacheStart::OnElection), ("warm", CacheStart::AtOnce)];
    given.caches = fields.get("caches").and_then(|entry| entry.word(&words));
    if let Err(error) = given.settings(false).check()
        && given.leader_elect != Some(false)
    {
        let place = [error.field(), "leaseDuration", "renewDeadline", "retryPeriod"];
        let place = place.into_iter().find_map(|name| fields.get(name)).unwrap_or_else(|| entry.clone());
        let settings = given.settings(false);
        let times = (settings.lease_duration, settings.renew_deadline, settings.retry_period);
        let help = format!("leaseDuration, renewDeadline and retryPeriod are {}, {} and {}", times.0, times.1, times.2);
        place.problem(Code::Contradiction, error.to_string(), Some(help));
    }
    fields.finish();
    Some(given)
}

/// Reads the clock of a host.
fn clock(entry: &Entry<'_>) -> Option<ClockPlan> {
    let mut fields = entry.fields()?;
    // All are read, so that all mistakes are found.
    let default = ClockPlan::default();
    let offset = fields.get("offset").map_or(Some(default.offset), |entry| entry.signed_duration());
    let rate = fields.get("rate").map_or(Some(default.rate), |entry| read_rate(&entry));
    let monotonic = fields.get("monotonic").map_or(Some(default.monotonic), |entry| entry.truth());
    fields.finish();
    Some(ClockPlan { offset: offset?, rate: rate?, monotonic: monotonic? })
}

/// Reads how fast a clock runs.
pub fn read_rate(entry: &Entry<'_>) -> Option<f64> {
    let rate = entry.number()?;
    if (0.001..=1000.0).contains(&rate) {
        return Some(rate);
    }
    let help = "1 is the true rate, 1.1 gains 6 s a minute";
    entry.problem(Code::BadValue, format!("must be a rate between 0.001 and 1000, not {rate}"), Some(help.into()));
    None
}

impl GivenElection {
    fn settings(&self, releases: bool) -> ElectionSettings {
        let default = ElectionSettings::DEFAULT;
        ElectionSettings {
            lease_duration: self.lease_duration.unwrap_or(default.lease_duration),
            renew_deadline: self.renew_deadline.unwrap_or(default.renew_deadline),
            retry_period: self.retry_period.unwrap_or(default.retry_period),
            release_on_cancel: self.release_on_cancel.unwrap_or(releases),
        }
    }
}

impl Replicas {
    /// The same, with what flags or a configuration file say of the election where the scenario says nothing.
    ///
    /// # Errors
    /// Their times do not fit together with the scenario's.
    pub fn with(&self, said: &settings::GivenElection) -> Result<Replicas, String> {
        if *said == settings::GivenElection::default() {
            return Ok(self.clone());
        }
        let span =
            |own: Option<Span>, said: &Option<settings::Said<Span>>| own.or(said.as_ref().map(|said| said.value));
        let own = self.election.clone().unwrap_or_default();
        let election = GivenElection {
            leader_elect: own.leader_elect.or(said.leader_elect),
            lease_duration: span(own.lease_duration, &said.lease_duration),
            renew_deadline: span(own.renew_deadline, &said.renew_deadline),
            retry_period: span(own.retry_period, &said.retry_period),
            resource_name: own.resource_name.or_else(|| said.resource_name.clone()),
            resource_namespace: own.resource_namespace.or_else(|| said.resource_namespace.clone()),
            ..own
        };
        if election.leader_elect != Some(false)
            && let Err(error) = election.settings(false).check()
        {
            return Err(error.to_string());
        }
        Ok(Replicas { election: Some(election), ..self.clone() })
    }

    /// A process a replica. Replicas elect one of them unless told otherwise; one alone does not unless its election is
    /// mentioned. `own` is what the component does: whether it gives its lease back, and when its informers start.
    ///
    /// DIVERGES: the real kube-controller-manager and kube-scheduler elect with one replica too, which costs a few
    /// requests at the start and one each 2 s.
    pub fn processes(&self, process: ProcessPlan, own: (bool, CacheStart)) -> Vec<ProcessPlan> {
        let count = self.count.unwrap_or(1);
        let given = self.election.clone().unwrap_or_default();
        let elects = given.leader_elect.unwrap_or(count > 1 || self.election.is_some());
        let election = elects.then(|| ElectionPlan {
            settings: given.settings(own.0),
            namespace: given.resource_namespace.clone().unwrap_or_else(|| "kube-system".to_string()),
            name: given.resource_name.clone().unwrap_or_else(|| process.name.clone()),
            caches: given.caches.unwrap_or(own.1),
            stop_hook: given.stop_hook.unwrap_or(Span::ZERO),
            restart_after: given.restart_after.unwrap_or(defaults::EXIT_RESTART_AFTER),
        });
        let replica = |replica: u32| ProcessPlan {
            replica,
            election: election.clone(),
            clock: self.clocks.get(replica as usize).copied().unwrap_or_default(),
            ..process.clone()
        };
        (0..count).map(replica).collect()
    }
}

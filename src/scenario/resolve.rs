//! A typed scenario and its manifests to a Plan: defaults filled in, references checked.
//!
//! Parts of the plan that take more than a few lines have files of their own: `initial` (what is in etcd at the start),
//! `timeline` (what people do), `control_plane` and `operator_plans` (the processes).

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::defaults;
use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::faults::FaultEntry;
use super::file::{ContainerEntry, ScenarioFile};
use super::flags::FlagTable;
use super::load::Input;
use super::manifests::Manifest;
use super::references::ObjectRef;
use super::resolved::AppliedFiles;
use super::yaml::{Document, Part};
use crate::model::{Kind, Span};
use crate::rules::{suggest, timestamp};
use crate::sim::plan::{ContainerRule, ContainerTimes, End, Expectation, FaultPlan, Plan, TimelineEntry, When};

/// One world of a scenario: the base or a variant, with its values set.
pub(super) struct World<'a> {
    /// What all worlds share.
    pub input: &'a Input,
    /// The Scenario document of this world.
    pub scenario: &'a Document,
    /// The same, typed.
    pub file: ScenarioFile,
    /// The manifests of this world, without static Pods of components.
    pub manifests: Vec<Manifest>,
    /// Static Pods of components.
    pub static_pods: Vec<Manifest>,
    /// Configuration files of components.
    pub configs: Vec<Document>,
    /// Where problems go.
    pub problems: &'a RefCell<Diagnostics>,
    /// What the files that commands name hold.
    pub applied: &'a RefCell<AppliedFiles>,
}

impl World<'_> {
    /// The plan; it is only good for a run when no errors were collected.
    pub fn plan(self, variant: &str) -> Plan {
        let file = &self.file;
        let mut notices = self.input.manifests.notices.clone();
        let (end, last) = self.end(&mut notices);
        let start_at = file.start_at.unwrap_or_else(|| timestamp::parse(defaults::START_AT).unwrap_or_default());
        let settings = self.settings(&mut notices);
        let gates = self.gates(&settings);
        let commands = self.commands(start_at);
        let applied = self.applied_objects(&commands);
        let (objects, mut known) = self.objects(&applied, &mut notices);
        known.extend(applied.iter().map(|(object, _)| object.clone()));
        self.check_targets(&commands, &known);
        self.check_images(&commands, &applied);
        notices.extend(self.unmodelled(&applied, &settings.scheduler.profiles));
        let mut timeline: Vec<TimelineEntry> = commands.into_iter().map(|(_, entry)| entry).collect();
        timeline.sort_by_key(|entry| entry.at);
        for item in &file.timeline {
            self.check_time(&item.path, "at", item.at, last);
        }
        let polling = self.polling_processes();
        let process_latency = polling.iter().map(|(plan, latency)| (plan.name.clone(), latency.clone())).collect();
        let built_in = self.processes(&settings, &gates).into_iter().chain(polling.into_iter().map(|(plan, _)| plan));
        let processes = built_in.chain(self.operator_processes(&known)).collect();
        Plan {
            name: file.name.clone().unwrap_or_else(|| self.input.default_name.clone()),
            variant: variant.to_string(),
            seed: self.input.overrides.seed.or(file.seed).unwrap_or(defaults::SEED),
            replication: file.replication.unwrap_or(0),
            version: file.version.unwrap_or(defaults::VERSION),
            start_at,
            end,
            event_budget: file.event_budget.unwrap_or(defaults::EVENT_BUDGET),
            kinds: self.input.known.kinds.clone(),
            objects,
            latency: file.control_plane.api_server.latency(),
            process_latency,
            api_server: file
                .control_plane
                .api_server
                .settings(&settings.api_server, self.replica_count(FlagTable::ApiServer)),
            processes,
            containers: self.containers(&known),
            load: self.load_plans(&known),
            timeline,
            faults: self.faults(last, &mut notices),
            expectations: self.expectations(last, &known),
            gates,
            model: file.model.options,
            admission_limit: None,
            transport: None,
            names_by_counter: false,
            notices,
        }
    }

    pub(super) fn problem(&self, code: Code, path: &str, message: String) -> Diagnostic {
        self.scenario.problem(code, path, Part::Value, message)
    }

    pub(super) fn add(&self, problem: Diagnostic) {
        self.problems.borrow_mut().push(problem);
    }

    /// The end of the run, and the last instant that the scenario itself allows (`--until` makes nothing wrong).
    fn end(&self, notices: &mut Vec<String>) -> (End, Span) {
        let until = self.input.overrides.until.or(self.file.until);
        let Some(duration) = self.file.duration else {
            let limit = until.unwrap_or(defaults::QUIET_LIMIT);
            if !self.file.loads.is_empty() {
                // Load goes on for ever: such a run is never quiet.
                return (End::After(limit), limit.max(defaults::QUIET_LIMIT));
            }
            return (End::Quiet { limit }, limit.max(defaults::QUIET_LIMIT));
        };
        match until {
            Some(until) if until > duration => {
                notices.push(format!("--until {until} lies after the end of the scenario ({duration}), which counts"));
                (End::After(duration), duration)
            }
            Some(until) => (End::After(until), duration),
            None => (End::After(duration), duration),
        }
    }

    fn check_time(&self, path: &str, field: &str, time: Span, last: Span) {
        if time <= last {
            return;
        }
        let why = match self.file.duration {
            Some(duration) => format!("the run ends at {duration}"),
            None => format!("a run without `spec.duration` ends at {last} at the latest"),
        };
        let problem =
            self.problem(Code::NeverHappens, &format!("{path}.{field}"), format!("{time} is after the end: {why}"));
        self.add(problem.help("lengthen `spec.duration`, or take an earlier time"));
    }

    fn containers(&self, known: &BTreeSet<ObjectRef>) -> ContainerTimes {
        let rule = |entry: &ContainerEntry| {
            self.check_object(&entry.path, &entry.of, known);
            ContainerRule {
                of: (entry.of.kind, entry.of.namespace.clone(), entry.of.name.clone()),
                pull: entry.pull.clone(),
                start: entry.start.clone(),
                ready: entry.ready.clone(),
                stop: entry.stop.clone(),
            }
        };
        ContainerTimes { rules: self.file.containers.iter().map(rule).collect(), ..defaults::containers() }
    }

    pub(super) fn check_object(&self, path: &str, object: &ObjectRef, known: &BTreeSet<ObjectRef>) {
        if known.contains(object) {
            return;
        }
        let texts: Vec<String> =
            known.iter().filter(|other| other.kind == object.kind).map(ObjectRef::to_string).collect();
        let help = suggest::help(&object.to_string(), texts.iter().map(String::as_str));
        self.add(self.problem(Code::UnknownObject, path, format!("no file describes {object}")).maybe_help(help));
    }

    /// A replica that a fault names must run.
    fn check_replica(&self, entry: &FaultEntry) {
        let Some(process) = entry.plan.action.process() else { return };
        let table = FlagTable::ALL.into_iter().find(|table| table.component() == process.process);
        let count = table.map_or(1, |table| self.replica_count(table));
        if let Some(replica) = process.replica.filter(|replica| *replica >= count) {
            let name = &process.process;
            let message = match count {
                1 => format!("`{name}` runs once: there is no replica #{replica}"),
                _ => format!("`{name}` has {count} replicas: there is no #{replica}"),
            };
            self.add(self.problem(Code::UnknownProcess, &entry.path, message).help("replicas are numbered from 0"));
        }
    }

    fn faults(&self, last: Span, notices: &mut Vec<String>) -> Vec<FaultPlan> {
        let mut faults: Vec<FaultPlan> = Vec::new();
        for entry in &self.file.faults {
            self.check_replica(entry);
            self.check_time(&entry.path, "at", entry.plan.at, last);
            notices.extend(entry.notices.iter().cloned());
            faults.push(entry.plan.clone());
        }
        faults
    }

    fn expectations(&self, last: Span, known: &BTreeSet<ObjectRef>) -> Vec<Expectation> {
        let mut expectations = Vec::new();
        for entry in &self.file.expect {
            if let Some(bound) = entry.when.last_bound() {
                let field = match entry.when {
                    When::At(_) => "at",
                    When::Until(_) => "until",
                    _ => "within",
                };
                self.check_time(&entry.path, field, bound, last);
            }
            for (path, name) in entry.only_in.iter().filter(|(_, name)| !self.input.variants.contains(name)) {
                let help = match self.input.variants.is_empty() {
                    true => Some("the scenario has no `spec.variants`".to_string()),
                    false => suggest::help(name, self.input.variants.iter().map(String::as_str)),
                };
                self.add(
                    self.problem(Code::UnknownObject, path, format!("no variant is named `{name}`")).maybe_help(help),
                );
            }
            for key in entry.objects.iter().filter(|key| is_made_by_users(key.kind)) {
                let (namespace, name) = (key.namespace.as_str().to_string(), key.name.as_str().to_string());
                self.check_object(&entry.path_of_condition, &ObjectRef { kind: key.kind, namespace, name }, known);
            }
            let only_in = entry.only_in.iter().map(|(_, name)| name.clone()).collect();
            expectations.push(Expectation { when: entry.when, that: entry.that.clone(), only_in });
        }
        expectations
    }
}

/// Kinds of which no controller makes objects: one that no file describes never comes to be.
pub(super) fn is_made_by_users(kind: Kind) -> bool {
    matches!(kind, Kind::Deployment | Kind::Node | Kind::Namespace)
}

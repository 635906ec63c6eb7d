//! What was read of load to a plan: files are read, references checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::diagnostic::{Code, Diagnostic, Mark, Severity, Source};
use super::files::{self, NotFound};
use super::input;
use super::loads::{ArrivalsDraft, LoadEntry, QueueEntry};
use super::rates::{Draft, SeriesFile};
use super::references::ObjectRef;
use super::resolve::World;
use super::yaml::Part;
use crate::sim::load_plan::{ConsumePlan, DemandPlan, LoadPlan, LoadPlans, MessageQueuePlan, Named};
use crate::workload::arrivals::Arrivals;
use crate::workload::files as load_files;
use crate::workload::rate::Rate;
use crate::workload::table::FileProblem;

fn named(object: &ObjectRef) -> Named {
    (object.kind, object.namespace.clone(), object.name.clone())
}

/// A problem of a load file as a diagnostic at its place.
pub(super) fn diagnostic(problem: FileProblem, source: &Arc<Source>) -> Diagnostic {
    let mark = Mark { line: problem.line, column: problem.column, length: problem.length };
    Diagnostic::error(Code::BadLoad, problem.message).at(source, mark).maybe_help(problem.help)
}

impl World<'_> {
    /// Load, queues and demand of the plan.
    pub(super) fn load_plans(&self, known: &BTreeSet<ObjectRef>) -> LoadPlans {
        let file = &self.file;
        let demands = file.containers.iter().filter_map(|entry| {
            let demand = entry.demand.clone()?;
            Some(DemandPlan {
                of: named(&entry.of),
                cpu: demand.cpu,
                memory: demand.memory,
                takes: demand.takes,
                concurrency: demand.concurrency,
                queue: demand.queue,
            })
        });
        let plans = LoadPlans {
            loads: file.loads.iter().filter_map(|entry| self.load(entry, known)).collect(),
            demands: demands.collect(),
            queues: file.queues.iter().filter_map(|entry| self.queue(entry, known)).collect(),
        };
        self.unique(file.loads.iter().map(|entry| entry.name.as_str()), "spec.load");
        self.unique(file.queues.iter().map(|entry| entry.name.as_str()), "spec.queues");
        self.say_without_demand();
        self.say_not_simulated();
        plans
    }

    /// Requests that are simulated one by one ask for what the entry of `spec.containers` says that is about their target, in
    /// the same words: that of a Deployment is not looked up through a Service yet.
    fn say_without_demand(&self) {
        let is_known = |to: &ObjectRef| {
            self.file.containers.iter().any(|entry| entry.demand.is_some() && named(&entry.of) == named(to))
        };
        for entry in self.file.loads.iter().filter(|entry| entry.arrivals.is_some() && !is_known(&entry.to)) {
            let message = "these requests take no time: no entry of spec.containers says what one of them costs";
            let mut notice = self.problem(Code::NotSimulated, &entry.path, message.to_string());
            notice.severity = Severity::Notice;
            let help =
                "name the same object in `to` and in `of` of spec.containers, a Deployment rather than a Service";
            self.add(notice.help(help));
        }
    }

    /// What is read and has no effect yet is named.
    fn say_not_simulated(&self) {
        if self.file.queues.is_empty() {
            return;
        }
        let message = "queues are read and checked, but not simulated yet: no messages are published";
        let mut notice = self.problem(Code::NotSimulated, "spec.queues", message.to_string());
        notice.severity = Severity::Notice;
        self.add(notice);
    }

    fn unique<'a>(&self, names: impl Iterator<Item = &'a str>, list: &str) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            if !seen.insert(name) {
                let message = format!("the name `{name}` is taken");
                let problem = self.problem(Code::BadName, &format!("{list}[{index}]"), message);
                self.add(problem.help("give each item a `name` of its own"));
            }
        }
    }

    fn load(&self, entry: &LoadEntry, known: &BTreeSet<ObjectRef>) -> Option<LoadPlan> {
        self.check_object(&entry.path, &entry.to, known);
        let rate = match &entry.rate {
            Some(draft) => self.rate(draft, &mut 0)?,
            None => Rate::Constant(0.0),
        };
        let arrivals = match &entry.arrivals {
            Some(draft) => Some(self.arrivals(draft)?),
            None => None,
        };
        Some(LoadPlan {
            name: entry.name.clone(),
            to: named(&entry.to),
            rate,
            arrivals,
            timeout: entry.timeout,
            retries: entry.retries,
            routing: entry.routing,
        })
    }

    fn queue(&self, entry: &QueueEntry, known: &BTreeSet<ObjectRef>) -> Option<MessageQueuePlan> {
        let consume = entry.consume.as_ref().map(|consume| {
            self.check_object(&consume.path, &consume.by, known);
            ConsumePlan {
                by: named(&consume.by),
                each: consume.each.clone(),
                prefetch: consume.prefetch,
                visibility: consume.visibility,
                deliveries: consume.deliveries,
            }
        });
        let (publish, arrivals) = match &entry.publish {
            None => (None, None),
            Some((rate, arrivals)) => {
                let arrivals = match arrivals {
                    Some(draft) => Some(self.arrivals(draft)?),
                    None => None,
                };
                (Some(self.rate(rate, &mut 0)?), arrivals)
            }
        };
        Some(MessageQueuePlan {
            name: entry.name.clone(),
            kind: entry.kind,
            messages: entry.messages,
            publish,
            arrivals,
            consume,
        })
    }

    fn rate(&self, draft: &Draft, streams: &mut u64) -> Option<Rate> {
        Some(match draft {
            Draft::Rate(rate) => rate.clone(),
            Draft::File(file) => self.series(file)?,
            Draft::Sum(drafts) => {
                let rates: Option<Vec<_>> = drafts.iter().map(|draft| self.rate(draft, streams)).collect();
                Rate::Sum(rates?)
            }
            Draft::Noise(of, sd, every_ns) => {
                let stream = *streams;
                *streams += 1;
                Rate::Noise { of: Box::new(self.rate(of, streams)?), sd: *sd, every_ns: *every_ns, stream }
            }
        })
    }

    fn series(&self, file: &SeriesFile) -> Option<Rate> {
        let read = |text: &str| load_files::series(text, &file.columns);
        let series = self.load_file(&file.path, &file.name, read)?;
        match file.rate(series) {
            Ok(rate) => Some(rate),
            Err(why) => {
                self.add(self.problem(Code::BadLoad, &file.path, format!("{}: {why}", file.name)));
                None
            }
        }
    }

    fn arrivals(&self, draft: &ArrivalsDraft) -> Option<Arrivals> {
        match draft {
            ArrivalsDraft::Known(arrivals) => Some(arrivals.clone()),
            ArrivalsDraft::Log(path, name, columns) => {
                let times = self.load_file(path, name, |text| load_files::requests(text, columns))?;
                Some(Arrivals::Recorded(times.into()))
            }
        }
    }

    /// Reads a file that a load names.
    fn load_file<T>(&self, path: &str, name: &str, read: impl Fn(&str) -> Result<T, FileProblem>) -> Option<T> {
        let text = self.find_one(path, name).and_then(|found| match input::read_text(&found) {
            Ok(text) => Some((found, text)),
            Err(problem) => {
                self.add(*problem);
                None
            }
        });
        let (found, text) = text?;
        let source = Arc::new(Source { file: super::load::shown(&found), text });
        read(&source.text).map_err(|problem| self.add(diagnostic(problem, &source))).ok()
    }

    fn find_one(&self, path: &str, name: &str) -> Option<std::path::PathBuf> {
        let folder: &Path = &self.input.folder;
        match files::find(folder, name, self.input.overrides.allow_outside) {
            Ok(paths) if paths.len() == 1 => paths.into_iter().next(),
            Ok(paths) => {
                let message = format!("`{name}` names {} files; a load is one", paths.len());
                self.add(self.scenario.problem(Code::BadValue, path, Part::Value, message));
                None
            }
            Err(NotFound { is_outside, message, help }) => {
                let code = if is_outside { Code::OutsideFolder } else { Code::Unreadable };
                self.add(self.problem(code, path, message).maybe_help(help));
                None
            }
        }
    }
}

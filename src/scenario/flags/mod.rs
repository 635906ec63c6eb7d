//! Flags of the real components: lists of texts to [`Settings`].
//!
//! [`table`]: which flags there are; [`value`]: what they take; [`gates`]: `--feature-gates`; [`page`]: docs/components.md.

pub mod gates;
pub mod page;
pub mod table;
pub mod value;

use super::diagnostic::{Code, Severity};
use super::entry::Entry;
use super::schema::shape::Special;
use super::settings::{Said, Settings};
use super::yaml::Part;
use crate::rules::suggest;
use crate::sim::plan::KubernetesVersion;
use gates::Remark;
use table::{Effect, Flag, gone_since};
use value::{Form, Given};

/// A component with flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagTable {
    /// kube-controller-manager
    ControllerManager,
    /// kube-scheduler
    Scheduler,
    /// kube-apiserver
    ApiServer,
}

impl FlagTable {
    /// All of them.
    pub const ALL: [FlagTable; 3] = [FlagTable::ControllerManager, FlagTable::Scheduler, FlagTable::ApiServer];

    /// Name of the binary.
    pub fn component(self) -> &'static str {
        match self {
            FlagTable::ControllerManager => "kube-controller-manager",
            FlagTable::Scheduler => "kube-scheduler",
            FlagTable::ApiServer => "kube-apiserver",
        }
    }

    /// Its name in `spec.controlPlane`.
    pub fn field(self) -> &'static str {
        match self {
            FlagTable::ControllerManager => "controllerManager",
            FlagTable::Scheduler => "scheduler",
            FlagTable::ApiServer => "apiServer",
        }
    }

    fn special(self) -> Special {
        match self {
            FlagTable::ControllerManager => Special::ControllerManagerFlag,
            FlagTable::Scheduler => Special::SchedulerFlag,
            FlagTable::ApiServer => Special::ApiServerFlag,
        }
    }
}

/// The oldest minor version all of whose feature gates are known here.
const OLDEST_KNOWN: u8 = 32;

/// How a list of flags is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// Whose flags.
    pub table: FlagTable,
    /// The version that is simulated.
    pub version: KubernetesVersion,
    /// The minor version of the binary that the list was written for, when it is another one: what that one had and the
    /// simulated one has no more is a notice.
    pub written_for: Option<u8>,
    /// Whether flags without an effect share one notice: a person wrote the flags of a scenario one by one, a tool those of
    /// a static Pod.
    pub groups_notices: bool,
}

impl Reader {
    /// Reads a list of flags, `--flag=value`, `--flag value`, or flag and value as two items.
    pub fn read<'a>(&self, items: impl IntoIterator<Item = Entry<'a>>) -> Settings {
        let mut settings = Settings::default();
        let mut items = items.into_iter().peekable();
        let first = items.peek().cloned();
        let mut without_effect = Vec::new();
        let mut given_names: Vec<&str> = Vec::new();
        while let Some(item) = items.next() {
            item.is_a(self.table.special());
            let Some(text) = item.text() else { continue };
            let text = text.trim();
            if text.is_empty() {
                item.problem(Code::BadFlag, "must be a flag, not an empty text", Some("write --flag=value".into()));
                continue;
            }
            let cut = text.find(['=', ' ']).unwrap_or(text.len());
            // Underscores count as dashes.
            let name = text[..cut].replace('_', "-");
            let mut value = text.get(cut + 1..).map(|value| value.trim().to_string());
            let with_effect = self.table.with_effect().iter().find(|flag| flag.name == name);
            let form = with_effect.map(|flag| flag.form);
            let form =
                form.or_else(|| self.table.without_effect().find(|(known, _)| *known == name).map(|known| known.1));
            if value.is_none() && form.is_none_or(Form::takes_next_word) {
                let next = items.peek().and_then(|next| next.value.as_str()).filter(|next| !next.starts_with("--"));
                if let Some(next) = next {
                    value = Some(next.to_string());
                    items.next();
                }
            }
            let Some(form) = form else {
                self.unknown(&item, &name);
                continue;
            };
            match form.read(value.as_deref()) {
                Err(wanted) => wrong_value(&item, &name, &wanted, value.as_deref()),
                Ok(given) => match with_effect {
                    Some(flag) => {
                        // Lists of gates add up.
                        if given_names.contains(&flag.name) && flag.effect != Effect::FeatureGates {
                            notice(&item, format!("{name} is given twice: the last one counts"));
                        }
                        given_names.push(flag.name);
                        self.set(&mut settings, flag, given, &item);
                    }
                    None if name == "--config" => {
                        let Given::Text(file) = given else { continue };
                        settings.config_file = Some(said(&item, "--config", file));
                    }
                    None if self.groups_notices => without_effect.push(name),
                    None => {
                        let component = self.table.component();
                        notice(&item, format!("{name} of {component} has no effect in this version"));
                    }
                },
            }
        }
        if let Some(first) = first.filter(|_| !without_effect.is_empty()) {
            let have = if without_effect.len() == 1 { "has" } else { "have" };
            let (names, component) = (without_effect.join(", "), self.table.component());
            notice(&first, format!("{names} of {component} {have} no effect in this version"));
        }
        settings
    }

    fn unknown(&self, item: &Entry<'_>, name: &str) {
        let component = self.table.component();
        let gone = gone_since(name);
        if let (Some(since), Some(written_for)) = (gone, self.written_for)
            && written_for < since
        {
            return notice(item, format!("{name} of {component} is gone since 1.{since} and has no effect"));
        }
        let message = match gone {
            Some(since) => format!("{component} has no flag `{name}` any more: it went with 1.{since}"),
            None => format!("{component} has no flag `{name}`"),
        };
        let known = self.table.with_effect().iter().map(|flag| flag.name);
        let known = known.chain(self.table.without_effect().map(|(known, _)| known));
        let help = gone.is_none().then(|| self.whose(name).or_else(|| suggest::did_you_mean(name, known))).flatten();
        item.problem(Code::BadFlag, message, help);
    }

    /// Another component that has the flag, and where its flags stand.
    fn whose(&self, name: &str) -> Option<String> {
        let has_it = |table: &FlagTable| {
            table.with_effect().iter().any(|flag| flag.name == name)
                || table.without_effect().any(|(known, _)| known == name)
        };
        let owner = FlagTable::ALL.into_iter().filter(|table| *table != self.table).find(has_it)?;
        Some(format!("it is a flag of {}: spec.controlPlane.{}.flags", owner.component(), owner.field()))
    }

    fn set(&self, settings: &mut Settings, flag: &Flag, given: Given, item: &Entry<'_>) {
        let election = &mut settings.election;
        match (flag.effect, given) {
            (Effect::MinResyncPeriod, Given::Span(period)) => settings.min_resync_period = Some(period),
            (Effect::GcSyncs, Given::Whole(workers)) => settings.gc_syncs = u32::try_from(workers).ok(),
            (Effect::ReplicasetSyncs, Given::Whole(workers)) => settings.replicaset_syncs = u32::try_from(workers).ok(),
            (Effect::DeploymentSyncs, Given::Whole(workers)) => settings.deployment_syncs = u32::try_from(workers).ok(),
            (Effect::Qps, Given::Number(qps)) => settings.qps = Some(said(item, flag.name, qps)),
            (Effect::Burst, Given::Whole(burst)) => settings.burst = Some(said(item, flag.name, burst)),
            (Effect::MaxRequestsInflight, Given::Whole(count)) => {
                settings.max_requests_inflight = u32::try_from(count).ok()
            }
            (Effect::MaxMutatingRequestsInflight, Given::Whole(count)) => {
                settings.max_mutating_requests_inflight = u32::try_from(count).ok();
            }
            (Effect::PriorityAndFairness, Given::Switch(is_on)) => settings.priority_and_fairness = Some(is_on),
            (Effect::RequestTimeout, Given::Span(span)) => settings.request_timeout = Some(span),
            (Effect::LeaderElect, Given::Switch(is_on)) => election.leader_elect = Some(is_on),
            (Effect::LeaseDuration, Given::Span(span)) => election.lease_duration = Some(said(item, flag.name, span)),
            (Effect::RenewDeadline, Given::Span(span)) => election.renew_deadline = Some(said(item, flag.name, span)),
            (Effect::RetryPeriod, Given::Span(span)) => election.retry_period = Some(said(item, flag.name, span)),
            (Effect::ResourceName, Given::Text(name)) => election.resource_name = Some(name),
            (Effect::ResourceNamespace, Given::Text(name)) => election.resource_namespace = Some(name),
            (Effect::FeatureGates, Given::Text(list)) => self.set_gates(settings, &list, item),
            // There is only one kind of lock.
            (Effect::ResourceLock, _) => {}
            (effect, given) => unreachable!("{effect:?} takes no {given:?}: the table says what it takes"),
        }
    }

    fn set_gates(&self, settings: &mut Settings, list: &str, item: &Entry<'_>) {
        let (given, remarks) = gates::read(list, self.version);
        for (gate, _) in given.gates.iter().filter(|(gate, _)| !gates::readers(*gate).contains(&self.table)) {
            let (name, component, readers) = (gate.as_str(), self.table.component(), gates::names_of_readers(*gate));
            notice(item, format!("the feature gate {name} has no effect on {component}: it is read by {readers}"));
        }
        settings.gates.gates.extend(given.gates);
        settings.gates.all_alpha = given.all_alpha.or(settings.gates.all_alpha);
        settings.gates.all_beta = given.all_beta.or(settings.gates.all_beta);
        for remark in remarks {
            match remark {
                Remark::WithoutEffect(message) => notice(item, message),
                // Gates of old versions went when their features were settled; those of versions that are followed are known.
                Remark::Unknown(message, _) if self.written_for.is_some_and(|minor| minor < OLDEST_KNOWN) => {
                    notice(item, message);
                }
                Remark::Unknown(message, help) | Remark::Wrong(message, help) => {
                    item.problem(Code::BadFlag, message, help)
                }
            }
        }
        if let Err(message) = settings.gates.resolve(self.version) {
            item.problem(Code::BadFlag, message, None);
        }
    }
}

/// A flag wants something else than it was given.
fn wrong_value(item: &Entry<'_>, name: &str, wanted: &str, value: Option<&str>) {
    let given = match value {
        None => "nothing".to_string(),
        Some("") => "an empty text".to_string(),
        Some(value) => format!("`{value}`"),
    };
    let holds_more = value.is_some_and(|value| value.contains(" --"));
    let help = holds_more.then(|| "each flag is an item of its own".to_string());
    item.problem(Code::BadFlag, format!("{name} must be {wanted}, not {given}"), help);
}

fn said<T>(item: &Entry<'_>, name: &'static str, value: T) -> Said<T> {
    Said { value, name, at: item.document.problem(Code::BadFlag, &item.path, Part::Value, "") }
}

/// Says something that is no mistake.
pub(super) fn notice(item: &Entry<'_>, message: String) {
    let mut notice = item.document.problem(Code::NotSimulated, &item.path, Part::Value, message);
    notice.severity = Severity::Notice;
    item.add(notice);
}

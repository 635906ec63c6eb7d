//! A sync from its start: claim ReplicaSets, find or create the newest, scale, clean up, and choose what else to do.
//!
//! Upstream: pkg/controller/deployment/{deployment_controller,sync}.go, v1.36. Every write is sent with the copy that the
//! sync began with, as upstream does: a second write to the same object conflicts, and the retry finds a newer cache.

use std::rc::Rc;

use super::journal::{Journal, Stop};
use super::util::{self, condition};
use super::{recreate, rolling, scale};
use crate::controllers::claim::{self, Claim};
use crate::model::api::Reason;
use crate::model::{
    ConditionStatus, Deployment, DeploymentStrategy, EventType, Key, Kind, Labels, Meta, Name, Object, Operator,
    PodPhase, PodTemplate, Preconditions, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, Request, Requirement, Selector,
    Span, Time, Uid, find_condition,
};

/// The longest name of an object.
const MAX_NAME_LENGTH: usize = 253;

/// What the caches held when the sync began.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The Deployment.
    pub deployment: Rc<Deployment>,
    /// The ReplicaSets of its namespace that it controls or that nobody does.
    pub replica_sets: Vec<Rc<ReplicaSet>>,
    /// For Recreate: the pods its selector matches, by the uid of the ReplicaSet that controls them.
    pub pods: Vec<(Uid, PodPhase)>,
    /// When.
    pub started: Time,
}

/// A sync under way.
#[derive(Debug)]
pub struct Sync<'a, 'j> {
    /// The Deployment as the sync has changed it; its version stays that of the cache.
    pub deployment: Deployment,
    /// The ReplicaSets that belong to it, in order of creation.
    pub own: Vec<Rc<ReplicaSet>>,
    /// What the caches held.
    pub snapshot: &'a Snapshot,
    /// The answers so far.
    pub journal: &'j mut Journal<'a>,
}

/// The newest ReplicaSet, and the others in order of creation.
#[derive(Clone, Debug)]
pub struct ReplicaSets {
    /// The one made from the Deployment's template.
    pub new: Option<Rc<ReplicaSet>>,
    /// All others.
    pub old: Vec<Rc<ReplicaSet>>,
}

impl ReplicaSets {
    /// The old ones, then the new one.
    pub fn all(&self) -> Vec<Rc<ReplicaSet>> {
        self.old.iter().chain(&self.new).cloned().collect()
    }
}

/// Runs a sync as far as the journal reaches. Well ended, it says after which span to look again, if at all.
///
/// # Errors
/// The next request, or why the sync failed.
pub fn sync_deployment<'a>(snapshot: &'a Snapshot, journal: &mut Journal<'a>) -> Result<Option<Span>, Stop> {
    let deployment = (*snapshot.deployment).clone();
    let mut sync = Sync { deployment, own: Vec::new(), snapshot, journal };
    if sync.deployment.spec.selector.requirements.is_empty() {
        return sync.refuse_to_select_all();
    }
    sync.claim_replica_sets()?;
    if sync.deployment.meta.is_deleting() {
        let sets = sync.replica_sets(false)?;
        return sync.write_plain_status(&sets);
    }
    sync.check_paused_conditions()?;
    if sync.deployment.spec.paused || sync.is_scaling_event()? {
        return sync.scale_only();
    }
    match sync.deployment.spec.strategy {
        DeploymentStrategy::Recreate => recreate::roll_out(&mut sync),
        DeploymentStrategy::RollingUpdate { .. } => rolling::roll_out(&mut sync),
    }
}

impl Sync<'_, '_> {
    fn refuse_to_select_all(&mut self) -> Result<Option<Span>, Stop> {
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        self.journal.event(EventType::Warning, "SelectingAll", message.into());
        if self.deployment.status.observed_generation < self.deployment.meta.generation {
            self.deployment.status.observed_generation = self.deployment.meta.generation;
            // Upstream ignores what comes of it.
            let request = self.status_request();
            self.journal.call(request)?;
        }
        Ok(None)
    }

    /// Adopts and releases ReplicaSets, and keeps those that belong to the Deployment.
    fn claim_replica_sets(&mut self) -> Result<(), Stop> {
        let owner = Object::Deployment(self.snapshot.deployment.clone());
        let selector = self.deployment.spec.selector.clone();
        let mut recheck: Option<Option<String>> = None;
        let mut errors = Vec::new();
        for set in &self.snapshot.replica_sets {
            let claim = claim::classify(owner.meta(), &selector, &set.meta);
            let patch = match claim {
                Claim::Ignore => continue,
                Claim::Keep => {
                    self.own.push(set.clone());
                    continue;
                }
                Claim::Release => claim::release_patch(owner.meta(), &set.meta),
                Claim::Adopt => {
                    if recheck.is_none() {
                        recheck = Some(match self.journal.object(Request::Get(owner.key())) {
                            Ok(fresh) => claim::adoption_problem(&owner, fresh),
                            Err(Stop::Failed(failure)) => Some(failure.message),
                            Err(call) => return Err(call),
                        });
                    }
                    if let Some(Some(problem)) = &recheck {
                        let Meta { namespace, name, uid, .. } = &set.meta;
                        errors.push(format!("can't adopt ReplicaSet {namespace}/{name} ({uid}): {problem}"));
                        continue;
                    }
                    claim::adopt_patch(&owner, &set.meta)
                }
            };
            match &self.journal.call(Request::Patch { key: key_of(set), patch })?.result {
                Ok(_) if claim == Claim::Adopt => self.own.push(set.clone()),
                Ok(_) => {}
                Err(error) if error.reason == Reason::NotFound => {}
                Err(error) if claim == Claim::Release && error.reason == Reason::Invalid => {}
                Err(error) => errors.push(error.message.clone()),
            }
        }
        util::sort_by_creation(&mut self.own);
        if errors.is_empty() { Ok(()) } else { Err(errors.join(", ").into()) }
    }

    /// Says that a rollout is paused or resumed, so that a deadline does not pass in the meantime.
    fn check_paused_conditions(&mut self) -> Result<(), Stop> {
        if !util::has_progress_deadline(&self.deployment) {
            return Ok(());
        }
        let conditions = &mut self.deployment.status.conditions;
        let reason = find_condition(conditions, condition::PROGRESSING).map(|progressing| progressing.reason.clone());
        let is = |text: &str| reason.as_ref().is_some_and(|reason| reason == text);
        if is(condition::TIMED_OUT) {
            return Ok(());
        }
        let (reason, message) = match (self.deployment.spec.paused, is(condition::PAUSED)) {
            (true, false) => (condition::PAUSED, "Deployment is paused"),
            (false, true) => (condition::RESUMED, "Deployment is resumed"),
            _ => return Ok(()),
        };
        let unknown = ConditionStatus::Unknown;
        let now = self.journal.now();
        util::set_condition(conditions, util::new_condition(condition::PROGRESSING, unknown, reason, message, now));
        self.write_deployment_status()
    }

    /// Whether `spec.replicas` changed since some ReplicaSet with pods was last scaled.
    fn is_scaling_event(&mut self) -> Result<bool, Stop> {
        let sets = self.replica_sets(false)?;
        let desired = self.deployment.spec.replicas;
        let differs = |set: &Rc<ReplicaSet>| {
            util::int_annotation(&set.meta, util::DESIRED_REPLICAS).is_some_and(|recorded| recorded != desired)
        };
        Ok(util::active(&sets.all()).iter().any(differs))
    }

    /// What a paused Deployment and a scaling event get: no rollout.
    fn scale_only(&mut self) -> Result<Option<Span>, Stop> {
        let sets = self.replica_sets(false)?;
        scale::scale(self, &sets)?;
        if self.deployment.spec.paused {
            self.clean_up(&sets.old)?;
        }
        self.write_plain_status(&sets)
    }

    /// The ReplicaSets, the newest with its annotations up to date (and created, if asked to).
    pub fn replica_sets(&mut self, create: bool) -> Result<ReplicaSets, Stop> {
        let existing = util::find_new(&self.deployment, &self.own).cloned();
        let is_old = |set: &&Rc<ReplicaSet>| existing.as_ref().is_none_or(|new| new.meta.uid != set.meta.uid);
        let old: Vec<_> = self.own.iter().filter(is_old).cloned().collect();
        let revision = util::max_revision(&old) + 1;
        let new = match existing {
            Some(existing) => Some(self.existing_replica_set(existing, revision)?),
            None if create => Some(self.create_replica_set(&old, revision)?),
            None => None,
        };
        Ok(ReplicaSets { new, old })
    }

    fn existing_replica_set(&mut self, existing: Rc<ReplicaSet>, revision: i64) -> Result<Rc<ReplicaSet>, Stop> {
        let annotations = util::new_replica_set_annotations(&self.deployment, &existing.meta.annotations, revision);
        let min_ready_seconds = self.deployment.spec.min_ready_seconds;
        if annotations != existing.meta.annotations || existing.spec.min_ready_seconds != min_ready_seconds {
            let mut changed = (*existing).clone();
            changed.meta.annotations = annotations;
            changed.spec.min_ready_seconds = min_ready_seconds;
            return self.update_replica_set(changed);
        }
        let own_revision = existing.meta.annotations.iter().find(|(key, _)| *key == util::REVISION).cloned();
        let (key, revision) = own_revision.unwrap_or_else(|| (util::REVISION.into(), Name::EMPTY));
        let mut needs_update = self.set_revision(key, &revision);
        let is_unjudged = find_condition(&self.deployment.status.conditions, condition::PROGRESSING).is_none();
        if is_unjudged && util::has_progress_deadline(&self.deployment) {
            let message = format!("Found new replica set \"{}\"", existing.meta.name);
            self.set_progressing(ConditionStatus::True, condition::FOUND_NEW_REPLICA_SET, message);
            needs_update = true;
        }
        if needs_update {
            self.write_deployment_status()?;
        }
        Ok(existing)
    }

    fn create_replica_set(&mut self, old: &[Rc<ReplicaSet>], revision: i64) -> Result<Rc<ReplicaSet>, Stop> {
        let new = self.new_replica_set(old, revision);
        let (name, replicas) = (new.meta.name.clone(), new.spec.replicas);
        let entry = self.journal.call(Request::Create(new.into()))?;
        let (created, is_new) = match &entry.result {
            Ok(answer) => match answer.object().and_then(Object::as_replica_set) {
                Some(created) => (created.clone(), true),
                None => unreachable!("a create of a ReplicaSet answered with {answer:?}"),
            },
            Err(error) if error.reason == Reason::AlreadyExists => {
                (self.existing_of_name(&name, entry.cached.clone(), error.message.clone())?, false)
            }
            Err(error) if error.reason == Reason::NamespaceTerminating => return Err(error.clone().into()),
            Err(error) => {
                let message = format!("Failed to create new replica set \"{name}\": {error}");
                self.report_failed_create(message)?;
                return Err(error.clone().into());
            }
        };
        if is_new && replicas > 0 {
            let message = format!("Scaled up replica set {} from 0 to {replicas}", created.meta.name);
            self.journal.event(EventType::Normal, "ScalingReplicaSet", message);
        }
        let mut needs_update = self.set_revision(util::REVISION.into(), &revision.to_string().into());
        if is_new && util::has_progress_deadline(&self.deployment) {
            let message = format!("Created new replica set \"{}\"", created.meta.name);
            self.set_progressing(ConditionStatus::True, condition::NEW_REPLICA_SET, message);
            needs_update = true;
        }
        if needs_update {
            self.write_deployment_status()?;
        }
        Ok(created)
    }

    /// The name is taken: by the ReplicaSet the cache had not shown yet, or by another (a collision of hashes).
    fn existing_of_name(
        &mut self,
        name: &Name,
        cached: Option<Rc<ReplicaSet>>,
        message: String,
    ) -> Result<Rc<ReplicaSet>, Stop> {
        let Some(cached) = cached else {
            return Err(format!("replicaset.apps \"{name}\" not found").into());
        };
        let is_own = cached.meta.controller().is_some_and(|owner| owner.uid == self.deployment.meta.uid);
        if is_own && cached.spec.template.source == self.deployment.spec.template.source {
            return Ok(cached);
        }
        let count = &mut self.deployment.status.collision_count;
        *count = Some(count.unwrap_or(0) + 1);
        // Upstream goes on to the error whatever comes of it.
        let request = self.status_request();
        self.journal.call(request)?;
        Err(message.into())
    }

    fn report_failed_create(&mut self, message: String) -> Result<(), Stop> {
        if util::has_progress_deadline(&self.deployment) {
            self.set_progressing(ConditionStatus::False, condition::FAILED_CREATE, message.clone());
            // The failed create is the bigger trouble: upstream ignores what comes of it.
            let request = self.status_request();
            self.journal.call(request)?;
        }
        self.journal.event(EventType::Warning, condition::FAILED_CREATE, message);
        Ok(())
    }

    fn new_replica_set(&self, old: &[Rc<ReplicaSet>], revision: i64) -> ReplicaSet {
        let Deployment { meta, spec, status, .. } = &self.deployment;
        let hash = util::template_hash(&spec.template, status.collision_count);
        let labels = spec.template.labels.with(util::TEMPLATE_HASH, hash.as_str());
        let mut name = meta.name.as_str().to_string();
        name.truncate(MAX_NAME_LENGTH - hash.len() - 1);
        let owner = Object::Deployment(self.snapshot.deployment.clone());
        let annotations = util::new_replica_set_annotations(&self.deployment, &Labels::NONE, revision);
        let new_meta = Meta {
            labels: labels.clone(),
            annotations: util::with_replicas_annotations(&self.deployment, &annotations),
            owners: Some([claim::controller_reference(&owner)].into()),
            ..Meta::named(meta.namespace.clone(), format!("{name}-{hash}"))
        };
        let replicas = scale::new_replicas(&self.deployment, util::sum(old, util::spec_replicas), 0);
        ReplicaSet {
            meta: new_meta,
            spec: ReplicaSetSpec {
                replicas,
                min_ready_seconds: spec.min_ready_seconds,
                selector: Rc::new(with_requirement(&spec.selector, util::TEMPLATE_HASH, &hash)),
                template: Rc::new(PodTemplate { labels, ..(*spec.template).clone() }),
            },
            status: ReplicaSetStatus::default(),
            source: None,
        }
    }

    /// `key` is that of the annotation.
    fn set_revision(&mut self, key: Name, revision: &Name) -> bool {
        let annotations = &mut self.deployment.meta.annotations;
        if annotations.get(&key).unwrap_or(&Name::EMPTY) == revision {
            return false;
        }
        *annotations = annotations.with(key, revision.clone());
        true
    }

    fn set_progressing(&mut self, status: ConditionStatus, reason: &str, message: String) {
        let new = util::new_condition(condition::PROGRESSING, status, reason, message, self.journal.now());
        util::set_condition(&mut self.deployment.status.conditions, new);
    }

    /// Deletes the oldest ReplicaSets without pods beyond the history limit, one after the other.
    pub fn clean_up(&mut self, old: &[Rc<ReplicaSet>]) -> Result<(), Stop> {
        let Some(limit) = self.deployment.spec.revision_history_limit.filter(|limit| *limit != i32::MAX) else {
            return Ok(());
        };
        let mut alive: Vec<_> = old.iter().filter(|set| !set.meta.is_deleting()).cloned().collect();
        let surplus = alive.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        // `old` is in order of creation, which decides between equal revisions.
        alive.sort_by_key(|set| util::revision(&set.meta).unwrap_or(0));
        for set in alive.into_iter().take(surplus) {
            let is_observed = set.meta.generation <= set.status.observed_generation;
            if set.status.replicas != 0 || set.spec.replicas != 0 || !is_observed {
                continue;
            }
            let preconditions = Preconditions::default();
            let request = Request::Delete { key: key_of(&set), grace_seconds: None, preconditions };
            match &self.journal.call(request)?.result {
                Err(error) if error.reason != Reason::NotFound => return Err(error.clone().into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// PUT of a ReplicaSet.
    pub fn update_replica_set(&mut self, changed: ReplicaSet) -> Result<Rc<ReplicaSet>, Stop> {
        match self.journal.object(Request::Update(changed.into()))? {
            Object::ReplicaSet(updated) => Ok(updated.clone()),
            other => unreachable!("an update of a ReplicaSet answered with {}", other.kind()),
        }
    }

    /// PUT of the Deployment's status (and annotations) as the sync has changed them.
    pub fn write_deployment_status(&mut self) -> Result<(), Stop> {
        let deployment = &self.deployment;
        self.journal.object_with(|| Request::UpdateStatus(deployment.clone().into())).map(|_| ())
    }

    fn status_request(&self) -> Request {
        Request::UpdateStatus(self.deployment.clone().into())
    }
}

/// The selector with one label more.
fn with_requirement(selector: &Selector, key: &str, value: &str) -> Selector {
    let mut requirements = selector.requirements.clone();
    requirements.push(Requirement { key: key.into(), operator: Operator::In, values: vec![value.into()] });
    Selector { requirements }
}

/// The key of a ReplicaSet.
pub fn key_of(set: &ReplicaSet) -> Key {
    Key { kind: Kind::ReplicaSet, namespace: set.meta.namespace.clone(), name: set.meta.name.clone() }
}

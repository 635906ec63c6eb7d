//! Tasks and the loop over time.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::waiting::Waiting;
use crate::component::{
    Change, Component, Context, Delta, HandlerResync, Input, MetricSink, Purpose, WatchSpec, draw_span,
};
use crate::engine::calendar::Nature;
use crate::engine::sampling::uniform_unit;
use crate::model::api::Reason;
use crate::model::{
    Action, ApiResult, Condition, ConditionStatus, EventType, Key, Kind, Map, Name, Object, Patch, Pod, PodSpec,
    Request, Set, Time, Uid,
};
use crate::polling::room::{Amounts, Rooms};
use crate::polling::settings::{Assignment, Settings};

/// Whether a task dies.
const DIES: Purpose = Purpose("polling-task-dies");
/// How long a task takes.
const TASK: Purpose = Purpose("polling-task");
/// How long a pass takes.
const PASS_TIME: Purpose = Purpose("polling-pass");

/// Timer: the next pass.
const PASS: u64 = 0;
const FIRST_FREE: u64 = 1;

/// Who looks for nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A task for each new pod.
    Tasks,
    /// A pass over all pending pods from time to time.
    Loop,
}

/// The tasks, or the loop.
#[derive(Clone, Debug)]
pub struct Assigner {
    settings: Arc<Settings>,
    role: Role,
    rooms: Rooms,
    /// Where pods take their place.
    placed: Map<Uid, (Name, Amounts)>,
    /// Pods without a node; of the loop only.
    pending: Set<Key>,
    /// What pods of the template that was last looked at take.
    usual: Option<(Rc<PodSpec>, Amounts)>,
    waiting: Waiting,
    /// What was decided and is not written yet.
    thoughts: BTreeMap<u64, Thought>,
    /// Assignments on their way.
    written: BTreeMap<u64, Thought>,
    /// Pods of both; of the loop only.
    in_hand: Set<Uid>,
    passes: u64,
    next_token: u64,
    counts: Counts,
}

/// A decision.
#[derive(Clone, Debug)]
struct Thought {
    pod: Rc<Pod>,
    node: Option<Name>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    assigned: u64,
    conflicts: u64,
    died: u64,
    no_room: u64,
}

impl Assigner {
    /// An assigner that has seen nothing.
    pub fn new(settings: Arc<Settings>, role: Role) -> Assigner {
        Assigner {
            settings,
            role,
            rooms: Rooms::default(),
            placed: Map::default(),
            pending: Set::default(),
            usual: None,
            waiting: Waiting::default(),
            thoughts: BTreeMap::new(),
            written: BTreeMap::new(),
            in_hand: Set::default(),
            passes: 0,
            next_token: FIRST_FREE,
            counts: Counts::default(),
        }
    }

    fn on_delta(&mut self, delta: &Delta, ctx: &mut Context<'_>) {
        match (&delta.change, delta.change.object()) {
            (Change::Deleted { .. }, Object::Node(last)) => self.rooms.remove_node(&last.meta.name),
            (_, Object::Node(node)) => self.rooms.set_node(node),
            (Change::Deleted { .. }, Object::Pod(last)) => self.remove(last),
            (change, Object::Pod(pod)) => {
                if let Change::Updated { old: Object::Pod(old), .. } = change {
                    if old.meta.uid != pod.meta.uid {
                        self.remove(old);
                    } else if is_alike(old, pod) {
                        return;
                    }
                }
                self.set(pod);
                let is_new = matches!(change, Change::Added(_)) && !delta.is_initial;
                if self.role == Role::Tasks && is_new && pod.node_name.is_empty() {
                    self.fire(pod, ctx);
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, pod: &Rc<Pod>) {
        let uid = &pod.meta.uid;
        let has_node = !pod.node_name.is_empty();
        if self.role == Role::Loop {
            let key = Object::Pod(pod.clone()).key();
            match has_node || pod.is_terminal() || pod.meta.is_deleting() {
                true => self.pending.swap_remove(&key),
                false => self.pending.insert(key),
            };
        }
        let amounts = (has_node && !pod.is_terminal()).then(|| self.amounts_of(pod));
        match (self.placed.get(uid), amounts) {
            (None, None) => return,
            (Some((node, known)), Some(amounts)) if *node == pod.node_name && *known == amounts => return,
            _ => self.leave(uid),
        }
        if let Some(amounts) = amounts {
            self.waiting.forget(uid);
            self.rooms.take(&pod.node_name, amounts);
            self.placed.insert(uid.clone(), (pod.node_name.clone(), amounts));
        }
    }

    /// Pods of a template share their spec and take the same.
    fn amounts_of(&mut self, pod: &Pod) -> Amounts {
        match &self.usual {
            Some((spec, amounts)) if Rc::ptr_eq(spec, &pod.spec) => *amounts,
            _ => {
                let amounts = Amounts::of_pod(pod);
                self.usual = Some((pod.spec.clone(), amounts));
                amounts
            }
        }
    }

    fn remove(&mut self, last: &Rc<Pod>) {
        self.leave(&last.meta.uid);
        self.waiting.forget(&last.meta.uid);
        self.pending.swap_remove(&Object::Pod(last.clone()).key());
    }

    fn leave(&mut self, uid: &Uid) {
        if let Some((node, amounts)) = self.placed.swap_remove(uid) {
            self.rooms.give_back(&node, amounts);
        }
    }

    /// The server has answered: the task of the pod begins.
    fn fire(&mut self, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        let Some(task) = &self.settings.task else { return };
        let entity = Object::Pod(pod.clone()).key().stable_hash();
        let luck = uniform_unit(ctx.draws.bits(DIES, entity, 0));
        let key = Object::Pod(pod.clone()).key();
        if luck < task.dies {
            self.counts.died += 1;
            ctx.out.record(Action::Lost, Some(key), "the background task died");
            return;
        }
        let span = draw_span(ctx.draws, &task.takes, TASK, entity, 0);
        self.think(pod.clone(), ctx.now + span, ctx);
    }

    /// One pass over all pending pods.
    fn pass(&mut self, ctx: &mut Context<'_>) {
        let mut keys: Vec<&Key> = self.pending.iter().collect();
        keys.sort_unstable();
        let due: Vec<Rc<Pod>> = keys.into_iter().filter_map(|key| ctx.informers.pod(key)).cloned().collect();
        let mut taken: Vec<(Name, Amounts)> = Vec::new();
        for pod in due {
            if !self.waiting.is_due(&pod.meta.uid, ctx.now) || self.in_hand.contains(&pod.meta.uid) {
                continue;
            }
            let entity = Object::Pod(pod.clone()).key().stable_hash();
            let span = draw_span(ctx.draws, &self.settings.pass.takes, PASS_TIME, entity, self.passes);
            let amounts = self.amounts_of(&pod);
            if let Some(node) = self.think(pod, ctx.now + span, ctx) {
                self.rooms.take(&node, amounts);
                taken.push((node, amounts));
            }
        }
        // From here on only what the store shows counts.
        for (node, amounts) in taken {
            self.rooms.give_back(&node, amounts);
        }
        self.passes += 1;
    }

    /// Looks for a node now, and assigns the pod at that instant.
    fn think(&mut self, pod: Rc<Pod>, at: Time, ctx: &mut Context<'_>) -> Option<Name> {
        let amounts = self.amounts_of(&pod);
        let node = self.rooms.choose(amounts).cloned();
        let token = self.next_token;
        self.next_token += 1;
        self.takes_in_hand(&pod);
        self.thoughts.insert(token, Thought { pod, node: node.clone() });
        ctx.out.set_timer(token, at, Nature::Work);
        node
    }

    /// Passes leave alone what an earlier one has in hand. A task has one pod.
    fn takes_in_hand(&mut self, pod: &Pod) {
        if self.role == Role::Loop {
            self.in_hand.insert(pod.meta.uid.clone());
        }
    }

    /// The thinking is over.
    fn act(&mut self, token: u64, ctx: &mut Context<'_>) {
        let Some(thought) = self.thoughts.remove(&token) else { return };
        self.in_hand.swap_remove(&thought.pod.meta.uid);
        let key = Object::Pod(thought.pod.clone()).key();
        // Nothing is assigned to a pod that is gone; whether it has a node meanwhile is not looked at again.
        let Some(current) = ctx.informers.pod(&key).filter(|current| current.meta.uid == thought.pod.meta.uid) else {
            return;
        };
        let Some(node) = thought.node.clone() else { return self.no_room(&current.clone(), ctx) };
        if !current.node_name.is_empty() && self.settings.assignment == Assignment::Overwrite {
            let text = format!("assigns it to {node}, though it was assigned to {}", current.node_name);
            let decided = ctx.out.record(Action::Decide, Some(key.clone()), text);
            ctx.out.set_cause(decided);
        }
        let uid = thought.pod.meta.uid.clone();
        self.takes_in_hand(&thought.pod);
        ctx.out.request(Request::Bind { pod: key, uid, node }, token);
        self.written.insert(token, thought);
    }

    fn no_room(&mut self, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        if !pod.node_name.is_empty() {
            return;
        }
        self.counts.no_room += 1;
        let Some(wait) = self.waiting.failed(&pod.meta.uid, self.settings.no_room, ctx.now) else { return };
        let count = self.rooms.count();
        let message = format!("none of {count} nodes has room, next try in {wait}");
        let object = Object::Pod(pod.clone());
        ctx.out.event(&object, EventType::Warning, "NoRoom", message.clone());
        let condition = Condition {
            condition_type: "PodScheduled".into(),
            status: ConditionStatus::False,
            reason: "NoRoom".into(),
            message: Name::from(message),
            last_transition: ctx.now.truncated_to_seconds(),
            last_update: None,
        };
        let patch = Patch::PodCondition { condition, nominated_node_name: None };
        let token = self.next_token;
        self.next_token += 1;
        ctx.out.request(Request::Patch { key: object.key(), patch }, token);
    }

    fn on_reply(&mut self, token: u64, result: &ApiResult, ctx: &mut Context<'_>) {
        let Some(Thought { pod, node: Some(node) }) = self.written.remove(&token) else { return };
        self.in_hand.swap_remove(&pod.meta.uid);
        let key = Object::Pod(pod.clone()).key();
        match result {
            Ok(_) => {
                self.counts.assigned += 1;
                let message = format!("Assigned to {node}");
                ctx.out.event(&Object::Pod(pod), EventType::Normal, "Scheduled", message);
            }
            Err(error) if error.reason == Reason::Conflict => {
                self.counts.conflicts += 1;
                ctx.out.record(Action::Decide, Some(key), "somebody else was faster");
            }
            Err(_) => {}
        }
    }

    fn set_pass_timer(&self, ctx: &mut Context<'_>) {
        ctx.out.set_periodic_timer(PASS, ctx.now + self.settings.pass.period);
    }
}

/// Whether a pod takes what it took, and waits as it waited: most updates are of its status.
fn is_alike(old: &Pod, new: &Pod) -> bool {
    old.node_name == new.node_name
        && old.is_terminal() == new.is_terminal()
        && old.meta.is_deleting() == new.meta.is_deleting()
        && Rc::ptr_eq(&old.spec, &new.spec)
}

impl Component for Assigner {
    fn name(&self) -> &'static str {
        match self.role {
            Role::Tasks => "tasks",
            Role::Loop => "loop",
        }
    }

    fn watches(&self) -> Vec<WatchSpec> {
        [Kind::Node, Kind::Pod].map(|kind| WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(kind) }).to_vec()
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Start if self.role == Role::Loop => self.set_pass_timer(ctx),
            Input::Delta(delta) => self.on_delta(&delta, ctx),
            Input::Reply { token, result } => self.on_reply(token, &result, ctx),
            Input::Timer { token: PASS } => {
                self.pass(ctx);
                self.set_pass_timer(ctx);
            }
            Input::Timer { token } => self.act(token, ctx),
            Input::Start | Input::Container(_) | Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.thoughts.is_empty() && self.written.is_empty()
    }

    /// The timer of a task that is over finds nothing to do.
    fn end_tasks(&mut self, is_meant: &mut dyn FnMut(&Key) -> bool) -> Vec<Key> {
        if self.role == Role::Loop {
            return Vec::new();
        }
        let tasks = self.thoughts.iter().rev().map(|(token, thought)| (*token, Object::Pod(thought.pod.clone()).key()));
        let meant: Vec<(u64, Key)> = tasks.filter(|(_, key)| is_meant(key)).collect();
        for (token, _) in &meant {
            self.thoughts.remove(token);
        }
        self.counts.died += meant.len() as u64;
        meant.into_iter().map(|(_, key)| key).collect()
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        let by = [("by", self.name())];
        let Counts { assigned, conflicts, died, no_room } = self.counts;
        sink.sample("polling_assignments_total", &by, assigned as f64);
        sink.sample("polling_conflicts_total", &by, conflicts as f64);
        sink.sample("polling_no_room_total", &by, no_room as f64);
        if self.role == Role::Tasks {
            sink.sample("polling_tasks_died_total", &[], died as f64);
        } else {
            sink.sample("polling_pending_pods", &[], self.pending.len() as f64);
            sink.sample("polling_placed_pods", &[], self.placed.len() as f64);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

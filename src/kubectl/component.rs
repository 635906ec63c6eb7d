//! kubectl as a client: carries out commands with the requests the real one sends.
//!
//! Upstream: k8s.io/kubectl/pkg/cmd, v1.36: a selector or `--all` is a LIST followed by one request an object; `apply` is a
//! GET and then a POST or a PATCH; `scale` reads the object and writes `/scale`; `cordon` patches `spec.unschedulable`;
//! `drain` cordons, lists the node's pods, and evicts each of them in a thread of its own, which tries again every 5 s after
//! a 429 and then asks each second whether the pod is gone.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::component::{Component, Context, Input, MetricSink, WatchSpec};
use crate::engine::calendar::Nature;
use crate::model::api::{Field, FieldRequirement, ListVersion, ObjectSelector, Reason};
use crate::model::record::Detail;
use crate::model::{
    Action, Answer, ApiResult, Key, Kind, Kinds, Map, Name, Patch, Preconditions, Request, Rv, Span, Time, Uid,
};
use crate::rules::{codec, selector_text};

use super::command::{Command, CommandVerb, DrainOptions, Target};
use super::drain;
use super::wait::{self, Seen, WaitFor};

/// A token is the index of a command, and above these bits the number of its thread, 0 for the first.
const THREAD_SHIFT: u32 = 32;
/// Upstream: kubectl/pkg/drain/drain.go (`evictPods`), v1.36.
const EVICTION_RETRY: Span = Span::from_seconds(5);
/// Upstream: kubectl/pkg/cmd/drain/drain.go and pkg/drain/drain.go (`waitForDelete`), v1.36.
const DELETION_POLL: Span = Span::from_seconds(1);
/// How often a wait looks.
const WAIT_POLL: Span = Span::from_milliseconds(500);

/// kubectl with the commands of a scenario's timeline; a timer with an entry's index starts the entry. Each command is an
/// invocation of its own and sends one request after the other, in each of its threads.
#[derive(Clone)]
pub struct Kubectl {
    commands: Vec<Command>,
    kinds: Kinds,
    /// By token: what is still to send, and what the answer under way is for.
    invocations: Map<u64, Invocation>,
    /// Waits that were met, timed out, failed.
    waits: [u64; 3],
}

/// A command that runs.
#[derive(Clone, Debug, Default)]
struct Invocation {
    to_send: VecDeque<(Request, Then)>,
    under_way: Option<Then>,
    /// When a drain or a wait is given up.
    deadline: Option<Time>,
}

/// What kubectl does when an answer arrives.
#[derive(Clone, Debug)]
enum Then {
    /// Act on each object of the list.
    ActOnEach,
    /// Create the object if it is not there, else patch it.
    Apply(Arc<Value>),
    /// Write the scale of the object.
    Scale(i32),
    /// Evict the pods of the list that a drain is about.
    EvictEach,
    /// The pod is being evicted: wait until it is gone.
    Evicted(Key, Uid),
    /// See whether what was waited for has happened.
    Awaited,
    /// The pod was looked for.
    LookedFor(Key, Uid),
    /// Nothing more.
    Nothing,
}

impl Kubectl {
    /// kubectl with these commands, in a cluster that serves these kinds.
    pub fn new(commands: Vec<Command>, kinds: Kinds) -> Kubectl {
        Kubectl { commands, kinds, invocations: Map::default(), waits: [0; 3] }
    }

    fn begin(&mut self, index: u64, ctx: &mut Context<'_>) {
        let (mut to_send, mut deadline) = (VecDeque::new(), None);
        let command = &self.commands[index as usize];
        match &command.verb {
            CommandVerb::Delete { target, .. } | CommandVerb::Patch { target, .. } if target.names.is_empty() => {
                match list_request(target) {
                    Ok(request) => to_send.push_back((request, Then::ActOnEach)),
                    Err(problem) => complain(command, problem, ctx),
                }
            }
            verb @ (CommandVerb::Delete { target, .. } | CommandVerb::Patch { target, .. }) => {
                to_send.extend(keys_of(target).into_iter().map(|key| (act(verb, key), Then::Nothing)));
            }
            CommandVerb::Scale { target, replicas } => {
                to_send.extend(keys_of(target).into_iter().map(|key| (Request::Get(key), Then::Scale(*replicas))));
            }
            CommandVerb::Wait { target, timeout, .. } => {
                deadline = Some(ctx.now + *timeout);
                to_send.extend(keys_of(target).into_iter().map(|key| (Request::Get(key), Then::Awaited)));
            }
            CommandVerb::Apply { objects, creates } => {
                for value in objects {
                    match codec::decode_among(value, &self.kinds) {
                        Ok(object) if *creates => to_send.push_back((Request::Create(object), Then::Nothing)),
                        Ok(object) => to_send.push_back((Request::Get(object.key()), Then::Apply(value.clone()))),
                        Err(problems) => {
                            let texts: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
                            complain(command, texts.join("; "), ctx);
                        }
                    }
                }
            }
            CommandVerb::Cordon { node, unschedulable } => {
                to_send.push_back((cordon(node, *unschedulable), Then::Nothing));
            }
            CommandVerb::Drain { node, options } => {
                to_send.push_back((cordon(node, true), Then::Nothing));
                match pods_of(node, options) {
                    Ok(request) => to_send.push_back((request, Then::EvictEach)),
                    Err(problem) => complain(command, problem, ctx),
                }
            }
        }
        self.invocations.insert(index, Invocation { to_send, deadline, ..Invocation::default() });
        self.send_next(index, ctx);
    }

    fn send_next(&mut self, token: u64, ctx: &mut Context<'_>) {
        let Some(invocation) = self.invocations.get_mut(&token) else { return };
        match invocation.to_send.pop_front() {
            Some((request, then)) => {
                invocation.under_way = Some(then);
                ctx.out.request(request, token);
            }
            None => {
                self.invocations.swap_remove(&token);
            }
        }
    }

    /// A thread of a drain goes on after a wait, or gives up.
    fn woken(&mut self, token: u64, ctx: &mut Context<'_>) {
        let Some(invocation) = self.invocations.get(&token) else { return };
        let is_wait = matches!(self.commands[command_of(token)].verb, CommandVerb::Wait { .. });
        if !is_wait && invocation.deadline.is_some_and(|deadline| deadline <= ctx.now) {
            let given_up = self.invocations.swap_remove(&token).expect("just seen");
            let pod = given_up.to_send.front().map(|(request, _)| request.key()).expect("a thread waits to send");
            let text = format!("drain of pod {}/{}: global timeout reached", pod.namespace, pod.name);
            return complain(&self.commands[command_of(token)], text, ctx);
        }
        self.send_next(token, ctx);
    }

    /// Begins a thread for each pod that a drain evicts.
    fn evict(&mut self, index: u64, pods: Vec<(Key, Uid)>, options: &DrainOptions, ctx: &mut Context<'_>) {
        let deadline = options.timeout.map(|timeout| ctx.now + timeout);
        for (thread, (key, uid)) in (1..).zip(pods) {
            let token = index | thread << THREAD_SHIFT;
            let to_send = VecDeque::from([(eviction(&key, options), Then::Evicted(key, uid))]);
            self.invocations.insert(token, Invocation { to_send, under_way: None, deadline });
            self.send_next(token, ctx);
        }
    }

    fn answered(&mut self, token: u64, result: ApiResult, ctx: &mut Context<'_>) {
        let invocation = self.invocations.get_mut(&token).expect("an answer belongs to an invocation");
        let then = invocation.under_way.take().expect("one request of an invocation is under way");
        let command = &self.commands[command_of(token)];
        if let CommandVerb::Drain { node, options } = &command.verb {
            let (node, options) = (node.clone(), options.clone());
            return self.drain_answered(token, (&node, &options), then, result, ctx);
        }
        if let CommandVerb::Wait { wanted, .. } = &command.verb {
            let wanted = wanted.clone();
            return self.wait_answered(token, &wanted, &result, ctx);
        }
        let verb = &command.verb;
        match (then, result) {
            (Then::ActOnEach, Ok(Answer::List { items, .. })) => {
                let found = items.iter().take(pick(verb).unwrap_or(items.len()));
                invocation.to_send.extend(found.map(|object| (act(verb, object.key()), Then::Nothing)));
                if items.is_empty() {
                    complain(command, "No resources found".to_string(), ctx);
                }
            }
            (Then::Apply(value), Err(error)) if error.reason == Reason::NotFound => {
                let object = codec::decode_among(&value, &self.kinds).expect("it was decoded before the GET");
                invocation.to_send.push_front((Request::Create(object), Then::Nothing));
            }
            (Then::Apply(value), Ok(Answer::Object(existing))) => {
                // DIVERGES: apply is a strategic merge patch of the manifest; fields removed from the manifest stay.
                // Custom resources take no strategic patch.
                let value = Rc::new((*value).clone());
                let is_custom = existing.kind().is_custom();
                let patch = if is_custom { Patch::Merge(value) } else { Patch::Strategic(value) };
                invocation.to_send.push_front((Request::Patch { key: existing.key(), patch }, Then::Nothing));
            }
            (Then::Scale(replicas), Ok(Answer::Object(object))) => {
                let request = Request::Scale { key: object.key(), replicas, resource_version: Rv(0) };
                invocation.to_send.push_front((request, Then::Nothing));
            }
            (_, Err(error)) => complain(command, format!("Error from server: {}", error.message), ctx),
            (_, Ok(_)) => {}
        }
        self.send_next(token, ctx);
    }

    /// DIVERGES: upstream has a watch of the object; here it is asked for again twice a second.
    fn wait_answered(&mut self, token: u64, wanted: &WaitFor, result: &ApiResult, ctx: &mut Context<'_>) {
        let command = &self.commands[command_of(token)];
        let invocation = self.invocations.get_mut(&token).expect("the caller has seen it");
        let is_over = invocation.deadline.is_some_and(|deadline| deadline <= ctx.now);
        match wait::seen(wanted, result, codec::encode) {
            Seen::Met => {
                self.waits[0] += 1;
                self.send_next(token, ctx);
            }
            Seen::NotYet if !is_over => {
                let CommandVerb::Wait { target, .. } = &command.verb else { return };
                let left = invocation.to_send.len();
                let keys = keys_of(target);
                let key = keys[keys.len() - left - 1].clone();
                invocation.to_send.push_front((Request::Get(key), Then::Awaited));
                let at = ctx.now + WAIT_POLL;
                let at = invocation.deadline.map_or(at, |deadline| deadline.min(at));
                ctx.out.set_timer(token, at, Nature::Work);
            }
            Seen::NotYet => {
                self.waits[1] += 1;
                complain(command, "timed out waiting for the condition".to_string(), ctx);
                self.invocations.swap_remove(&token);
            }
            Seen::Hopeless => {
                self.waits[2] += 1;
                let why = result.as_ref().err().map_or(String::new(), |error| error.message.clone());
                complain(command, format!("Error from server: {why}"), ctx);
                self.invocations.swap_remove(&token);
            }
        }
    }

    fn drain_answered(
        &mut self,
        token: u64,
        (node, options): (&str, &DrainOptions),
        then: Then,
        result: ApiResult,
        ctx: &mut Context<'_>,
    ) {
        let invocation = self.invocations.get_mut(&token).expect("the caller has seen it");
        let wait = match (then, result) {
            (Then::EvictEach, Ok(Answer::List { items, .. })) => {
                match drain::choose(&items, options) {
                    Ok(pods) => self.evict(token, pods, options, ctx),
                    Err(why) => {
                        let text = format!("unable to drain node \"{node}\" due to error: {why}");
                        complain(&self.commands[command_of(token)], text, ctx);
                    }
                }
                None
            }
            (Then::Evicted(key, uid), Ok(_)) => {
                invocation.to_send.push_back((Request::Get(key.clone()), Then::LookedFor(key, uid)));
                None
            }
            (Then::Evicted(key, uid), Err(error)) if error.reason == Reason::TooManyRequests => {
                invocation.to_send.push_back((eviction(&key, options), Then::Evicted(key, uid)));
                Some(EVICTION_RETRY)
            }
            (Then::LookedFor(key, uid), Ok(Answer::Object(object))) if object.meta().uid == uid => {
                invocation.to_send.push_back((Request::Get(key.clone()), Then::LookedFor(key, uid)));
                Some(DELETION_POLL)
            }
            // It is gone.
            (Then::Evicted(..) | Then::LookedFor(..), Err(error)) if error.reason == Reason::NotFound => None,
            (_, Err(error)) => {
                // Without its cordon, or without the list, a drain goes no further.
                invocation.to_send.clear();
                let text = format!("unable to drain node \"{node}\" due to error: {}", error.message);
                complain(&self.commands[command_of(token)], text, ctx);
                None
            }
            (_, Ok(_)) => None,
        };
        match wait {
            None => self.send_next(token, ctx),
            Some(wait) => {
                let deadline = self.invocations[&token].deadline;
                let at = deadline.map_or(ctx.now + wait, |deadline| deadline.min(ctx.now + wait));
                ctx.out.set_timer(token, at, Nature::Work);
            }
        }
    }
}

/// The command that a token belongs to.
fn command_of(token: u64) -> usize {
    (token & ((1 << THREAD_SHIFT) - 1)) as usize
}

fn cordon(node: &str, unschedulable: bool) -> Request {
    let value = if unschedulable { json!(true) } else { Value::Null };
    let patch = Patch::Merge(Rc::new(json!({"spec": {"unschedulable": value}})));
    Request::Patch { key: Key::new(Kind::Node, Name::EMPTY, node), patch }
}

/// The list of a node's pods.
fn pods_of(node: &str, options: &DrainOptions) -> Result<Request, String> {
    let text = options.pod_selector.as_deref().unwrap_or("");
    let labels = selector_text::parse_labels(text).map_err(|error| error.to_string())?;
    let on_node = FieldRequirement { field: Field::SpecNodeName, value: Name::new(node), negated: false };
    let selector = ObjectSelector { labels, fields: vec![on_node] };
    Ok(Request::List { kind: Kind::Pod, namespace: None, selector, version: ListVersion::Newest })
}

fn eviction(pod: &Key, options: &DrainOptions) -> Request {
    let (pod, grace_seconds) = (pod.clone(), options.grace_seconds);
    match options.disable_eviction {
        true => Request::Delete { key: pod, grace_seconds, preconditions: Preconditions::default() },
        false => Request::Evict { pod, grace_seconds },
    }
}

/// The request for one object of a delete or a patch.
fn act(verb: &CommandVerb, key: Key) -> Request {
    match verb {
        CommandVerb::Delete { grace_seconds, .. } => {
            Request::Delete { key, grace_seconds: *grace_seconds, preconditions: Preconditions::default() }
        }
        CommandVerb::Patch { patch, strategic, .. } => {
            let value = Rc::new((**patch).clone());
            Request::Patch { key, patch: if *strategic { Patch::Strategic(value) } else { Patch::Merge(value) } }
        }
        CommandVerb::Scale { .. }
        | CommandVerb::Apply { .. }
        | CommandVerb::Cordon { .. }
        | CommandVerb::Wait { .. }
        | CommandVerb::Drain { .. } => {
            unreachable!("only deletes and patches act on each object of a list")
        }
    }
}

fn pick(verb: &CommandVerb) -> Option<usize> {
    match verb {
        CommandVerb::Delete { pick, .. } => *pick,
        _ => None,
    }
}

/// What kubectl would print as an error stands in the trace, and from there in the notices of the run.
fn complain(command: &Command, text: String, ctx: &mut Context<'_>) {
    let line = command.text.strip_prefix("kubectl ").unwrap_or(&command.text);
    ctx.out.record(Action::Decide, None, Detail::from(format!("kubectl {line}: {text}")));
}

fn keys_of(target: &Target) -> Vec<Key> {
    let namespace = Name::new(&target.namespace);
    target.names.iter().map(|name| Key::new(target.kind, namespace.clone(), name.as_str())).collect()
}

fn list_request(target: &Target) -> Result<Request, String> {
    let labels = selector_text::parse_labels(target.selector.as_deref().unwrap_or("")).map_err(|e| e.to_string())?;
    let namespace = (!target.namespace.is_empty()).then(|| Name::new(&target.namespace));
    Ok(Request::List {
        kind: target.kind,
        namespace,
        selector: ObjectSelector { labels, fields: Vec::new() },
        version: ListVersion::Newest,
    })
}

impl Component for Kubectl {
    fn name(&self) -> &'static str {
        "kubectl"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        Vec::new()
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Timer { token } if self.invocations.contains_key(&token) => self.woken(token, ctx),
            Input::Timer { token } => self.begin(token, ctx),
            Input::Reply { token, result } => self.answered(token, result, ctx),
            Input::Start | Input::Delta(_) | Input::Container(_) | Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.invocations.is_empty()
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        if self.commands.iter().any(|command| matches!(command.verb, CommandVerb::Wait { .. })) {
            for (result, count) in ["met", "timed-out", "failed"].into_iter().zip(self.waits) {
                sink.sample("kubesim_kubectl_waits_total", &[("result", result)], count as f64);
            }
        }
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

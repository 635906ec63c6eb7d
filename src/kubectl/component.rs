//! kubectl as a client: carries out commands with the requests the real one sends.
//!
//! Upstream: k8s.io/kubectl/pkg/cmd, v1.36: a selector or `--all` is a LIST followed by one request an object; `apply` is a
//! GET and then a POST or a PATCH; `scale` reads the object and writes `/scale`; `cordon` patches `spec.unschedulable`.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::component::{Component, Context, Input, MetricSink, WatchSpec};
use crate::model::api::{ListVersion, ObjectSelector, Reason};
use crate::model::record::Detail;
use crate::model::{Action, Answer, ApiResult, Key, Kind, Kinds, Map, Name, Patch, Preconditions, Request, Rv, Time};
use crate::rules::{codec, selector_text};

use super::command::{Command, CommandVerb, Target};

/// kubectl with the commands of a scenario's timeline; a timer with an entry's index starts the entry. Each command is an
/// invocation of its own and sends one request after the other.
#[derive(Clone)]
pub struct Kubectl {
    commands: Vec<Command>,
    kinds: Kinds,
    /// By index of the command: what is still to send, and what the answer under way is for.
    invocations: Map<u64, Invocation>,
}

/// A command that runs.
#[derive(Clone, Debug, Default)]
struct Invocation {
    to_send: VecDeque<(Request, Then)>,
    under_way: Option<Then>,
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
    /// Nothing more.
    Nothing,
}

impl Kubectl {
    /// kubectl with these commands, in a cluster that serves these kinds.
    pub fn new(commands: Vec<Command>, kinds: Kinds) -> Kubectl {
        Kubectl { commands, kinds, invocations: Map::default() }
    }

    fn begin(&mut self, index: u64, ctx: &mut Context<'_>) {
        let mut to_send = VecDeque::new();
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
            CommandVerb::Apply { objects } => {
                for value in objects {
                    match codec::decode_among(value, &self.kinds) {
                        Ok(object) => to_send.push_back((Request::Get(object.key()), Then::Apply(value.clone()))),
                        Err(problems) => {
                            let texts: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
                            complain(command, texts.join("; "), ctx);
                        }
                    }
                }
            }
            CommandVerb::Cordon { node, unschedulable } => {
                let key = Key::new(Kind::Node, Name::EMPTY, node.as_str());
                let value = if *unschedulable { json!(true) } else { Value::Null };
                let patch = Patch::Merge(Rc::new(json!({"spec": {"unschedulable": value}})));
                to_send.push_back((Request::Patch { key, patch }, Then::Nothing));
            }
        }
        self.invocations.insert(index, Invocation { to_send, under_way: None });
        self.send_next(index, ctx);
    }

    fn send_next(&mut self, index: u64, ctx: &mut Context<'_>) {
        let Some(invocation) = self.invocations.get_mut(&index) else { return };
        match invocation.to_send.pop_front() {
            Some((request, then)) => {
                invocation.under_way = Some(then);
                ctx.out.request(request, index);
            }
            None => {
                self.invocations.swap_remove(&index);
            }
        }
    }

    fn answered(&mut self, index: u64, result: ApiResult, ctx: &mut Context<'_>) {
        let invocation = self.invocations.get_mut(&index).expect("an answer belongs to an invocation");
        let then = invocation.under_way.take().expect("one request of an invocation is under way");
        let command = &self.commands[index as usize];
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
        self.send_next(index, ctx);
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
        CommandVerb::Scale { .. } | CommandVerb::Apply { .. } | CommandVerb::Cordon { .. } => {
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
            Input::Timer { token } => self.begin(token, ctx),
            Input::Reply { token, result } => self.answered(token, result, ctx),
            Input::Start | Input::Delta(_) | Input::Container(_) => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.invocations.is_empty()
    }

    fn metrics(&self, _now: Time, _sink: &mut dyn MetricSink) {}

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

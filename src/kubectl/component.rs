//! kubectl as a client: carries out commands with the requests the real one sends.
//!
//! Upstream: k8s.io/kubectl/pkg/cmd, v1.36: a selector or `--all` is a LIST followed by one request an object; `apply` is a
//! GET and then a POST or a PATCH; `scale` reads the object and writes `/scale`; `cordon` patches `spec.unschedulable`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::component::{Component, Context, Input, MetricSink, WatchSpec};
use crate::model::api::{ObjectSelector, Reason};
use crate::model::record::Detail;
use crate::model::{Action, Answer, ApiResult, Key, Kind, Map, Name, Object, Patch, Preconditions, Request, Rv, Time};
use crate::rules::{codec, selector_text};

use super::command::{Command, CommandVerb, Target};

/// kubectl with the commands of a scenario's timeline; a timer with an entry's index starts the entry.
#[derive(Clone)]
pub struct Kubectl {
    commands: Vec<Command>,
    waiting: Map<u64, Waiting>,
    next_token: u64,
}

/// What kubectl does when an answer arrives.
#[derive(Clone, Debug)]
enum Waiting {
    /// The list of objects a command is about.
    List(usize),
    /// Whether the object exists, to create or patch it.
    Get(Arc<Value>),
    /// The object to scale.
    Scale(i32),
    /// Nothing more.
    Last,
}

impl Kubectl {
    /// kubectl with these commands.
    pub fn new(commands: Vec<Command>) -> Kubectl {
        Kubectl { commands, waiting: Map::default(), next_token: 0 }
    }

    fn send(&mut self, request: Request, then: Waiting, ctx: &mut Context<'_>) {
        let token = self.next_token;
        self.next_token += 1;
        self.waiting.insert(token, then);
        ctx.out.request(request, token);
    }

    fn begin(&mut self, index: usize, ctx: &mut Context<'_>) {
        let verb = self.commands[index].verb.clone();
        match &verb {
            CommandVerb::Delete { target, .. } | CommandVerb::Patch { target, .. } if target.names.is_empty() => {
                match list_request(target) {
                    Ok(request) => self.send(request, Waiting::List(index), ctx),
                    Err(problem) => self.complain(None, problem, ctx),
                }
            }
            CommandVerb::Delete { target, .. } | CommandVerb::Patch { target, .. } => {
                for key in keys_of(target) {
                    self.act(&verb, key, ctx);
                }
            }
            CommandVerb::Scale { target, replicas } => {
                for key in keys_of(target) {
                    self.send(Request::Get(key), Waiting::Scale(*replicas), ctx);
                }
            }
            CommandVerb::Apply { objects } => {
                for value in objects {
                    match codec::decode(value) {
                        Ok(object) => {
                            self.send(Request::Get(object.key()), Waiting::Get(value.clone()), ctx);
                        }
                        Err(problems) => {
                            let texts: Vec<_> = problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
                            self.complain(None, texts.join("; "), ctx);
                        }
                    }
                }
            }
            CommandVerb::Cordon { node, unschedulable } => {
                let key = Key::new(Kind::Node, Name::EMPTY, node.as_str());
                let value = if *unschedulable { json!(true) } else { Value::Null };
                let patch = Patch::Merge(std::rc::Rc::new(json!({"spec": {"unschedulable": value}})));
                self.send(Request::Patch { key, patch }, Waiting::Last, ctx);
            }
        }
    }

    /// One object of a delete or a patch.
    fn act(&mut self, verb: &CommandVerb, key: Key, ctx: &mut Context<'_>) {
        let request = match verb {
            CommandVerb::Delete { grace_seconds, .. } => {
                Request::Delete { key, grace_seconds: *grace_seconds, preconditions: Preconditions::default() }
            }
            CommandVerb::Patch { patch, strategic, .. } => {
                let value = std::rc::Rc::new((**patch).clone());
                let patch = if *strategic { Patch::Strategic(value) } else { Patch::Merge(value) };
                Request::Patch { key, patch }
            }
            _ => return,
        };
        self.send(request, Waiting::Last, ctx);
    }

    fn answered(&mut self, waiting: Waiting, result: ApiResult, ctx: &mut Context<'_>) {
        match (waiting, result) {
            (Waiting::List(index), Ok(Answer::List { items, .. })) => self.listed(index, &items, ctx),
            (Waiting::Get(value), Err(error)) if error.reason == Reason::NotFound => match codec::decode(&value) {
                Ok(object) => self.send(Request::Create(object), Waiting::Last, ctx),
                Err(_) => unreachable!("it was decoded before the GET"),
            },
            (Waiting::Get(value), Ok(Answer::Object(existing))) => {
                // DIVERGES: apply is a strategic merge patch of the manifest; fields removed from the manifest stay.
                let patch = Patch::Strategic(std::rc::Rc::new((*value).clone()));
                self.send(Request::Patch { key: existing.key(), patch }, Waiting::Last, ctx);
            }
            (Waiting::Scale(replicas), Ok(Answer::Object(object))) => {
                let request = Request::Scale { key: object.key(), replicas, resource_version: Rv(0) };
                self.send(request, Waiting::Last, ctx);
            }
            (_, Err(error)) => self.complain(None, format!("Error from server: {}", error.message), ctx),
            (_, Ok(_)) => {}
        }
    }

    fn listed(&mut self, index: usize, items: &[Object], ctx: &mut Context<'_>) {
        let verb = self.commands[index].verb.clone();
        let pick = match &verb {
            CommandVerb::Delete { pick: Some(pick), .. } => *pick,
            _ => items.len(),
        };
        if items.is_empty() {
            self.complain(None, "No resources found".to_string(), ctx);
        }
        for object in items.iter().take(pick) {
            self.act(&verb, object.key(), ctx);
        }
    }

    fn complain(&mut self, key: Option<Key>, text: String, ctx: &mut Context<'_>) {
        ctx.out.record(Action::Decide, key, Detail::from(text));
    }
}

fn keys_of(target: &Target) -> Vec<Key> {
    let namespace = Name::new(&target.namespace);
    target.names.iter().map(|name| Key::new(target.kind, namespace.clone(), name.as_str())).collect()
}

fn list_request(target: &Target) -> Result<Request, String> {
    let labels = selector_text::parse_labels(target.selector.as_deref().unwrap_or("")).map_err(|e| e.to_string())?;
    let namespace = (!target.namespace.is_empty()).then(|| Name::new(&target.namespace));
    Ok(Request::List { kind: target.kind, namespace, selector: ObjectSelector { labels, fields: Vec::new() } })
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
            Input::Timer { token } => self.begin(token as usize, ctx),
            Input::Reply { token, result } => {
                let waiting = self.waiting.swap_remove(&token).expect("each token is answered once");
                self.answered(waiting, result, ctx);
            }
            Input::Start | Input::Delta(_) | Input::Container(_) => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    fn metrics(&self, _now: Time, _sink: &mut dyn MetricSink) {}

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

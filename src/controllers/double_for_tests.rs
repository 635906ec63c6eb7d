//! A test double around one reconciler: caches filled by hand, requests answered by a script.

use std::fmt::Write as _;

use crate::client::reconciler::{Enqueue, HANDLER_CALL, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, Draws, Effect, Informers, Outbox, Purpose, Sensors};
use crate::model::api::ObjectSelector;
use crate::model::{Answer, ApiResult, Key, Kind, Name, Object, Patch, RecordId, Request, Rv, Time, Uid};

/// The double.
pub struct Script<R: Reconciler> {
    pub reconciler: R,
    pub informers: Informers,
    pub now: Time,
    /// Requests as words, conflicts and Events among them, in order.
    pub log: Vec<String>,
    version: u64,
    created: u64,
    /// What a handler asks for by itself.
    handler_call: Option<Request>,
}

struct Nothing;

impl Sensors for Nothing {
    fn has_image(&self, _: &Name, _: &Name) -> bool {
        false
    }
    fn running_since(&self, _: &Uid, _: u32) -> Option<Time> {
        None
    }
}

impl Draws for Nothing {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        0
    }
}

impl<R: Reconciler> Script<R> {
    pub fn new(reconciler: R, now: Time) -> Script<R> {
        let mut informers = Informers::new();
        for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::Pod] {
            informers.ensure(kind, &ObjectSelector::everything());
        }
        Script { reconciler, informers, now, log: Vec::new(), version: 100, created: 0, handler_call: None }
    }

    /// Puts an object into its cache and calls the handler; returns the keys it pushed.
    pub fn deliver(&mut self, object: impl Into<Object>) -> Vec<Enqueue> {
        let object = object.into();
        let informer = self.informers.get_informer_mut(object.kind()).unwrap();
        informer.saw(object.meta().resource_version);
        let change = match informer.cache.insert(object.clone()) {
            Some(old) => Change::Updated { old, new: object },
            None => Change::Added(object),
        };
        self.observe(change)
    }

    /// Takes an object out of its cache and calls the handler; returns the keys it pushed.
    pub fn remove(&mut self, key: &Key) -> Vec<Enqueue> {
        let last = self.informers.get_informer_mut(key.kind).unwrap().cache.remove(key).unwrap();
        self.observe(Change::Deleted { last, tombstone: false })
    }

    fn observe(&mut self, change: Change) -> Vec<Enqueue> {
        let delta = Delta { change, is_resync: false, is_initial: false };
        let mut keys = Vec::new();
        self.with_context(|reconciler, ctx| reconciler.observe(&delta, ctx, &mut keys));
        while let Some(Request::List { kind, selector, .. }) = self.handler_call.take() {
            let items = self.informers.list(kind).into_iter().filter(|object| selector.matches(object)).cloned();
            let answer = Answer::List { items: items.collect(), resource_version: Rv(self.version) };
            self.with_context(|reconciler, ctx| reconciler.handler_answered(Ok(answer), ctx, &mut keys));
        }
        keys
    }

    /// One reconcile; `answer` replies to each request, or `None` for the standard answer (it works).
    pub fn reconcile(&mut self, key: &Key, mut answer: impl FnMut(&Request) -> Option<ApiResult>) -> Outcome {
        let mut step = self.with_context(|reconciler, ctx| reconciler.begin(key, ctx));
        loop {
            let (requests, mut state) = match step {
                Step::Finish(outcome) => return outcome,
                Step::Call { requests, state } => (requests, state),
                Step::Wait { span, state } => {
                    self.now += span;
                    step = self.with_context(|reconciler, ctx| reconciler.resume(key, state, Vec::new(), ctx));
                    continue;
                }
            };
            let mut replies = Vec::new();
            for (index, request) in requests.iter().enumerate() {
                let result = answer(request).unwrap_or_else(|| Ok(self.accept(request)));
                self.log.push(words(request, &result));
                self.with_context(|reconciler, ctx| reconciler.on_reply(key, &mut state, index, &result, ctx));
                replies.push(result);
            }
            step = self.with_context(|reconciler, ctx| reconciler.resume(key, state, replies, ctx));
        }
    }

    fn accept(&mut self, request: &Request) -> Answer {
        self.version += 1;
        let mut object = match request {
            Request::Create(object) | Request::Update(object) | Request::UpdateStatus(object) => object.clone(),
            Request::Get(key) | Request::Patch { key, .. } => self.informers.get(key).unwrap().clone(),
            _ => return Answer::Done(Rv(self.version)),
        };
        let meta = object.meta_mut();
        meta.resource_version = Rv(self.version);
        if matches!(request, Request::Create(_)) {
            self.created += 1;
            meta.uid = Name::from(format!("u-{}", self.created));
            meta.creation = self.now;
            if meta.name.is_empty() {
                meta.name = Name::from(format!("{}{}", meta.generate_name, self.created));
            }
        }
        Answer::Object(object)
    }

    fn with_context<T>(&mut self, act: impl FnOnce(&mut R, &mut Context<'_>) -> T) -> T {
        let mut out = Outbox::new(RecordId(1), 2);
        let mut ctx = Context {
            now: self.now,
            informers: &self.informers,
            sensors: &Nothing,
            draws: &mut Nothing,
            out: &mut out,
        };
        let result = act(&mut self.reconciler, &mut ctx);
        for (_, effect) in out.effects {
            match effect {
                Effect::Event { reason, message, .. } => self.log.push(format!("event {reason}: {message}")),
                Effect::Request { request, token: HANDLER_CALL, .. } => self.handler_call = Some(request),
                other => panic!("a reconciler has no business with {other:?}"),
            }
        }
        result
    }
}

fn words(request: &Request, result: &ApiResult) -> String {
    let verb = match request {
        Request::UpdateStatus(_) => "status",
        Request::Update(_) => "update",
        Request::Create(_) => "create",
        Request::Patch { patch: Patch::Merge(_), .. } => "patch",
        Request::Delete { .. } => "delete",
        Request::Get(_) => "get",
        Request::List { .. } => "list",
        other => panic!("unexpected request {other:?}"),
    };
    let name =
        result.as_ref().ok().and_then(Answer::object).map_or(request.key().name, |made| made.meta().name.clone());
    let mut text = format!("{verb} {}/{name}", request.kind().singular());
    if let Err(error) = result {
        write!(text, " -> {:?}", error.reason).unwrap();
    }
    text
}

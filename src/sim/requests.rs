//! A request at the API server: arrival, commit, reply.

use crate::apiserver::Writer;
use crate::component::draw_span;
use crate::engine::calendar::Nature;
use crate::model::api::Reason;
use crate::model::record::Detail;
use crate::model::{Action, Answer, ApiResult, Kind, Object, Patch, RecordId, Request, Span};
use crate::rules::admission::NodeRegistration;

use super::dispatch::REQUEST_LATENCY;
use super::event::{Event, RequestId};
use super::world::World;

impl World {
    /// A request reaches the API server.
    pub(super) fn request_arrives(&mut self, id: RequestId) {
        if self.requests.get_mut(id).abandoned {
            self.requests.remove(id);
            return;
        }
        if self.transport.is_some() {
            return self.arrives_over_transport(id);
        }
        if self.request_meets_faults(id, self.calendar.now()) {
            return;
        }
        self.admit(id);
    }

    /// The server has done its work on a request: reads are answered, writes go on to etcd.
    pub(super) fn worked_on(&mut self, id: RequestId) {
        let request = self.requests.get_mut(id);
        if !request.request.is_write() {
            return self.execute(id);
        }
        let (entity, occurrence) = request.draw;
        let latency = &super::build::latency_of(&self.plan, &self.processes[request.process].name).commit;
        match draw_span(&mut self.draws, latency, REQUEST_LATENCY, entity, occurrence * 4 + 1) {
            Span::ZERO => self.execute(id),
            span => {
                let at = self.calendar.now() + span;
                self.calendar.schedule(at, Nature::Work, Event::Commit(id));
            }
        }
    }

    /// Whether the request ends here, because its client has closed the connection: its seats are free.
    fn is_dropped(&mut self, id: RequestId) -> bool {
        let is_abandoned = self.requests.get_mut(id).abandoned;
        if is_abandoned {
            self.leave_server(id);
            self.requests.remove(id);
        }
        is_abandoned
    }

    /// A write takes effect, and its server may go on with others.
    pub(super) fn commit(&mut self, id: RequestId) {
        let server = self.requests.get_mut(id).at_server.server;
        self.execute(id);
        self.look_after(server);
    }

    /// The request takes effect; its reply sets out.
    pub(super) fn execute(&mut self, id: RequestId) {
        if self.is_dropped(id) || self.dies_with_the_server(id) {
            return;
        }
        if matches!(self.requests.get_mut(id).request, Request::Watch { .. }) {
            return self.open_stream(id);
        }
        if self.waits_for_cache(id) {
            return;
        }
        let now = self.calendar.now();
        let flight = self.requests.get_mut(id);
        let (process, cause) = (flight.process, flight.cause);
        let request = std::mem::replace(&mut flight.request, Request::RenewLeases { keys: [].into() });
        let record = RecordId(self.next_record);
        let was_there = can_remove(&request) && self.api.truth().get(&request.key()).is_some();
        let cached = self.cached_list(id, &request);
        let mut executed = {
            let mut writer = Writer { now, cause: record, draws: &mut self.draws, existing: NodeRegistration::New };
            self.api.execute(&request, &mut writer)
        };
        if let Some(result) = cached {
            executed.result = result;
        }
        self.counters.requests += 1;
        let action = action_of(&request);
        let key = match &executed.result {
            Ok(Answer::Object(object)) => Some(object.key()),
            // A list or a batch of leases is about no single object.
            _ => Some(request.key()).filter(|key| !key.name.is_empty()),
        };
        let kind = request.kind();
        self.count(&request, &executed.result, kind);
        let detail = match (&request, &executed.result) {
            (Request::List { kind, .. }, Ok(_)) => Detail::Words(kind.info().plural),
            (_, Ok(_)) => self.requests.get_mut(id).client.detail(),
            (_, Err(_)) => detail_of(&executed.result),
        };
        let noted = self.note(cause, Some(process), action, key.clone(), detail);
        debug_assert_eq!(noted, record, "the writer used the number of this record");
        self.name_component(id);
        if was_there && let Some(key) = key.filter(|key| self.api.truth().get(key).is_none()) {
            self.note(record, None, Action::Remove, Some(key), Detail::None);
            if let Ok(Answer::Object(Object::Pod(pod))) = &executed.result {
                self.plant.forget(&pod.meta.uid);
            }
        }
        if self.plan.model.tells_of_new_pods
            && let (Request::Create(_), Ok(Answer::Object(Object::Pod(pod)))) = (&request, &executed.result)
        {
            self.tells_of_new(pod, record);
        }
        self.request_sets_off(id, &request);
        if executed.result.is_err() {
            // The client may send it again.
            self.requests.get_mut(id).request = request.clone();
        }
        self.reply_to(id, Some(&request), executed.result, record);
        // With no latency at all the writer hears of its write before its informer does, as a goroutine that goes on
        // after the call does.
        if self.api.truth().revision() != executed.revision_before {
            self.kick_watches(kind);
        }
    }

    /// A request is answered without having had any effect: the request stays with its sender, who may send it again.
    pub(super) fn answer_without_effect(&mut self, id: RequestId, result: ApiResult) {
        let flight = self.requests.get_mut(id);
        let (process, cause, request) = (flight.process, flight.cause, flight.request.clone());
        self.counters.requests += 1;
        self.counters.refused += u64::from(matches!(&result, Err(error) if error.reason == Reason::TooManyRequests));
        self.count(&request, &result, request.kind());
        let key = Some(request.key()).filter(|key| !key.name.is_empty());
        let record = self.note(cause, Some(process), action_of(&request), key, detail_of(&result));
        self.name_component(id);
        self.reply(id, result, record);
    }

    /// The reply sets out, and the seats of its request are free.
    pub(super) fn reply(&mut self, id: RequestId, result: ApiResult, record: RecordId) {
        self.reply_to(id, None, result, record);
    }

    /// The reply to a request that took effect, which faults may hit, or to one that did not.
    fn reply_to(&mut self, id: RequestId, request: Option<&Request>, result: ApiResult, record: RecordId) {
        self.leave_server(id);
        let flight = self.requests.get_mut(id);
        flight.cause = record;
        flight.result = Some(result);
        let ((entity, occurrence), process) = (flight.draw, flight.process);
        let travel = match (&self.transport, &flight.result) {
            (Some(transport), Some(result)) => transport.reply_travel(process, &flight.sender, result),
            _ => {
                let latency = &super::build::latency_of(&self.plan, &self.processes[process].name).reply;
                draw_span(&mut self.draws, latency, REQUEST_LATENCY, entity, occurrence * 4 + 2)
            }
        };
        let usual = self.calendar.now() + travel;
        let arrives = request.map_or(usual, |request| self.reply_meets_faults(id, request, usual));
        self.calendar.schedule(arrives, Nature::Work, Event::ReplyArrives(id));
    }

    /// Puts the sender's name on the record just made.
    pub(super) fn name_component(&mut self, id: RequestId) {
        let flight = self.requests.get_mut(id);
        let name = match flight.sender {
            super::world::Sender::Component { component, .. } | super::world::Sender::Recorder { component, .. } => {
                self.processes[flight.process].components.get(component).map(|slot| slot.name.clone())
            }
            super::world::Sender::Reflector(_) | super::world::Sender::Elector { .. } => None,
        };
        if let Some(name) = name {
            self.name_last(name);
        }
    }

    pub(super) fn count(&mut self, request: &Request, result: &ApiResult, kind: Kind) {
        let code = match (result, request) {
            (Err(error), _) => error.code(),
            (Ok(_), Request::Create(_) | Request::Bind { .. } | Request::Evict { .. }) => 201,
            (Ok(_), _) => 200,
        };
        *self.answers.entry((request.verb(), kind, code)).or_insert(0) += 1;
        match result {
            Ok(answer) => {
                if matches!(kind, Kind::Pod) {
                    match request {
                        Request::Create(_) => self.counters.pods_created += 1,
                        Request::Delete { .. } | Request::Evict { .. } if is_removed(answer, self) => {
                            self.counters.pods_deleted += 1
                        }
                        _ => {}
                    }
                }
            }
            Err(error) if error.code() == 409 => self.counters.conflicts += 1,
            Err(_) => {}
        }
    }
}

/// Whether the object that the request is about may be gone after it.
fn can_remove(request: &Request) -> bool {
    let only_status = |patch: &Patch| matches!(patch, Patch::PodStatus { .. } | Patch::PodCondition { .. });
    match request {
        Request::Create(_) | Request::Bind { .. } => false,
        Request::Patch { patch, .. } => !only_status(patch),
        other => other.is_write(),
    }
}

/// Whether the object a DELETE answered with is gone from the store.
fn is_removed(answer: &Answer, world: &World) -> bool {
    answer.object().is_some_and(|object| world.api.truth().get(&object.key()).is_none())
}

pub(super) fn action_of(request: &Request) -> Action {
    match request {
        Request::Get(_) => Action::Get,
        Request::List { .. } => Action::List,
        Request::Watch { .. } => Action::Watch,
        Request::Create(_) => Action::Create,
        Request::Update(_) => Action::Update,
        Request::UpdateStatus(_) => Action::UpdateStatus,
        Request::Patch { .. } => Action::Patch,
        Request::Delete { .. } => Action::Delete,
        Request::Bind { .. } => Action::Bind,
        Request::Evict { .. } => Action::Evict,
        Request::Scale { .. } => Action::Scale,
        Request::RenewLeases { .. } => Action::Renew,
    }
}

/// What is said of a refused request that names no object: of which kind it is about too.
pub(super) fn of_kind(request: &Request, text: String) -> String {
    match request {
        Request::List { kind, .. } | Request::Watch { kind, .. } => format!("{}: {text}", kind.info().plural),
        _ => text,
    }
}

pub(super) fn detail_of(result: &ApiResult) -> Detail {
    match result {
        Ok(_) => Detail::None,
        Err(error) => Detail::from(format!("{} {:?}: {}", error.code(), error.reason, error.message)),
    }
}

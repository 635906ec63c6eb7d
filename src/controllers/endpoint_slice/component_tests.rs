//! Whole syncs against the scripted double.

use super::component::{EndpointSliceController, Settings};
use super::decide::{CONTROLLER, MANAGED_BY, SERVICE_NAME};
use super::tests::{node, pod, service};
use crate::client::reconciler::{Enqueue, Outcome};
use crate::controllers::double_for_tests::Script;
use crate::model::api::{ObjectSelector, Reason};
use crate::model::{
    ApiError, ApiResult, EndpointSlice, Key, Kind, Labels, Meta, OwnerReference, Pod, Request, Rv, Span, Time,
};

fn key() -> Key {
    Key::new(Kind::Service, "default", "web")
}

fn script() -> Script<EndpointSliceController> {
    let mut script = Script::new(EndpointSliceController::new(Settings::default()), Time(0));
    for kind in [Kind::Service, Kind::EndpointSlice, Kind::Node] {
        script.informers.ensure(kind, &ObjectSelector::everything());
    }
    assert!(script.deliver(node()).is_empty());
    script
}

fn labelled(number: usize, is_ready: bool, version: u64) -> Pod {
    let mut pod = Pod::clone(&pod(number, is_ready));
    pod.meta.labels = Labels::NONE.with("app", "web");
    pod.meta.resource_version = Rv(version);
    pod
}

/// A slice as the server answered the create with it.
fn stored(uid: &str, name: &str, port: bool) -> EndpointSlice {
    let owner = OwnerReference {
        kind: Some(Kind::Service),
        foreign_kind: "".into(),
        name: "web".into(),
        uid: "s1".into(),
        controller: true,
        block_owner_deletion: true,
    };
    let labels = Labels::NONE.with(SERVICE_NAME, "web").with(MANAGED_BY, CONTROLLER).with("team", "shop");
    let meta = Meta { uid: uid.into(), labels, owners: Some([owner].into()), ..Meta::named("default", name) };
    let port = crate::model::EndpointPort {
        name: "".into(),
        port: port.then_some(8080),
        protocol: "TCP".into(),
        app_protocol: "".into(),
    };
    EndpointSlice { meta, address_type: "IPv4".into(), ports: [port].into(), ..EndpointSlice::default() }
}

fn refused(reason: Reason) -> impl FnMut(&Request) -> Option<ApiResult> {
    move |request| matches!(request, Request::Create(_)).then(|| Err(ApiError::new(reason, "no")))
}

#[test]
fn pods_wake_the_services_that_select_them() {
    let mut script = script();
    assert_eq!(script.deliver(service()), [Enqueue::Now(key())]);
    assert_eq!(script.deliver(labelled(1, false, 5)), [Enqueue::Now(key())]);
    let same = labelled(1, false, 6);
    assert!(script.deliver(same).is_empty(), "nothing that matters has changed");
    assert_eq!(script.deliver(labelled(1, true, 7)), [Enqueue::Now(key())]);
    assert_eq!(script.remove(&Key::new(Kind::Pod, "default", "web-1")), [Enqueue::Now(key())]);
}

#[test]
fn a_sync_waits_until_the_cache_has_seen_the_last_one() {
    let mut script = script();
    script.deliver(service());
    script.deliver(labelled(1, true, 5));
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    assert_eq!(script.log, ["create endpointslice/web-1"]);
    // The create is not in the cache yet: without this a second slice would be made.
    let stale = Outcome::error("EndpointSlice informer cache is out of date");
    assert_eq!(script.reconcile(&key(), |_| None), stale);
    // Its arrival is no news. It is empty here, unlike what was written: the sync mends that.
    assert!(script.deliver(stored("u-1", "web-1", true)).is_empty());
    script.log.clear();
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    assert_eq!(script.log, ["update endpointslice/web-1"]);
}

#[test]
fn slices_that_somebody_else_changes_are_looked_at_a_second_later() {
    let mut script = script();
    script.deliver(service());
    let later = [Enqueue::After(key(), Span::from_seconds(1))];
    assert_eq!(script.deliver(stored("x", "web-x", true)), later, "not written here");
    assert!(script.remove(&Key::new(Kind::EndpointSlice, "default", "web-x")).is_empty(), "never known");
    script.reconcile(&key(), |_| None);
    script.deliver(stored("u-1", "web-1", true));
    let mut moved = stored("u-1", "web-1", true);
    moved.meta.labels = moved.meta.labels.with(SERVICE_NAME, "api");
    let other = Enqueue::After(Key::new(Kind::Service, "default", "api"), Span::from_seconds(1));
    assert_eq!(script.deliver(moved), [other, later[0].clone()]);
    script.deliver(stored("u-1", "web-1", true));
    assert_eq!(script.remove(&Key::new(Kind::EndpointSlice, "default", "web-1")), later, "lost");
}

#[test]
fn a_failure_is_an_event_and_tried_again() {
    let mut script = script();
    script.deliver(service());
    let message = "failed to create EndpointSlice for Service default/web: no";
    assert_eq!(script.reconcile(&key(), refused(Reason::Forbidden)), Outcome::error(message));
    let event = format!(
        "event FailedToUpdateEndpointSlices: Error updating Endpoint Slices for Service default/web: {message}"
    );
    assert_eq!(script.log, ["create endpointslice/web- -> Forbidden".to_string(), event]);
    // In a namespace that goes away that is no failure.
    assert_eq!(script.reconcile(&key(), refused(Reason::NamespaceTerminating)), Outcome::DONE);
}

#[test]
fn services_without_selector_are_somebody_elses() {
    let mut script = script();
    let mut bare = service();
    bare.selector = Labels::NONE;
    script.deliver(bare);
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    script.remove(&key());
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    assert!(script.log.is_empty());
}

//! The controller between caches filled by hand and replies by hand.

use super::*;
use crate::component::{Draws, Effect, Outbox, PublishedMetrics, Purpose, Sample, Sensors};
use crate::model::api::ObjectSelector;
use crate::model::autoscaling::MetricIdentifier;
use crate::model::{RecordId, Time, Uid};
use crate::rules::codec::decode;
use serde_json::json;

/// A cluster whose only external series has this value.
struct Queue(i64);

impl PublishedMetrics for Queue {
    fn pod_resource(&self, _: &Pod, _: Option<&str>, _: &str) -> Option<Sample> {
        None
    }
    fn pod_metric(&self, _: &Pod, _: &MetricIdentifier) -> Option<Sample> {
        None
    }
    fn object_metric(&self, _: &ScaleTarget, _: &MetricIdentifier) -> Option<Sample> {
        None
    }
    fn external_metric(&self, _: &MetricIdentifier) -> Vec<Sample> {
        vec![Sample { value_milli: self.0, at: Time(0), window: Span::ZERO }]
    }
}

impl Sensors for Queue {
    fn has_image(&self, _: &Name, _: &Name) -> bool {
        false
    }
    fn running_since(&self, _: &Uid, _: u32) -> Option<Time> {
        None
    }
    fn published(&self, _: &Name, _: Time) -> Option<Box<dyn PublishedMetrics + '_>> {
        Some(Box::new(Queue(self.0)))
    }
}

struct NoDraws;

impl Draws for NoDraws {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        0
    }
}

fn deployment(replicas: i32, version: u64) -> Object {
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
    let mut object = decode(&manifest).unwrap();
    if let Object::Deployment(deployment) = &mut object {
        Rc::make_mut(deployment).status.replicas = replicas;
    }
    object.meta_mut().resource_version = Rv(version);
    object
}

fn autoscaler(kind: &str) -> Object {
    let target = json!({"type": "AverageValue", "averageValue": "10"});
    let metrics = json!([{"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}]);
    let reference = json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"});
    let spec = json!({"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 12, "metrics": metrics});
    let metadata = json!({"name": "web"});
    let manifest =
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec});
    decode(&manifest).unwrap()
}

/// Runs one sync; requests and Events in words, and how it ended. `conflicts` writes of the scale are refused.
fn sync(hpa: &Object, queue: i64, mut conflicts: u32) -> (Vec<String>, Outcome) {
    let mut informers = Informers::new();
    for kind in [Kind::HorizontalPodAutoscaler, Kind::Pod] {
        informers.ensure(kind, &ObjectSelector::everything());
    }
    informers.get_informer_mut(hpa.kind()).unwrap().cache.insert(hpa.clone());
    let mut controller = HorizontalController::new(Settings::default());
    let (sensors, mut draws, mut log, mut version) = (Queue(queue), NoDraws, Vec::new(), 7);
    let mut step = None;
    loop {
        let mut out = Outbox::new(RecordId(1), 2);
        let mut ctx =
            Context { now: Time(0), informers: &informers, sensors: &sensors, draws: &mut draws, out: &mut out };
        step = Some(match step.take() {
            None => controller.begin(&hpa.key(), &mut ctx),
            Some(Step::Finish(outcome)) => return (log, outcome),
            Some(Step::Wait { span, state }) => {
                log.push(format!("wait {span}"));
                controller.resume(&hpa.key(), state, Vec::new(), &mut ctx)
            }
            Some(Step::Call { requests, state }) => {
                let reply = match &requests[0] {
                    Request::Get(_) => Ok(Answer::Object(deployment(2, version))),
                    Request::Scale { .. } if conflicts > 0 => {
                        (conflicts, version) = (conflicts - 1, version + 1);
                        Err(ApiError::new(Reason::Conflict, "old"))
                    }
                    Request::UpdateStatus(object) => Ok(Answer::Object(object.clone())),
                    _ => Ok(Answer::Done(Rv(9))),
                };
                log.push(match &requests[0] {
                    Request::Get(key) => format!("get {key}"),
                    Request::Scale { replicas, resource_version, .. } => {
                        format!("scale {replicas} of {}", resource_version.0)
                    }
                    Request::UpdateStatus(object) => {
                        let status = &object.as_autoscaler().unwrap().status;
                        let reasons: Vec<&str> = status.conditions.iter().map(|one| one.reason.as_str()).collect();
                        format!("status {} {}", status.desired_replicas, reasons.join(" "))
                    }
                    other => format!("{other:?}"),
                });
                controller.resume(&hpa.key(), state, vec![reply], &mut ctx)
            }
        });
        log.extend(out.effects.iter().filter_map(|(_, effect)| match effect {
            Effect::Event { reason, .. } => Some(format!("event {reason}")),
            _ => None,
        }));
    }
}

#[test]
fn a_sync_reads_decides_writes_and_reports() {
    // 90 / 10 = 9, but one sync at most doubles: max(2 x 2, 4) = 4.
    let (log, outcome) = sync(&autoscaler("Deployment"), 90_000, 0);
    let expected = [
        "get deployment/web",
        "scale 4 of 7",
        "event SuccessfulRescale",
        "status 4 SucceededRescale ValidMetricFound ScaleUpLimit",
    ];
    assert_eq!(log, expected);
    assert_eq!(outcome, Outcome::Requeue);
}

#[test]
fn a_newer_scale_is_read_and_written_again() {
    let (log, _) = sync(&autoscaler("Deployment"), 90_000, 1);
    let get = "get deployment/web";
    assert_eq!(log[..5], [get, "scale 4 of 7", get, "wait 10ms", "scale 4 of 8"]);
    // Five writes in all, then it is given up until the next sync.
    let (log, outcome) = sync(&autoscaler("Deployment"), 90_000, 9);
    assert_eq!(log.iter().filter(|line| line.starts_with("scale")).count(), 5);
    assert!(log.contains(&"event FailedRescale".to_string()), "{log:?}");
    assert!(matches!(outcome, Outcome::Error { .. }));
}

#[test]
fn what_has_no_scale_is_reported() {
    let (log, outcome) = sync(&autoscaler("DaemonSet"), 90_000, 0);
    assert_eq!(log, ["event FailedGetScale", "status 0 FailedGetScale"]);
    assert!(matches!(outcome, Outcome::Error { .. }));
}

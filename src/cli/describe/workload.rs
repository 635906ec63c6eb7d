//! Deployments and ReplicaSets.

use std::rc::Rc;

use serde_json::Value;

use super::pod;
use super::sheet::{Sheet, text};
use super::{conditions, controlled_by, created};
use crate::cli::columns;
use crate::cli::inspect::Instant;
use crate::controllers::deployment::util;
use crate::model::{Deployment, Kind, Object, PodPhase, ReplicaSet};

/// A Deployment.
pub fn deployment(deployment: &Deployment, value: &Value, instant: &Instant, sheet: &mut Sheet) {
    let (metadata, spec, status) = (&value["metadata"], &value["spec"], &value["status"]);
    sheet.line(0, format!("Name:\t{}", text(&metadata["name"])));
    sheet.line(0, format!("Namespace:\t{}", text(&metadata["namespace"])));
    sheet.line(0, format!("CreationTimestamp:\t{}", created(value)));
    sheet.pairs("Labels", &metadata["labels"]);
    sheet.annotations("Annotations", &metadata["annotations"]);
    sheet.line(0, format!("Selector:\t{}", columns::selector(&spec["selector"])));
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    sheet.line(
        0,
        format!(
            "Replicas:\t{} desired | {} updated | {} total | {} available | {} unavailable",
            spec["replicas"].as_i64().unwrap_or(1),
            count("updatedReplicas"),
            count("replicas"),
            count("availableReplicas"),
            count("unavailableReplicas"),
        ),
    );
    sheet.line(0, format!("StrategyType:\t{}", text(&spec["strategy"]["type"])));
    sheet.line(0, format!("MinReadySeconds:\t{}", spec["minReadySeconds"].as_i64().unwrap_or(0)));
    let rolling = &spec["strategy"]["rollingUpdate"];
    if rolling.is_object() {
        let amount = |field: &str| rolling[field].as_str().map_or_else(|| rolling[field].to_string(), str::to_string);
        let (unavailable, surge) = (amount("maxUnavailable"), amount("maxSurge"));
        sheet.line(0, format!("RollingUpdateStrategy:\t{unavailable} max unavailable, {surge} max surge"));
    }
    pod::template(&spec["template"], sheet);
    conditions(status, sheet);
    replica_sets(deployment, instant, sheet);
}

fn replica_sets(deployment: &Deployment, instant: &Instant, sheet: &mut Sheet) {
    let namespace = deployment.meta.namespace.as_str();
    let sets = instant.objects(Kind::ReplicaSet, Some(namespace));
    let is_own = |set: &&Rc<ReplicaSet>| set.meta.controller().is_some_and(|owner| owner.uid == deployment.meta.uid);
    let mut own: Vec<Rc<ReplicaSet>> = sets.iter().filter_map(Object::as_replica_set).filter(is_own).cloned().collect();
    if own.is_empty() {
        return;
    }
    util::sort_by_creation(&mut own);
    let new = util::find_new(deployment, &own).cloned();
    let is_new = |set: &Rc<ReplicaSet>| new.as_ref().is_some_and(|new| new.meta.uid == set.meta.uid);
    let shown = |sets: Vec<&Rc<ReplicaSet>>| {
        let one = |set: &Rc<ReplicaSet>| {
            format!("{} ({}/{} replicas created)", set.meta.name, set.status.replicas, util::spec_replicas(set))
        };
        match sets.is_empty() {
            true => "<none>".to_string(),
            false => sets.into_iter().map(one).collect::<Vec<_>>().join(", "),
        }
    };
    let old: Vec<&Rc<ReplicaSet>> = own.iter().filter(|set| !is_new(set)).collect();
    sheet.line(0, format!("OldReplicaSets:\t{}", shown(old)));
    sheet.line(0, format!("NewReplicaSet:\t{}", shown(new.iter().collect())));
}

/// A ReplicaSet.
pub fn replica_set(set: &ReplicaSet, value: &Value, instant: &Instant, sheet: &mut Sheet) {
    let (metadata, spec, status) = (&value["metadata"], &value["spec"], &value["status"]);
    sheet.line(0, format!("Name:\t{}", text(&metadata["name"])));
    sheet.line(0, format!("Namespace:\t{}", text(&metadata["namespace"])));
    sheet.line(0, format!("Selector:\t{}", columns::selector(&spec["selector"])));
    sheet.pairs("Labels", &metadata["labels"]);
    sheet.annotations("Annotations", &metadata["annotations"]);
    controlled_by(value, sheet);
    let current = status["replicas"].as_i64().unwrap_or(0);
    let desired = spec["replicas"].as_i64().unwrap_or(1);
    sheet.line(0, format!("Replicas:\t{current} current / {desired} desired"));
    let pods = instant.objects(Kind::Pod, Some(set.meta.namespace.as_str()));
    let own = pods.iter().filter_map(Object::as_pod);
    let own: Vec<_> = own.filter(|pod| pod.meta.controller().is_some_and(|owner| owner.uid == set.meta.uid)).collect();
    let of = |phase: PodPhase| own.iter().filter(|pod| pod.status.phase == phase).count();
    sheet.line(
        0,
        format!(
            "Pods Status:\t{} Running / {} Waiting / {} Succeeded / {} Failed",
            of(PodPhase::Running),
            of(PodPhase::Pending),
            of(PodPhase::Succeeded),
            of(PodPhase::Failed),
        ),
    );
    pod::template(&spec["template"], sheet);
    conditions(status, sheet);
}

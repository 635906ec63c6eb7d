//! Services, disruption budgets and priority classes.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::api::scheduling::v1 as scheduling;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Problems;
use super::meta::{condition, int_or_percent, labels, meta, name, names, seconds, selector};
use crate::model::{
    DisruptionStatus, Kind, Name, PodDisruptionBudget, PriorityClass, Service, ServicePort, Source, TargetPort,
};

/// A Service.
pub fn service(typed: &core::Service, source: Source, problems: &mut Problems) -> Service {
    let spec = typed.spec.clone().unwrap_or_default();
    Service {
        meta: meta(Kind::Service, &typed.metadata, problems),
        selector: labels(spec.selector.as_ref()),
        ports: spec.ports.iter().flatten().map(service_port).collect(),
        is_headless: spec.cluster_ip.as_deref() == Some("None"),
        is_external_name: spec.type_.as_deref() == Some("ExternalName"),
        publish_not_ready_addresses: spec.publish_not_ready_addresses.unwrap_or(false),
        ip_families: names(&spec.ip_families.unwrap_or_default()),
        source,
    }
}

fn service_port(typed: &core::ServicePort) -> ServicePort {
    ServicePort {
        name: name(typed.name.as_deref()),
        protocol: Name::new(typed.protocol.as_deref().unwrap_or("TCP")),
        port: typed.port,
        target: match &typed.target_port {
            Some(IntOrString::String(named)) => TargetPort::Named(Name::new(named)),
            Some(IntOrString::Int(number)) => TargetPort::Number(*number),
            None => TargetPort::Number(typed.port),
        },
        app_protocol: name(typed.app_protocol.as_deref()),
    }
}

/// A disruption budget.
pub fn disruption_budget(
    typed: &policy::PodDisruptionBudget,
    source: Source,
    problems: &mut Problems,
) -> PodDisruptionBudget {
    let spec = typed.spec.clone().unwrap_or_default();
    let mut bound = |value: Option<_>, field: &str| {
        value.map(|value| int_or_percent(Some(&value), &format!("spec.{field}"), problems))
    };
    let min_available = bound(spec.min_available, "minAvailable");
    let max_unavailable = bound(spec.max_unavailable, "maxUnavailable");
    PodDisruptionBudget {
        meta: meta(Kind::PodDisruptionBudget, &typed.metadata, problems),
        selector: spec.selector.as_ref().map(|pods| selector(pods, "spec.selector", problems)),
        min_available,
        max_unavailable,
        status: disruption_status(&typed.status.clone().unwrap_or_default(), problems),
        source,
    }
}

fn disruption_status(typed: &policy::PodDisruptionBudgetStatus, problems: &mut Problems) -> DisruptionStatus {
    let conditions = typed.conditions.iter().flatten().map(|typed| {
        let parts = super::meta::ConditionParts {
            condition_type: &typed.type_,
            status: &typed.status,
            reason: Some(&typed.reason),
            message: Some(&typed.message),
            last_transition: Some(&typed.last_transition_time),
            last_update: None,
        };
        condition(&parts, problems)
    });
    let conditions = conditions.collect();
    let disrupted = typed.disrupted_pods.iter().flatten();
    let disrupted =
        disrupted.map(|(pod, time)| (Name::new(pod), seconds(time, &format!("status.disruptedPods[{pod}]"), problems)));
    DisruptionStatus {
        disruptions_allowed: typed.disruptions_allowed.unwrap_or(0),
        current_healthy: typed.current_healthy.unwrap_or(0),
        desired_healthy: typed.desired_healthy.unwrap_or(0),
        expected_pods: typed.expected_pods.unwrap_or(0),
        observed_generation: typed.observed_generation.unwrap_or(0),
        disrupted_pods: disrupted.collect(),
        conditions,
    }
}

/// A priority class.
pub fn priority_class(typed: &scheduling::PriorityClass, source: Source, problems: &mut Problems) -> PriorityClass {
    PriorityClass {
        meta: meta(Kind::PriorityClass, &typed.metadata, problems),
        value: typed.value.unwrap_or(0),
        global_default: typed.global_default.unwrap_or(false),
        never_preempts: typed.preemption_policy.as_deref() == Some("Never"),
        source,
    }
}

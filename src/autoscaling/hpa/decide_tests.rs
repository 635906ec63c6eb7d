//! What recordings do not show: failed writes, selectors, a minimum raised at zero, messages.

use super::decide::{HpaEvent, Known, SelectorState, decide, propose, scale_not_read};
use super::explanation::Path;
use super::history::History;
use super::samples::{PublishedMetrics, Sample};
use super::settings::Settings;
use crate::model::autoscaling::{
    HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricIdentifier, MetricSource, MetricSpec,
    MetricTarget, ScaleTarget,
};
use crate::model::{Name, Pod, Span, Time, find_condition};

/// One external series, measured a second ago.
struct Series(Option<i64>);

const NOW: Time = Time(1_000 * crate::model::time::SECOND_NS);

impl PublishedMetrics for Series {
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
        let sample =
            |value_milli| Sample { value_milli, at: NOW - Span::from_seconds(1), window: Span::from_seconds(60) };
        self.0.map(sample).into_iter().collect()
    }
}

/// 1 to 10 replicas, one for each unit of the metric.
fn spec() -> HorizontalPodAutoscalerSpec {
    let metric = MetricIdentifier { name: Name::new("m"), ..MetricIdentifier::default() };
    HorizontalPodAutoscalerSpec {
        min_replicas: 1,
        max_replicas: 10,
        metrics: vec![MetricSpec {
            source: MetricSource::External { metric },
            target: MetricTarget::AverageValue(1_000),
        }],
        ..HorizontalPodAutoscalerSpec::default()
    }
}

fn known<'a>(
    spec: &'a HorizontalPodAutoscalerSpec,
    status: &'a HorizontalPodAutoscalerStatus,
    settings: &'a Settings,
    metrics: &'a Series,
    replicas: i32,
) -> Known<'a> {
    Known {
        spec,
        status,
        replicas,
        status_replicas: replicas,
        pods: &[],
        selector: SelectorState::Usable,
        metrics,
        settings,
        now: NOW,
    }
}

fn reasons(events: &[HpaEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.reason).collect()
}

fn condition(status: &HorizontalPodAutoscalerStatus, name: &str) -> String {
    let found = find_condition(&status.conditions, name).expect("it is set");
    format!("{}/{}", found.status.as_str(), found.reason)
}

#[test]
fn a_write_that_fails_changes_neither_the_desired_number_nor_the_memory_of_writes() {
    let (spec, settings) = (spec(), Settings::default());
    let status = HorizontalPodAutoscalerStatus { desired_replicas: 2, ..Default::default() };
    let known = known(&spec, &status, &settings, &Series(Some(3_000)), 2);
    let mut history = History::default();
    let mut sync = propose(&known, &mut history);
    // 3 units, one for each replica.
    assert_eq!(sync.write, Some(3));
    sync.settle(&known, &mut history, Some("conflict"));
    assert_eq!(reasons(&sync.events), ["FailedRescale"]);
    assert_eq!(sync.events[0].message, "New size: 3; reason: external metric m above target; error: conflict");
    assert_eq!((sync.status.desired_replicas, sync.status.last_scale_time, sync.has_failed), (2, None, true));
    assert_eq!(condition(&sync.status, "AbleToScale"), "False/FailedUpdateScale");
    assert!(history.ups.is_empty());
}

#[test]
fn a_selector_that_says_nothing_stops_before_metrics() {
    let (spec, settings, status) = (spec(), Settings::default(), HorizontalPodAutoscalerStatus::default());
    for (selector, active, events) in [
        (SelectorState::Invalid, "False/InvalidSelector", ["SelectorRequired", "FailedComputeMetricsReplicas"]),
        (SelectorState::Ambiguous, "False/AmbiguousSelector", ["AmbiguousSelector", "FailedComputeMetricsReplicas"]),
    ] {
        let known = Known { selector, ..known(&spec, &status, &settings, &Series(Some(9_000)), 2) };
        let sync = decide(&known, &mut History::default());
        assert_eq!((sync.write, sync.explanation.path), (None, Path::Failed));
        assert_eq!(condition(&sync.status, "ScalingActive"), active);
        assert_eq!(reasons(&sync.events), events);
    }
}

#[test]
fn a_minimum_raised_at_zero_is_reached_from_there() {
    let mut spec = HorizontalPodAutoscalerSpec { min_replicas: 0, ..spec() };
    let settings = Settings { scales_to_zero: true, downscale_stabilization: Span::ZERO, ..Settings::default() };
    // The entry that a history begins with is a second old, and the window has no length.
    let mut history = History::default();
    history.begin(1, NOW - Span::from_seconds(1));
    let first = HorizontalPodAutoscalerStatus::default();
    let to_zero = decide(&known(&spec, &first, &settings, &Series(Some(0)), 1), &mut history);
    assert_eq!((to_zero.write, condition(&to_zero.status, "ScaledToZero").as_str()), (Some(0), "True/ScaledToZero"));
    spec.min_replicas = 2;
    let raised = decide(&known(&spec, &to_zero.status, &settings, &Series(Some(0)), 0), &mut history);
    assert_eq!((raised.write, condition(&raised.status, "ScaledToZero").as_str()), (Some(2), "False/NotScaledToZero"));
    // Without the gate, or when somebody else wanted none, it stays off.
    let off = decide(&known(&spec, &to_zero.status, &Settings::default(), &Series(Some(9_000)), 0), &mut history);
    assert_eq!((off.write, off.explanation.path), (None, Path::Disabled));
    let others = decide(&known(&spec, &first, &settings, &Series(Some(9_000)), 0), &mut history);
    assert_eq!((others.write, others.explanation.path), (None, Path::Disabled));
}

#[test]
fn out_of_range_is_corrected_without_metrics() {
    let (spec, settings, status) = (spec(), Settings::default(), HorizontalPodAutoscalerStatus::default());
    let sync = decide(&known(&spec, &status, &settings, &Series(None), 12), &mut History::default());
    assert_eq!((sync.write, sync.explanation.path, sync.has_failed), (Some(10), Path::AboveMax, false));
    assert_eq!(reasons(&sync.events), ["SuccessfulRescale"]);
    let spec = HorizontalPodAutoscalerSpec { min_replicas: 3, ..spec };
    let sync = decide(&known(&spec, &status, &settings, &Series(None), 2), &mut History::default());
    assert_eq!((sync.write, sync.explanation.path), (Some(3), Path::BelowMin));
}

#[test]
fn an_explanation_names_what_bound_the_number_and_how_old_its_inputs_are() {
    let (spec, settings, status) = (spec(), Settings::default(), HorizontalPodAutoscalerStatus::default());
    let explain = |metrics: &Series, replicas| {
        decide(&known(&spec, &status, &settings, metrics, replicas), &mut History::default()).explanation
    };
    // 9 wanted of 2: at most 4 at once.
    let up = explain(&Series(Some(9_000)), 2);
    assert_eq!((up.proposal, up.desired, up.bound_by().as_str()), (Some(9), 4, "the scale-up limit"));
    let sampled = up.metrics[0].result.as_ref().ok().and_then(|proposal| proposal.sampled);
    assert_eq!(sampled.map(|(oldest, _)| NOW - oldest), Some(Span::from_seconds(1)));
    // 1 wanted of 5: the first entry of the history is 5.
    let down = explain(&Series(Some(1_000)), 5);
    assert_eq!((down.proposal, down.desired, down.bound_by().as_str()), (Some(1), 5, "the stabilization window"));
    assert_eq!(explain(&Series(Some(5_000)), 5).bound_by(), "nothing");
    assert_eq!(explain(&Series(None), 5).bound_by(), "metrics that are not known");
    // 30 wanted of 9: twice as many would be 18, the maximum is 10.
    assert_eq!(explain(&Series(Some(30_000)), 9).bound_by(), "maxReplicas");
}

#[test]
fn a_scale_that_cannot_be_read_is_said_in_the_status() {
    let status = scale_not_read(&HorizontalPodAutoscalerStatus::default(), "not found", NOW);
    assert_eq!(condition(&status, "AbleToScale"), "False/FailedGetScale");
}

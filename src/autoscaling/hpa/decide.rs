//! One sync of one autoscaler.
//!
//! [`propose`] comes to a number; what becomes of the write decides the rest: [`Sync::settle`]. [`decide`] is both, with a
//! write that succeeds.
//!
//! Upstream: pkg/controller/podautoscaler/horizontal.go, `reconcileAutoscaler`, v1.36.

use std::rc::Rc;

use super::behavior::{Bounds, record_scale, with_behavior, without_behavior};
use super::conditions::{self, ABLE_TO_SCALE, SCALED_TO_ZERO, SCALING_ACTIVE, SCALING_LIMITED};
use super::explanation::{Explanation, Path};
use super::history::History;
use super::metrics::{Recommendation, failure_reason, recommend};
use super::replica_calculator::{Calculator, Tolerances};
use super::samples::PublishedMetrics;
use super::settings::Settings;
use super::stabilization::{between_windows, highest_recent};
use crate::model::autoscaling::{
    HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricSource, MetricStatus, ScalingBehavior,
};
use crate::model::{ConditionStatus, Pod, Span, Time, find_condition};

/// What a sync knows.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The autoscaler's spec.
    pub spec: &'a HorizontalPodAutoscalerSpec,
    /// Its status, as it is stored.
    pub status: &'a HorizontalPodAutoscalerStatus,
    /// `spec.replicas` of the scale.
    pub replicas: i32,
    /// `status.replicas` of the scale.
    pub status_replicas: i32,
    /// Pods that the scale's selector finds in the informer's cache.
    pub pods: &'a [Rc<Pod>],
    /// What is wrong with the selector.
    pub selector: SelectorState,
    /// The metrics APIs.
    pub metrics: &'a dyn PublishedMetrics,
    /// Flags and gates.
    pub settings: &'a Settings,
    /// Now.
    pub now: Time,
}

/// Whether a selector says which pods an autoscaler is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SelectorState {
    /// It does.
    #[default]
    Usable,
    /// It is missing, or cannot be read.
    Invalid,
    /// Another autoscaler's selector finds some of these pods as well.
    Ambiguous,
}

/// An event about the autoscaler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HpaEvent {
    /// Whether its type is Warning.
    pub is_warning: bool,
    /// `reason`.
    pub reason: &'static str,
    /// `message`.
    pub message: String,
}

/// What a sync came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Sync {
    /// The replicas to write, if they change.
    pub write: Option<i32>,
    /// The status with its conditions.
    pub status: HorizontalPodAutoscalerStatus,
    /// Events, in order.
    pub events: Vec<HpaEvent>,
    /// Whether upstream's sync returns an error: some metric failed, even if the scale was written.
    pub has_failed: bool,
    /// Why.
    pub explanation: Explanation,
    /// The reason of a rescale, for its event.
    rescale_reason: String,
}

/// A sync whose write, if any, succeeds.
pub fn decide(known: &Known, history: &mut History) -> Sync {
    let mut sync = propose(known, history);
    sync.settle(known, history, None);
    sync
}

/// The status after a scale that cannot be read.
pub fn scale_not_read(status: &HorizontalPodAutoscalerStatus, error: &str, now: Time) -> HorizontalPodAutoscalerStatus {
    let mut status = status.clone();
    let message = format!("the HPA controller was unable to get the target's current scale: {error}");
    conditions::set(&mut status.conditions, ABLE_TO_SCALE, false, "FailedGetScale", &message, now);
    status
}

/// Comes to a number. What metrics asked for is remembered.
pub fn propose(known: &Known, history: &mut History) -> Sync {
    let mut sync = Sync {
        write: None,
        status: known.status.clone(),
        events: Vec::new(),
        has_failed: false,
        explanation: Explanation { current: known.replicas, desired: known.replicas, ..Explanation::default() },
        rescale_reason: String::new(),
    };
    sync.status.current_replicas = known.replicas;
    sync.set(known, ABLE_TO_SCALE, true, "SucceededGetScale", "the target's scale was read");
    history.begin(known.replicas, known.now);
    let spec = known.spec;
    if known.replicas == 0 && !is_own_zero(known) {
        sync.explanation.path = Path::Disabled;
        sync.set(known, SCALING_ACTIVE, false, "ScalingDisabled", "the target has no replicas: scaling is off");
    } else if known.replicas > spec.max_replicas {
        sync.correct(Path::AboveMax, spec.max_replicas, "Current number of replicas above Spec.MaxReplicas");
    } else if known.replicas < spec.min_replicas && known.replicas != 0 {
        sync.correct(Path::BelowMin, spec.min_replicas, "Current number of replicas below Spec.MinReplicas");
    } else {
        sync.follow_metrics(known, history);
    }
    sync
}

/// Whether there are no replicas because this autoscaler wanted none: only then it looks at metrics.
fn is_own_zero(known: &Known) -> bool {
    let zero = find_condition(&known.status.conditions, SCALED_TO_ZERO);
    known.settings.scales_to_zero && zero.is_some_and(|zero| zero.status == ConditionStatus::True)
}

impl Sync {
    fn set(&mut self, known: &Known, condition: &'static str, is_true: bool, reason: &str, message: &str) {
        conditions::set(&mut self.status.conditions, condition, is_true, reason, message, known.now);
    }

    fn warn(&mut self, reason: &'static str, message: String) {
        self.events.push(HpaEvent { is_warning: true, reason, message });
    }

    /// Back into the range, without a look at metrics.
    fn correct(&mut self, path: Path, replicas: i32, reason: &str) {
        self.explanation.path = path;
        self.explanation.desired = replicas;
        self.write = Some(replicas);
        self.rescale_reason = reason.to_string();
        self.status.current_metrics = Vec::new();
    }

    fn follow_metrics(&mut self, known: &Known, history: &mut History) {
        if known.selector != SelectorState::Usable {
            return self.refuse_selector(known);
        }
        let calculator = Calculator {
            settings: known.settings,
            tolerances: Tolerances::new(known.settings, known.spec.behavior.as_ref()),
            pods: known.pods,
            now: known.now,
        };
        let (specs, current) = (&known.spec.metrics, known.replicas);
        let recommendation = recommend(&calculator, specs, known.metrics, current, known.status_replicas);
        self.report_metrics(known, &recommendation);
        let Recommendation { outcomes, chosen, failed } = recommendation;
        self.explanation.metrics = outcomes;
        self.has_failed = failed.is_some();
        let Some((proposal, chosen)) = chosen else {
            self.explanation.path = Path::Failed;
            return;
        };
        let name = described(&specs[chosen].source);
        let message = format!("a replica count could be calculated from {name}");
        self.set(known, SCALING_ACTIVE, true, "ValidMetricFound", &message);
        // Less than nothing cannot be wanted: a negative sum of an object metric asks for none.
        let proposal = proposal.max(0);
        self.explanation.proposal = Some(proposal);
        self.rescale_reason = match proposal.cmp(&current) {
            std::cmp::Ordering::Greater => format!("{name} above target"),
            std::cmp::Ordering::Less => "All metrics below target".into(),
            std::cmp::Ordering::Equal => String::new(),
        };
        let mut desired = match &known.spec.behavior {
            None => self.normalize(known, history, proposal),
            Some(behavior) => self.normalize_with(behavior, known, history, proposal),
        };
        if current == 0 {
            desired = desired.max(known.spec.min_replicas);
        }
        self.explanation.desired = desired;
        self.write = Some(desired).filter(|desired| *desired != current);
    }

    fn refuse_selector(&mut self, known: &Known) {
        let (event, reason, message) = match known.selector {
            SelectorState::Ambiguous => {
                ("AmbiguousSelector", "AmbiguousSelector", "several HPAs select the same pods: none of them scales")
            }
            _ => ("SelectorRequired", "InvalidSelector", "the target's scale has no usable selector"),
        };
        self.warn(event, message.into());
        self.set(known, SCALING_ACTIVE, false, reason, message);
        self.warn("FailedComputeMetricsReplicas", message.into());
        self.has_failed = true;
        self.explanation.path = Path::Failed;
    }

    /// Events, the status of metrics, and the condition when nothing may be done.
    fn report_metrics(&mut self, known: &Known, recommendation: &Recommendation) {
        let specs = &known.spec.metrics;
        self.status.current_metrics.clear();
        for outcome in &recommendation.outcomes {
            let source = &specs[outcome.index].source;
            match &outcome.result {
                Ok(proposal) => {
                    let status = MetricStatus { source: source.clone(), current: proposal.value };
                    self.status.current_metrics.push(status);
                }
                Err(error) => {
                    let reason = failure_reason(source);
                    let message = format!("failed to get {}: {error}", described(source));
                    if recommendation.chosen.is_none() && recommendation.failed == Some(outcome.index) {
                        self.set(known, SCALING_ACTIVE, false, reason, &message);
                    }
                    self.warn(reason, message);
                }
            }
        }
        if recommendation.chosen.is_none() {
            let all = specs.len();
            let bad = recommendation.outcomes.iter().filter(|outcome| outcome.result.is_err()).count();
            self.warn("FailedComputeMetricsReplicas", format!("{bad} of {all} metrics are invalid"));
        }
    }

    fn normalize(&mut self, known: &Known, history: &mut History, proposal: i32) -> i32 {
        let window = known.settings.downscale_stabilization;
        let stabilized = highest_recent(history, proposal, window, known.now);
        self.report_stabilized(known, proposal, stabilized, "ScaleDownStabilized");
        let (desired, limit) = without_behavior(stabilized, bounds(known));
        self.report_limit(known, stabilized, desired, limit);
        desired
    }

    fn normalize_with(
        &mut self,
        behavior: &ScalingBehavior,
        known: &Known,
        history: &mut History,
        proposal: i32,
    ) -> i32 {
        let seconds = |window: Option<i32>| window.map(|seconds| Span::from_seconds(i64::from(seconds)));
        let up = seconds(behavior.scale_up.stabilization_window_seconds).unwrap_or(Span::ZERO);
        let down = seconds(behavior.scale_down.stabilization_window_seconds);
        let down = down.unwrap_or(known.settings.downscale_stabilization);
        let stabilized = between_windows(history, known.replicas, proposal, up, down, known.now);
        let reason = if proposal >= known.replicas { "ScaleUpStabilized" } else { "ScaleDownStabilized" };
        self.report_stabilized(known, proposal, stabilized, reason);
        let (desired, limit) = with_behavior(stabilized, bounds(known), behavior, history, known.now);
        self.report_limit(known, stabilized, desired, limit);
        desired
    }

    fn report_stabilized(&mut self, known: &Known, proposal: i32, stabilized: i32, reason: &'static str) {
        self.explanation.stabilized = Some(stabilized);
        if stabilized == proposal {
            self.set(known, ABLE_TO_SCALE, true, "ReadyForNewScale", "no recent recommendation holds the scale back");
        } else {
            let message = match reason {
                "ScaleUpStabilized" => "a lower recommendation of the window is applied",
                _ => "a higher recommendation of the window is applied",
            };
            self.set(known, ABLE_TO_SCALE, true, reason, message);
        }
    }

    fn report_limit(&mut self, known: &Known, stabilized: i32, desired: i32, limit: super::behavior::Limit) {
        self.explanation.limit = Some(limit);
        let message = format!("{stabilized} wanted, {desired} allowed");
        let message = if desired == stabilized { "the desired count is within the range" } else { &message };
        self.set(known, SCALING_LIMITED, desired != stabilized, limit.reason(), message);
    }

    /// What becomes of the status and the memory with the outcome of the write: `None` if it succeeded (or there was
    /// nothing to write), else its error.
    pub fn settle(&mut self, known: &Known, history: &mut History, error: Option<&str>) {
        let (from, is_stopped) = (known.replicas, self.explanation.path == Path::Failed);
        let Some(to) = self.write else {
            if !is_stopped {
                self.status.desired_replicas = from;
            }
            return;
        };
        if let Some(error) = error {
            let message = format!("New size: {to}; reason: {}; error: {error}", self.rescale_reason);
            self.warn("FailedRescale", message);
            let message = format!("the target's scale could not be written: {error}");
            self.set(known, ABLE_TO_SCALE, false, "FailedUpdateScale", &message);
            self.has_failed = true;
            return;
        }
        let message = format!("the target's scale was set to {to}");
        self.set(known, ABLE_TO_SCALE, true, "SucceededRescale", &message);
        if known.settings.scales_to_zero {
            self.report_zero(known, to);
        }
        let message = format!("New size: {to}; reason: {}", self.rescale_reason);
        self.events.push(HpaEvent { is_warning: false, reason: "SuccessfulRescale", message });
        record_scale(history, known.spec.behavior.as_ref(), from, to, known.now);
        self.status.desired_replicas = to;
        self.status.last_scale_time = Some(known.now.truncated_to_seconds());
    }

    /// Remembers in the status whether none were wanted by this autoscaler.
    fn report_zero(&mut self, known: &Known, to: i32) {
        let is_possible =
            |source: &MetricSource| matches!(source, MetricSource::Object { .. } | MetricSource::External { .. });
        if to > 0 {
            self.set(known, SCALED_TO_ZERO, false, "NotScaledToZero", "the HPA wants replicas");
        } else if known.spec.min_replicas == 0 && known.spec.metrics.iter().any(|spec| is_possible(&spec.source)) {
            self.set(known, SCALED_TO_ZERO, true, "ScaledToZero", "the HPA wants no replicas");
        }
    }
}

fn bounds(known: &Known) -> Bounds {
    Bounds { min: known.spec.min_replicas, max: known.spec.max_replicas, current: known.replicas }
}

/// A metric in the words of conditions and events.
fn described(source: &MetricSource) -> String {
    let name = source.name();
    match source {
        MetricSource::Resource { .. } => format!("{name} resource"),
        MetricSource::ContainerResource { container, .. } => format!("{name} container resource of {container}"),
        MetricSource::Pods { .. } => format!("pods metric {name}"),
        MetricSource::Object { described, .. } => format!("{} metric {name}", described.kind),
        MetricSource::External { .. } => format!("external metric {name}"),
    }
}

//! The vertical pod autoscaler: recommendations from usage, and the pods that are replaced for them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::case::{Disagreement, compare, count, field, float, int, list, only_fields, text};
use kubesim::autoscaling::vpa::amounts::{Amounts, RESOURCES};
use kubesim::autoscaling::vpa::container_state::{Aggregate, Instance};
use kubesim::autoscaling::vpa::histogram::DecayingHistogram;
use kubesim::autoscaling::vpa::pods::{PodContainer, PodView, Recommended, capped};
use kubesim::autoscaling::vpa::recommender::{ContainerRecommendation, Settings, recommend};
use kubesim::autoscaling::vpa::spec::VpaSpec;
use kubesim::autoscaling::vpa::updater::{self, Priority, update_order};
use kubesim::model::{Name, Span, Time};
use kubesim::rules::quantity::Quantity;
use kubesim::rules::timestamp;

/// Usage of containers over days -> recommendations at some times, to the byte.
pub fn recommender(case: &Value) -> Result<(), Disagreement> {
    only_fields(
        case,
        &["tag", "t0", "containers", "eval", "expect", "separate_aggregates", "min_allowed", "max_allowed"],
    )?;
    let start = timestamp::parse(text(case, "t0")?).ok_or_else(|| Disagreement::new("a time", &case["t0"]))?;
    let separate = case.get("separate_aggregates").is_some_and(|separate| separate == true);
    let mut containers = Containers::of(field(case, "containers")?, separate)?;
    let mut samples = samples_of(field(case, "containers")?)?.into_iter().peekable();
    let (times, expected) = (list(case, "eval")?, list(case, "expect")?);
    compare("evaluations", &json!(expected.len()), &json!(times.len()), 0.0)?;
    for (at, expected) in times.iter().zip(expected) {
        let at = nanoseconds(at)?;
        while let Some(sample) = samples.next_if(|sample| sample.at_ns <= at) {
            containers.take(&sample, start);
        }
        containers.agree(case, expected).map_err(|difference| Disagreement {
            expected: format!("at {}: {}", expected["t"], difference.expected),
            ..difference
        })?;
    }
    Ok(())
}

/// A number of seconds as nanoseconds.
fn nanoseconds(seconds: &Value) -> Result<i64, Disagreement> {
    let seconds = seconds.as_f64().ok_or_else(|| Disagreement::new("a number of seconds", seconds))?;
    Ok((seconds * 1e9).round() as i64)
}

/// How a sample is written down, in the order in which samples of one time and instance arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Event,
    Series,
}

/// What is measured, in that order too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    Cpu,
    Memory,
    Oom,
}

struct Sample {
    at_ns: i64,
    container: String,
    instance: usize,
    source: Source,
    measure: Measure,
    value: i64,
}

/// All samples of a case in the order in which they arrive.
fn samples_of(containers: &Value) -> Result<Vec<Sample>, Disagreement> {
    let mut samples = Vec::new();
    for (name, instances) in containers.as_object().into_iter().flatten() {
        for (number, instance) in instances.as_array().into_iter().flatten().enumerate() {
            only_fields(instance, &["events", "gen"])?;
            let mut add = |at_ns: i64, source: Source, measure: Measure, value: &Value| match value.as_f64() {
                Some(value) => {
                    let value = value as i64;
                    samples.push(Sample { at_ns, container: name.clone(), instance: number, source, measure, value });
                    Ok(())
                }
                None => Err(Disagreement::new("a number", value)),
            };
            for event in instance.get("events").and_then(Value::as_array).into_iter().flatten() {
                only_fields(event, &["t", "cpu_milli", "memory_bytes", "oom_request_bytes"])?;
                let at = nanoseconds(field(event, "t")?)?;
                let measured = [
                    ("cpu_milli", Measure::Cpu),
                    ("memory_bytes", Measure::Memory),
                    ("oom_request_bytes", Measure::Oom),
                ];
                for (field, measure) in measured {
                    event
                        .get(field)
                        .filter(|value| !value.is_null())
                        .map_or(Ok(()), |value| add(at, Source::Event, measure, value))?;
                }
            }
            for series in instance.get("gen").and_then(Value::as_array).into_iter().flatten() {
                only_fields(series, &["start", "period", "count", "cpu_milli", "memory_bytes"])?;
                let (begin, period) = (float(series, "start")?, float(series, "period")?);
                for index in 0..count(series, "count")? {
                    let at = ((begin + f64::from(index) * period) * 1e9).round() as i64;
                    for (field, measure) in [("cpu_milli", Measure::Cpu), ("memory_bytes", Measure::Memory)] {
                        let values = series.get(field).and_then(Value::as_array).filter(|values| !values.is_empty());
                        values.map_or(Ok(()), |values| {
                            add(at, Source::Series, measure, &values[index as usize % values.len()])
                        })?;
                    }
                }
            }
        }
    }
    samples
        .sort_by_key(|sample| (sample.at_ns, sample.container.clone(), sample.instance, sample.source, sample.measure));
    Ok(samples)
}

struct Containers {
    instances: BTreeMap<(String, usize), Instance>,
    /// One for each name, or one for each instance.
    aggregates: BTreeMap<(String, usize), Aggregate>,
    separate: bool,
    rejected: u64,
}

impl Containers {
    fn of(containers: &Value, separate: bool) -> Result<Containers, Disagreement> {
        let (mut instances, mut aggregates) = (BTreeMap::new(), BTreeMap::new());
        let named = containers.as_object().ok_or_else(|| Disagreement::new("containers", containers))?;
        for name in named.keys() {
            for number in 0..list(containers, name)?.len() {
                instances.insert((name.clone(), number), Instance::default());
                aggregates.insert((name.clone(), if separate { number } else { 0 }), Aggregate::default());
            }
        }
        Ok(Containers { instances, aggregates, separate, rejected: 0 })
    }

    fn take(&mut self, sample: &Sample, start: Time) {
        let at = start + Span(sample.at_ns);
        let instance = self.instances.get_mut(&(sample.container.clone(), sample.instance)).unwrap();
        let owner = (sample.container.clone(), if self.separate { sample.instance } else { 0 });
        let aggregate = self.aggregates.get_mut(&owner).unwrap();
        let taken = match sample.measure {
            Measure::Cpu => instance.add_cpu(aggregate, at, sample.value),
            Measure::Memory => instance.add_memory(aggregate, at, sample.value),
            Measure::Oom => instance.record_oom(aggregate, at, sample.value),
        };
        self.rejected += u64::from(!taken);
    }

    /// One aggregate for each name.
    fn merged(&mut self) -> BTreeMap<String, Aggregate> {
        let mut merged: BTreeMap<String, Aggregate> = BTreeMap::new();
        for ((name, _), aggregate) in &mut self.aggregates {
            merged.entry(name.clone()).or_default().merge(aggregate);
        }
        merged
    }

    fn agree(&mut self, case: &Value, expected: &Value) -> Result<(), Disagreement> {
        only_fields(expected, &["t", "containers", "rejected_samples"])?;
        let merged = self.merged();
        let recommended = recommend(&Settings::default(), &merged.values().collect::<Vec<_>>());
        let has_policy = ["min_allowed", "max_allowed"].iter().any(|name| case.get(*name).is_some());
        let mut got = Map::new();
        for ((name, aggregate), recommended) in merged.iter().zip(recommended) {
            let mut container = bounds(&recommended);
            container["samples"] = json!(aggregate.samples);
            let (cpu, memory) = (percentiles(&aggregate.cpu_usage), percentiles(&aggregate.memory_peaks));
            container["hist"] = json!({"cpu_p50_p90_p95": cpu, "memory_p50_p90_p95": memory});
            if has_policy {
                let (least, most) = (amounts(case.get("min_allowed"))?, amounts(case.get("max_allowed"))?);
                container["capped"] = bounds(&recommended.bounded(&least, &most));
            }
            got.insert(name.clone(), container);
        }
        let expected_names = field(expected, "containers")?;
        for (name, container) in &got {
            let recorded = expected_names.get(name).ok_or_else(|| Disagreement::new(expected_names, name))?;
            histograms_agree(name, &recorded["hist"], &container["hist"])?;
            let (mut recorded, mut container) = (recorded.clone(), container.clone());
            (recorded["hist"], container["hist"]) = (Value::Null, Value::Null);
            compare(name, &recorded, &container, 0.0)?;
        }
        compare("rejected samples", &json!(int(expected, "rejected_samples")?), &json!(self.rejected), 0.0)?;
        compare("containers", &json!(expected_names.as_object().map(Map::len)), &json!(Some(got.len())), 0.0)
    }
}

fn bounds(recommended: &ContainerRecommendation) -> Value {
    let of = |amounts: &Amounts| json!({"cpu_milli": amounts.cpu_milli, "memory_bytes": amounts.memory_bytes});
    json!({"target": of(&recommended.target), "lower": of(&recommended.lower), "upper": of(&recommended.upper)})
}

fn percentiles(histogram: &DecayingHistogram) -> [f64; 3] {
    [0.5, 0.9, 0.95].map(|percentile| histogram.percentile(percentile))
}

/// The borders, to the bit as far as a reader of JSON keeps it: relative 1e-15 instead of equal.
fn histograms_agree(name: &str, recorded: &Value, got: &Value) -> Result<(), Disagreement> {
    only_fields(recorded, &["cpu_p50_p90_p95", "memory_p50_p90_p95"])?;
    for field in ["cpu_p50_p90_p95", "memory_p50_p90_p95"] {
        for (recorded, got) in list(recorded, field)?.iter().zip(list(got, field)?) {
            let tolerance = recorded.as_f64().unwrap_or_default() * 1e-15;
            // One is written as an integer where the other is not.
            let as_floats = |number: &Value| number.as_f64().map_or(Value::Null, |number| json!(number));
            compare(format!("{name} {field}"), &as_floats(recorded), &as_floats(got), tolerance)?;
        }
    }
    Ok(())
}

/// Quantities by resource name; null and absent say nothing.
fn amounts(quantities: Option<&Value>) -> Result<Amounts, Disagreement> {
    let mut amounts = Amounts::default();
    let Some(quantities) = quantities.filter(|quantities| !quantities.is_null()) else { return Ok(amounts) };
    only_fields(quantities, &["cpu", "memory"])?;
    for resource in RESOURCES.into_iter().filter(|resource| quantities.get(resource.as_str()).is_some()) {
        let written = text(quantities, resource.as_str())?;
        let quantity = Quantity::parse(written).map_err(|error| Disagreement::new(error, written))?;
        amounts.set(resource, Some(resource.amount(&quantity)));
    }
    Ok(amounts)
}

/// The time at which the updater looks at its pods.
const NOW: Time = Time(1_767_225_600_000_000_000);

/// Recommendation and pods -> how far each is from it, and which are replaced in what order.
pub fn updater(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["tag", "update_mode", "recommendation", "pods", "min_allowed", "max_allowed", "expect"])?;
    let bound = |name: &str| case.get(name).cloned().unwrap_or(Value::Null);
    let policy = json!({"containerName": "*", "minAllowed": bound("min_allowed"), "maxAllowed": bound("max_allowed")});
    let spec = VpaSpec::of(&json!({"spec": {
        "updatePolicy": {"updateMode": field(case, "update_mode")?},
        "resourcePolicy": {"containerPolicies": [policy]},
    }}));
    let recommended =
        list(case, "recommendation")?.iter().map(recommended_of).collect::<Result<Vec<_>, Disagreement>>()?;
    let pods = list(case, "pods")?;
    let views = pods.iter().map(view_of).collect::<Result<Vec<_>, Disagreement>>()?;
    let priorities: Vec<Priority> =
        views.iter().map(|view| Priority::of(view, &capped(&spec, &view.containers, &recommended))).collect();
    let names: Vec<&str> = pods.iter().map(|pod| text(pod, "name")).collect::<Result<_, _>>()?;
    let expected = field(case, "expect")?;
    only_fields(expected, &["priorities", "update_order"])?;
    let recorded = list(expected, "priorities")?;
    compare("priorities", &json!(recorded.len()), &json!(priorities.len()), 0.0)?;
    for ((recorded, name), priority) in recorded.iter().zip(&names).zip(&priorities) {
        let mut recorded = recorded.clone();
        recorded["resource_diff"] = json!(float(&recorded, "resource_diff")?);
        let got = json!({"name": name, "outside_range": priority.outside_range, "scale_up": priority.scale_up,
            "resource_diff": priority.resource_diff});
        compare(name, &recorded, &got, priority.resource_diff * 1e-15)?;
    }
    let order = update_order(&updater::Settings::default(), &spec, &views, &recommended, NOW);
    orders_agree(list(expected, "update_order")?, &order, &names, &priorities)
}

/// The same pods, and at each place one of the same priority: among equals the order keeps no promise.
fn orders_agree(
    recorded: &[Value],
    order: &[usize],
    names: &[&str],
    priorities: &[Priority],
) -> Result<(), Disagreement> {
    let got: Vec<&str> = order.iter().map(|index| names[*index]).collect();
    let differ = || Disagreement::new(json!(recorded), json!(got));
    let place = |name: &Value| names.iter().position(|known| name == known).ok_or_else(differ);
    let recorded: Vec<usize> = recorded.iter().map(place).collect::<Result<_, _>>()?;
    let sorted = |places: &[usize]| {
        let mut places = places.to_vec();
        places.sort_unstable();
        places
    };
    let rank = |index: &usize| (priorities[*index].scale_up, priorities[*index].resource_diff);
    let is_same = sorted(&recorded) == sorted(order) && recorded.iter().map(rank).eq(order.iter().map(rank));
    if is_same { Ok(()) } else { Err(differ()) }
}

fn recommended_of(recorded: &Value) -> Result<Recommended, Disagreement> {
    only_fields(recorded, &["name", "target", "lower", "upper"])?;
    let bound = |name: &str| amounts(recorded.get(name));
    let amounts = ContainerRecommendation { target: bound("target")?, lower: bound("lower")?, upper: bound("upper")? };
    Ok(Recommended { container: Name::new(text(recorded, "name")?), amounts })
}

fn view_of(recorded: &Value) -> Result<PodView, Disagreement> {
    only_fields(recorded, &["name", "age_s", "containers"])?;
    let given = |seconds: &Value| (!seconds.is_null()).then(|| nanoseconds(seconds).map(Span)).transpose();
    let age = given(field(recorded, "age_s")?)?;
    let containers = list(recorded, "containers")?.iter().map(|container| {
        only_fields(container, &["name", "requests", "oom_after_s"])?;
        Ok(PodContainer {
            name: Name::new(text(container, "name")?),
            requests: amounts(container.get("requests"))?,
            limits: Amounts::default(),
            oom_after: given(field(container, "oom_after_s")?)?,
        })
    });
    let containers = containers.collect::<Result<Vec<_>, Disagreement>>()?;
    Ok(PodView { start_time: age.map(|age| NOW - age), containers })
}

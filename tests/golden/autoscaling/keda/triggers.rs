//! What a source says -> the number that the HPA reads, and whether it activates.

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, field, float, int, list, only_fields, text};
use kubesim::autoscaling::keda::triggers::{TriggerValue, cron, kafka, prometheus, rabbitmq};
use kubesim::rules::cron::{Schedule, zone_named};
use kubesim::rules::timestamp;

pub fn triggers(case: &Value) -> Result<(), Disagreement> {
    let got = match text(case, "kind")? {
        "kafka" => kafka_value(case)?,
        "rabbitmq" => rabbitmq_value(case)?,
        "prometheus" => {
            only_fields(case, &["kind", "query_result", "threshold", "activation_threshold", "expect"])?;
            prometheus::value(float(case, "query_result")?, float(case, "activation_threshold")?)
        }
        "cron" => cron_value(case)?,
        other => return Err(Disagreement::new("a known kind of trigger", other)),
    };
    let mut expected = field(case, "expect")?.clone();
    if let Some(replicas) = expected.as_object_mut().and_then(|expect| expect.remove("uncapped_hpa_replicas")) {
        let threshold = int(case, "lag_threshold")?.saturating_mul(1_000);
        compare("uncapped_hpa_replicas", &replicas, &json!(ceiling(got.metric_milli, threshold)), 0.0)?;
    }
    compare("value", &expected, &json!({"metric_milli": got.metric_milli, "active": got.is_active}), 0.0)
}

fn ceiling(amount: i64, unit: i64) -> i64 {
    amount / unit + i64::from(amount % unit > 0)
}

fn is_true(case: &Value, name: &str) -> Result<bool, Disagreement> {
    field(case, name)?.as_bool().ok_or_else(|| Disagreement::new(format!("true or false in `{name}`"), case))
}

fn kafka_value(case: &Value) -> Result<TriggerValue, Disagreement> {
    let fields = [
        "kind",
        "lag_threshold",
        "activation_lag_threshold",
        "allow_idle_consumers",
        "limit_to_partitions_with_lag",
        "ensure_even_distribution",
        "exclude_persistent_lag",
        "partitions",
        "expect",
    ];
    only_fields(case, &fields)?;
    let mut partitions = Vec::new();
    let mut to_zero = None;
    for partition in list(case, "partitions")? {
        only_fields(partition, &["consumer", "latest", "previous", "invalid_lag"])?;
        let committed = Some(int(partition, "consumer")?).filter(|offset| *offset >= 0);
        let previous = partition.get("previous").and_then(Value::as_i64);
        partitions.push(kafka::Partition { committed, latest: int(partition, "latest")?, previous });
        if committed.is_none() {
            // What the offset policy yields tells the option.
            let found = int(partition, "invalid_lag")? == 0;
            if to_zero.replace(found).is_some_and(|before| before != found) {
                return Err(Disagreement::new("one offset policy a case", case));
            }
        }
    }
    let settings = kafka::Settings {
        lag_threshold: int(case, "lag_threshold")?,
        activation_lag_threshold: int(case, "activation_lag_threshold")?,
        offset_reset: kafka::OffsetReset::Latest,
        allow_idle_consumers: is_true(case, "allow_idle_consumers")?,
        scale_to_zero_on_invalid_offset: to_zero.unwrap_or(false),
        exclude_persistent_lag: is_true(case, "exclude_persistent_lag")?,
        limit_to_partitions_with_lag: is_true(case, "limit_to_partitions_with_lag")?,
        ensure_even_distribution: is_true(case, "ensure_even_distribution")?,
    };
    Ok(settings.value(&partitions))
}

fn rabbitmq_value(case: &Value) -> Result<TriggerValue, Disagreement> {
    let fields =
        ["kind", "mode", "messages", "publish_rate", "deliver_get_rate", "activation_value", "value", "expect"];
    only_fields(case, &fields)?;
    let name = text(case, "mode")?;
    let mode = rabbitmq::Mode::find(name).ok_or_else(|| Disagreement::new("a known mode", name))?;
    let queue = rabbitmq::Queue {
        messages: int(case, "messages")?,
        publish_rate: float(case, "publish_rate")?,
        deliver_get_rate: float(case, "deliver_get_rate")?,
    };
    Ok(rabbitmq::value(mode, &queue, float(case, "activation_value")?))
}

fn cron_value(case: &Value) -> Result<TriggerValue, Disagreement> {
    let fields = ["kind", "timezone", "start", "end", "desired_replicas", "now", "hpa_target_average_value", "expect"];
    only_fields(case, &fields)?;
    compare("target", field(case, "hpa_target_average_value")?, &json!(1), 0.0)?;
    let schedule = |name: &str| {
        let parsed = Schedule::parse(text(case, name)?);
        parsed.map(|(schedule, _)| schedule).map_err(|error| Disagreement::new("a schedule", error))
    };
    let zone = text(case, "timezone")?;
    let now = text(case, "now")?;
    let settings = cron::Settings {
        start: schedule("start")?,
        end: schedule("end")?,
        zone: zone_named(zone).ok_or_else(|| Disagreement::new("a time zone", zone))?,
        desired_replicas: int(case, "desired_replicas")?,
    };
    Ok(cron::value(&settings, timestamp::parse(now).ok_or_else(|| Disagreement::new("a time", now))?))
}

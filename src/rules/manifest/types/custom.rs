//! Schemas of the custom resources that are known, and what they refuse.
//!
//! The server judges these objects by their definitions: unknown fields are refused like those of its own types; values of
//! a wrong type are broken rules here (422), as are missing fields, unknown words and numbers out of range.
//!
//! Upstream: kedacore/keda config/crd/bases, kubernetes/autoscaler vertical-pod-autoscaler/deploy/vpa-v1-crd-gen.yaml.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerBehavior;
use k8s_openapi::api::batch::v1::JobSpec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{Errors, Field, FieldError, ManifestKind, Reason};
use super::read_as;
use crate::rules::quantity::Quantity;
use crate::rules::suggest;

/// What a value must be.
enum Schema {
    Text,
    /// Text of at least one character.
    Name,
    Word(&'static [&'static str]),
    /// A 32-bit number, at least so much.
    Number(i32),
    Truth,
    /// A whole number or the text of a quantity.
    Amount,
    List(&'static Schema),
    ListOfOneOrMore(&'static Schema),
    /// Any keys.
    Map(&'static Schema),
    Object(&'static [Property]),
    /// Types of Kubernetes itself.
    Job,
    Behavior,
}

struct Property {
    name: &'static str,
    schema: Schema,
    is_required: bool,
}

const fn must(name: &'static str, schema: Schema) -> Property {
    Property { name, schema, is_required: true }
}

const fn may(name: &'static str, schema: Schema) -> Property {
    Property { name, schema, is_required: false }
}

/// Where nothing is said about the least number.
const ANY: i32 = i32::MIN;

const TRIGGERS: Schema = Schema::ListOfOneOrMore(&Schema::Object(&[
    must("type", Schema::Name),
    may("name", Schema::Text),
    may("useCachedMetrics", Schema::Truth),
    must("metadata", Schema::Map(&Schema::Text)),
    may("authenticationRef", Schema::Object(&[must("name", Schema::Name), may("kind", Schema::Text)])),
    may("metricType", Schema::Word(&["AverageValue", "Value", "Utilization"])),
]));

const SCALED_OBJECT: Schema = Schema::Object(&[
    must(
        "scaleTargetRef",
        Schema::Object(&[
            must("name", Schema::Name),
            may("apiVersion", Schema::Text),
            may("kind", Schema::Text),
            may("envSourceContainerName", Schema::Text),
        ]),
    ),
    may("pollingInterval", Schema::Number(1)),
    may("initialCooldownPeriod", Schema::Number(0)),
    may("cooldownPeriod", Schema::Number(0)),
    may("idleReplicaCount", Schema::Number(0)),
    may("minReplicaCount", Schema::Number(0)),
    may("maxReplicaCount", Schema::Number(1)),
    may("advanced", ADVANCED),
    must("triggers", TRIGGERS),
    may("fallback", FALLBACK),
]);

const ADVANCED: Schema = Schema::Object(&[
    may(
        "horizontalPodAutoscalerConfig",
        Schema::Object(&[may("behavior", Schema::Behavior), may("name", Schema::Text)]),
    ),
    may("restoreToOriginalReplicaCount", Schema::Truth),
    may(
        "scalingModifiers",
        Schema::Object(&[
            may("formula", Schema::Text),
            may("target", Schema::Text),
            may("activationTarget", Schema::Text),
            may("metricType", Schema::Word(&["AverageValue", "Value"])),
        ]),
    ),
]);

const FALLBACK: Schema = Schema::Object(&[
    must("failureThreshold", Schema::Number(0)),
    must("replicas", Schema::Number(0)),
    may(
        "behavior",
        Schema::Word(&[
            "static",
            "currentReplicas",
            "currentReplicasIfHigher",
            "currentReplicasIfLower",
            "scalingModifiers",
        ]),
    ),
]);

const SCALED_JOB: Schema = Schema::Object(&[
    must("jobTargetRef", Schema::Job),
    may("pollingInterval", Schema::Number(1)),
    may("successfulJobsHistoryLimit", Schema::Number(0)),
    may("failedJobsHistoryLimit", Schema::Number(0)),
    may("rolloutStrategy", Schema::Text),
    may("rollout", Schema::Object(&[may("strategy", Schema::Text), may("propagationPolicy", Schema::Text)])),
    may("envSourceContainerName", Schema::Text),
    may("minReplicaCount", Schema::Number(0)),
    may("maxReplicaCount", Schema::Number(1)),
    may(
        "scalingStrategy",
        Schema::Object(&[
            may("strategy", Schema::Word(&["default", "custom", "accurate", "eager"])),
            may("customScalingQueueLengthDeduction", Schema::Number(ANY)),
            may("customScalingRunningJobPercentage", Schema::Text),
            may("pendingPodConditions", Schema::List(&Schema::Text)),
            may("multipleScalersCalculation", Schema::Word(&["max", "min", "avg", "sum"])),
        ]),
    ),
    must("triggers", TRIGGERS),
]);

const STARTUP_BOOST: Schema = Schema::Object(&[may(
    "cpu",
    Schema::Object(&[
        must("type", Schema::Word(&["Factor", "Quantity"])),
        may("factor", Schema::Number(ANY)),
        may("quantity", Schema::Amount),
        may("durationSeconds", Schema::Number(ANY)),
    ]),
)]);

const CONTAINER_POLICY: Schema = Schema::Object(&[
    may("containerName", Schema::Text),
    may("mode", Schema::Word(&["Auto", "Off"])),
    may("minAllowed", Schema::Map(&Schema::Amount)),
    may("maxAllowed", Schema::Map(&Schema::Amount)),
    may("controlledResources", Schema::List(&Schema::Text)),
    may("controlledValues", Schema::Word(&["RequestsAndLimits", "RequestsOnly"])),
    may("memoryAggregationIntervalCount", Schema::Number(1)),
    may("memoryAggregationIntervalSeconds", Schema::Number(1)),
    may("targetCPUPercentile", Schema::Amount),
    may("targetMemoryPercentile", Schema::Amount),
    may("oomBumpUpRatio", Schema::Amount),
    may("oomMinBumpUp", Schema::Amount),
    may("startupBoost", STARTUP_BOOST),
]);

const VERTICAL_POD_AUTOSCALER: Schema = Schema::Object(&[
    must(
        "targetRef",
        Schema::Object(&[must("kind", Schema::Text), must("name", Schema::Text), may("apiVersion", Schema::Text)]),
    ),
    may(
        "updatePolicy",
        Schema::Object(&[
            may("updateMode", Schema::Word(&["Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace", "Auto"])),
            may("evictAfterOOMSeconds", Schema::Number(1)),
            may("minReplicas", Schema::Number(ANY)),
            may(
                "evictionRequirements",
                Schema::List(&Schema::Object(&[
                    must("resources", Schema::List(&Schema::Text)),
                    must("changeRequirement", Schema::Word(&["TargetHigherThanRequests", "TargetLowerThanRequests"])),
                ])),
            ),
        ]),
    ),
    may("resourcePolicy", Schema::Object(&[may("containerPolicies", Schema::List(&CONTAINER_POLICY))])),
    may("recommenders", Schema::List(&Schema::Object(&[must("name", Schema::Text)]))),
    may("startupBoost", STARTUP_BOOST),
]);

/// Fields that a custom resource does not have, outside its metadata. `status` is not looked into.
pub fn unknown_fields(kind: ManifestKind, manifest: &Value) -> Vec<FieldError> {
    let root = Field::root(manifest);
    let mut errors = Errors::default();
    note_unknown(&root, &["apiVersion", "kind", "metadata", "spec", "status"], &mut errors);
    check_spec(kind, &root, &mut errors);
    errors.into_list().into_iter().filter(|error| error.reason == Reason::UnknownField).collect()
}

/// Adds everything that the definition of a custom resource refuses, unknown fields apart.
pub fn check_schema(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    let mut found = Errors::default();
    check_spec(kind, root, &mut found);
    // Rules across fields are judged when each field is right.
    if found.is_empty() {
        match kind {
            ManifestKind::ScaledObject => replica_counts(&root.get("spec"), &mut found),
            ManifestKind::VerticalPodAutoscaler => {
                let spec = root.get("spec");
                startup_boost(&spec, &mut found);
                let policies = spec.at(&["resourcePolicy", "containerPolicies"]);
                policies.items().for_each(|policy| startup_boost(&policy, &mut found));
            }
            _ => {}
        }
    }
    for error in found.into_list().into_iter().filter(|error| error.reason != Reason::UnknownField) {
        errors.push(error);
    }
}

fn check_spec(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    let spec = root.get("spec");
    let (schema, is_required) = match kind {
        ManifestKind::ScaledObject => (&SCALED_OBJECT, true),
        ManifestKind::ScaledJob => (&SCALED_JOB, false),
        ManifestKind::VerticalPodAutoscaler => (&VERTICAL_POD_AUTOSCALER, true),
        _ => return,
    };
    if spec.is_given() {
        check(schema, &spec, errors);
    } else if is_required {
        errors.required(&spec, "");
    }
}

fn note_unknown(field: &Field<'_>, known: &[&str], errors: &mut Errors) {
    for (name, _) in field.entries().filter(|(name, _)| !known.contains(name)) {
        let help = suggest::help(name, known.iter().copied());
        let message = format!("unknown field `{name}`");
        errors.push(FieldError { path: field.get(name).path, reason: Reason::UnknownField, message, help });
    }
}

fn check(schema: &Schema, field: &Field<'_>, errors: &mut Errors) {
    let value = field.value;
    match schema {
        Schema::Text if value.is_string() => {}
        Schema::Text => wrong_type(field, "text", errors),
        Schema::Name if value.is_string() => {
            if field.text().is_empty() {
                errors.invalid(field, "must be at least 1 character long");
            }
        }
        Schema::Name => wrong_type(field, "text", errors),
        Schema::Word(words) => match value.as_str() {
            Some(word) if words.contains(&word) => {}
            Some(_) => errors.not_supported(field, words),
            None => wrong_type(field, "text", errors),
        },
        Schema::Number(least) => number(*least, field, errors),
        Schema::Truth if value.is_boolean() => {}
        Schema::Truth => wrong_type(field, "true or false", errors),
        Schema::Amount => match value {
            Value::String(text) if Quantity::parse(text).is_ok() => {}
            Value::String(_) => errors.invalid(field, "must be a quantity like `500m` or `1Gi`"),
            value if value.as_i64().is_some() => {}
            _ => wrong_type(field, "a whole number or text", errors),
        },
        Schema::List(item) | Schema::ListOfOneOrMore(item) if value.is_array() => {
            if field.is_empty() && matches!(schema, Schema::ListOfOneOrMore(_)) {
                errors.invalid(field, "must have at least 1 item");
            }
            field.items().for_each(|one| check(item, &one, errors));
        }
        Schema::List(_) | Schema::ListOfOneOrMore(_) => wrong_type(field, "a list", errors),
        Schema::Map(item) if value.is_object() => {
            // Unlike Kubernetes' own checks, those of schemas write keys of maps as fields.
            let names: Vec<&str> = field.entries().map(|(name, _)| name).collect();
            names.into_iter().for_each(|name| check(item, &field.get(name), errors));
        }
        Schema::Object(properties) if value.is_object() => object(properties, field, errors),
        Schema::Job if value.is_object() => native::<JobSpec>(field, errors),
        Schema::Behavior if value.is_object() => native::<HorizontalPodAutoscalerBehavior>(field, errors),
        Schema::Map(_) | Schema::Object(_) | Schema::Job | Schema::Behavior => wrong_type(field, "an object", errors),
    }
}

fn wrong_type(field: &Field<'_>, wanted: &str, errors: &mut Errors) {
    let message = format!("Invalid value: {}: must be {wanted}", field.value);
    let help =
        (wanted == "text" && (field.value.is_number() || field.value.is_boolean())).then_some("put it in quotes");
    let (path, help) = (field.path.clone(), help.map(String::from));
    errors.push(FieldError { path, reason: Reason::TypeInvalid, message, help });
}

fn number(least: i32, field: &Field<'_>, errors: &mut Errors) {
    match field.int() {
        None => wrong_type(field, "a whole number", errors),
        Some(number) if number < i64::from(least) => {
            errors.invalid(field, &format!("must be greater than or equal to {least}"));
        }
        Some(number) if i32::try_from(number).is_err() => errors.invalid(field, "must be a number of 32 bits"),
        Some(_) => {}
    }
}

fn object(properties: &[Property], field: &Field<'_>, errors: &mut Errors) {
    let known: Vec<&str> = properties.iter().map(|property| property.name).collect();
    note_unknown(field, &known, errors);
    for property in properties {
        let inner = field.get(property.name);
        if inner.is_given() {
            check(&property.schema, &inner, errors);
        } else if property.is_required {
            errors.required(&inner, "");
        }
    }
}

/// A path as schemas write it: keys of maps like fields, only numbers in brackets.
fn as_schemas_write(path: &str) -> String {
    let mut parts = path.split('[');
    let mut written = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.split_once(']') {
            Some((key, rest)) if key.bytes().any(|byte| !byte.is_ascii_digit()) => {
                written.extend([".", key, rest]);
            }
            _ => written.extend(["[", part]),
        }
    }
    written
}

/// A type of Kubernetes itself. What it always writes is what a definition requires.
fn native<T: Serialize + DeserializeOwned>(field: &Field<'_>, errors: &mut Errors) {
    let (typed, readout) = read_as::<T>(field.value, &field.path, "", false);
    let is_right = readout.errors.is_empty();
    for error in readout.errors {
        errors.push(FieldError { path: as_schemas_write(&error.path), ..error });
    }
    let written = typed.filter(|_| is_right).and_then(|typed| serde_json::to_value(typed).ok());
    if let Some(written) = written {
        missing(&written, field, errors);
    }
}

fn missing(written: &Value, field: &Field<'_>, errors: &mut Errors) {
    match written {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let given = field.get(name);
                if given.is_given() {
                    missing(inner, &given, errors);
                } else {
                    errors.required(&given, "");
                }
            }
        }
        Value::Array(items) => field.items().zip(items).for_each(|(given, inner)| missing(inner, &given, errors)),
        _ => {}
    }
}

/// A ScaledObject's bounds; the upper one is 100 unless given.
fn replica_counts(spec: &Field<'_>, errors: &mut Errors) {
    let least = spec.get("minReplicaCount").int();
    let most = spec.get("maxReplicaCount").int().unwrap_or(100);
    if least.is_some_and(|least| least > most) {
        let message = "Invalid value: minReplicaCount must be less than or equal to maxReplicaCount";
        let message = format!("{message} ({most})");
        errors.push(FieldError { path: spec.path.clone(), reason: Reason::Invalid, message, help: None });
    }
}

/// A startup boost has the value that its type asks for and no other.
fn startup_boost(holder: &Field<'_>, errors: &mut Errors) {
    let cpu = holder.at(&["startupBoost", "cpu"]);
    let has = |name: &str| cpu.get(name).is_given();
    let is_right = match cpu.get("type").text() {
        "Factor" => has("factor") && !has("quantity"),
        "Quantity" => has("quantity") && !has("factor"),
        _ => true,
    };
    if !is_right {
        errors.invalid(&cpu, "type Factor needs `factor` alone, type Quantity needs `quantity` alone");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(kind: ManifestKind, spec: Value) -> Vec<String> {
        let object = json!({"spec": spec});
        let mut errors = Errors::default();
        check_schema(kind, &Field::root(&object), &mut errors);
        errors.into_list().iter().map(|error| format!("{} {}", error.reason.as_str(), error.path)).collect()
    }

    #[test]
    fn every_mistake_is_named() {
        let spec = json!({"scaleTargetRef": {"name": ""}, "pollingInterval": 0, "minReplicaCount": "1",
            "triggers": [{"metadata": {"value": 5}, "metricType": "Average"}], "fallback": {"replicas": 3.5},
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleUp": {"policies": [{"value": 1}]}}}}});
        assert_eq!(
            refused(ManifestKind::ScaledObject, spec),
            [
                "Invalid spec.scaleTargetRef.name",
                "Invalid spec.pollingInterval",
                "TypeInvalid spec.minReplicaCount",
                "Required spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.policies[0].periodSeconds",
                "Required spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.policies[0].type",
                "Required spec.triggers[0].type",
                "TypeInvalid spec.triggers[0].metadata.value",
                "NotSupported spec.triggers[0].metricType",
                "Required spec.fallback.failureThreshold",
                "TypeInvalid spec.fallback.replicas",
            ]
        );
        assert_eq!(
            refused(ManifestKind::ScaledJob, json!({"jobTargetRef": {"template": {"spec": {"containers": [{}]}}}})),
            ["Required spec.jobTargetRef.template.spec.containers[0].name", "Required spec.triggers"]
        );
        // The definition's schema judges embedded amounts, and it has no brackets for keys.
        assert_eq!(
            as_schemas_write("spec.containers[0].resources.limits[a.b/c]"),
            "spec.containers[0].resources.limits.a.b/c"
        );
        assert_eq!(refused(ManifestKind::VerticalPodAutoscaler, Value::Null), ["Required spec"]);
    }

    #[test]
    fn boosts_have_one_value() {
        let boost = |cpu: Value| {
            let target = json!({"kind": "Deployment", "name": "d"});
            refused(ManifestKind::VerticalPodAutoscaler, json!({"targetRef": target, "startupBoost": {"cpu": cpu}}))
                .len()
        };
        assert_eq!(boost(json!({"type": "Factor", "factor": 2})), 0);
        assert_eq!(boost(json!({"type": "Factor"})), 1);
        assert_eq!(boost(json!({"type": "Quantity", "quantity": "1", "factor": 2})), 1);
    }

    #[test]
    fn unknown_fields_are_told_apart() {
        let object = json!({"spce": {}, "spec": {"triggers": [{"typo": 1}], "jobTargetRef": {"tmplate": {}}}});
        let paths: Vec<String> =
            unknown_fields(ManifestKind::ScaledJob, &object).into_iter().map(|error| error.path).collect();
        assert_eq!(paths, ["spce", "spec.jobTargetRef.tmplate", "spec.triggers[0].typo"]);
    }
}

//! Custom resources: metadata is typed, all else is taken as it is.

use std::rc::Rc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;
use serde_json::Value;

use super::{Problems, meta, source_of};
use crate::model::{Custom, Kind};
use crate::rules::codec::json;

/// The custom resource of a manifest; `None` if the kind is a built-in one or the metadata cannot be read.
///
/// DIVERGES: no schema of a CustomResourceDefinition is applied: nothing is defaulted, pruned or refused.
pub fn custom(kind: Kind, value: &Value, problems: &mut Problems) -> Option<Custom> {
    let Kind::Custom(custom) = kind else { return None };
    let mut value = value.clone();
    json::drop_nulls(&mut value);
    let typed: api::ObjectMeta = super::typed(value.get("metadata").unwrap_or(&Value::Null), problems)?;
    let status = value.get("status").cloned().unwrap_or(Value::Null);
    let meta = meta::meta(kind, &typed, problems);
    Some(Custom { kind: custom, meta, source: source_of(&value), status: Rc::new(status) })
}

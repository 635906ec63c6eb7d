//! Recordings of the whole control plane, replayed in lockstep.
//!
//! A case counts when its family's issue has begun and it needs nothing of what is listed here as missing; one that needs
//! something nobody has heard of is a failure. It agrees when its final state and checkpoints, and for each object the
//! sequence of changes, are the same, times within 5 ms. Kubernetes Events, conflicts, numbers of requests and exact times
//! are counted beside that; of our own recordings they are required too, of others (`KUBESIM_VECTORS`) they are told.

mod compare;
mod watcher;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::case::{Disagreement, Reader, field, list, text};
use compare::Second;
use kubesim::sim::{World, lockstep};
use watcher::Watcher;

/// The components that exist.
const COMPONENTS: &[&str] = &["deployment", "replicaset", "scheduler"];
/// Those that do not exist yet.
const LATER_COMPONENTS: &[&str] =
    &["daemonset", "disruption", "hpa", "job", "nodelifecycle", "statefulset", "tainteviction"];
/// Actions that need parts that do not exist yet: registration and taints of nodes, the Eviction API.
const LATER_ACTIONS: &[&str] = &["add-node", "drain", "node-down", "node-up"];
/// Kinds that do not exist yet.
const LATER_KINDS: &[&str] = &["DaemonSet", "HorizontalPodAutoscaler", "Job", "PodDisruptionBudget", "StatefulSet"];
/// The families whose issue has begun, with the function that replays them.
pub const FAMILIES_BEGUN: &[(&str, Reader)] = &[
    ("deployment", replay),
    ("rollout", replay),
    ("conflicts", replay),
    ("crash", replay),
    ("watch-faults", replay),
    ("api-errors", replay),
    ("mixed", replay),
    ("scheduling", replay),
];
/// Cases of our own recordings that agree, but not in all that is counted beside agreement.
const SECOND_OPEN: &[&str] = &[];

thread_local! {
    /// What was counted beside agreement since [`take_second`] was asked last.
    static SECOND: RefCell<Vec<Second>> = const { RefCell::new(Vec::new()) };
    /// What was missing for cases since then, by name.
    static MISSING: RefCell<BTreeMap<String, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// Runs a case and compares.
pub fn replay(case: &Value) -> Result<(), Disagreement> {
    let plan = lockstep::plan_of_system_case(case).map_err(|error| Disagreement::new("a case we can replay", error))?;
    let mut world = World::new(Arc::new(plan)).map_err(|error| Disagreement::new("objects we can read", error))?;
    let mut watcher = Watcher::new(lockstep::RECORDING_ZERO);
    world.run(&mut watcher);
    let expect = field(case, "expect")?;
    let second = compare::second(expect, &watcher.entries, &watcher.requests);
    SECOND.with_borrow_mut(|all| all.push(second));
    if let Some(folder) = std::env::var_os("KUBESIM_E2E_DUMP") {
        let lines: Vec<String> = watcher.entries.iter().map(Value::to_string).collect();
        let path = std::path::Path::new(&folder).join(format!("{}.jsonl", text(case, "case")?));
        std::fs::write(path.with_extension("log"), watcher.log.join("\n"))
            .map_err(|error| Disagreement::new("a folder to write to", error))?;
        std::fs::write(path, format!("{}\n{}\n", lines.join("\n"), serde_json::json!(watcher.requests)))
            .map_err(|error| Disagreement::new("a folder to write to", error))?;
    }
    compare::required(expect, &watcher.entries)?;
    match second.first_open() {
        Some(open) if is_ours() && !SECOND_OPEN.contains(&text(case, "case")?) => {
            Err(Disagreement::new(format!("the same {open}"), format!("{second:?}")))
        }
        _ => Ok(()),
    }
}

/// Whether the recordings are those of this repository.
fn is_ours() -> bool {
    std::env::var_os("KUBESIM_VECTORS").is_none()
}

/// The second counts of the cases replayed since the last call, and what others lack, in lines.
pub fn take_second() -> Vec<String> {
    let missing = MISSING.take().into_iter().map(|(name, cases)| format!("{name} {cases}"));
    let missing = missing.collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    if !missing.is_empty() {
        lines.push(format!("  missing yet, cases that need it: {missing}"));
    }
    let all = SECOND.take();
    if all.is_empty() {
        return lines;
    }
    let count = |of: fn(&Second) -> bool| all.iter().filter(|second| of(second)).count();
    let told = all.iter().filter(|second| second.requests.is_some()).count();
    lines.push(format!(
        "  besides: Events {} of {n}, conflicts {} of {n}, requests {} of {told}, everything to 0.1 ms {} of {n}",
        count(|it| it.events),
        count(|it| it.conflicts),
        count(|it| it.requests == Some(true)),
        count(|it| it.exact),
        n = all.len(),
    ));
    lines
}

/// The function that replays a case; `None` if the case does not count yet.
pub fn reader_of(case: &Value, families_begun: &[(&str, Reader)]) -> Result<Option<Reader>, Disagreement> {
    let family = text(case, "family")?;
    let missing = missing(case)?;
    MISSING.with_borrow_mut(|all| missing.iter().for_each(|name| *all.entry(name.clone()).or_default() += 1));
    if !missing.is_empty() {
        return Ok(None);
    }
    Ok(families_begun.iter().find(|(begun, _)| *begun == family).map(|(_, reader)| *reader))
}

/// What a case needs of the parts that are known to be missing, each once.
fn missing(case: &Value) -> Result<BTreeSet<String>, Disagreement> {
    let input = field(case, "input")?;
    let mut missing = BTreeSet::new();
    for component in list(input, "components")? {
        match component.as_str() {
            Some(name) if COMPONENTS.contains(&name) => {}
            Some(name) if LATER_COMPONENTS.contains(&name) => drop(missing.insert(name.to_string())),
            _ => return Err(Disagreement::new("the name of a component", component)),
        }
    }
    let all = |name: &str| input[name].as_array().cloned().unwrap_or_default();
    for action in all("actions") {
        missing.extend(named(LATER_ACTIONS, &action["verb"]));
    }
    let created = all("actions").into_iter().map(|action| action["object"].clone());
    for object in all("setup").into_iter().chain(created) {
        missing.extend(named(LATER_KINDS, &object["kind"]));
    }
    Ok(missing)
}

fn named(names: &[&str], word: &Value) -> Option<String> {
    word.as_str().filter(|word| names.contains(word)).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_case_counts_by_its_own_components_and_family() {
        let begun: &[(&str, Reader)] = &[("rollout", |_| Ok(()))];
        let case = |family: &str, components: &[&str]| json!({"family": family, "input": {"components": components}});
        assert!(reader_of(&case("rollout", &["deployment", "scheduler"]), begun).unwrap().is_some());
        assert!(reader_of(&case("rollout", &["deployment", "hpa"]), begun).unwrap().is_none());
        assert!(reader_of(&case("hpa", &["deployment"]), begun).unwrap().is_none());
        assert!(reader_of(&json!({"family": "rollout", "input": {}}), begun).is_err());
        assert!(reader_of(&json!({"input": {"components": []}}), begun).is_err());
        assert!(reader_of(&case("rollout", &["deployment", "etcd"]), begun).is_err(), "nobody has heard of it");
    }

    #[test]
    fn a_case_counts_without_the_parts_that_are_missing() {
        let case = |action: Value| json!({"input": {"components": ["deployment", "hpa"], "actions": [action]}});
        let names = |action: Value| missing(&case(action)).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(names(json!({"verb": "cordon", "name": "node-1"})), ["hpa"]);
        assert_eq!(names(json!({"verb": "drain", "name": "node-1"})), ["drain", "hpa"]);
        assert_eq!(names(json!({"verb": "create", "object": {"kind": "Job"}})), ["Job", "hpa"]);
        // What is unknown is not missing: the replay says so.
        assert_eq!(names(json!({"verb": "defragment"})), ["hpa"]);
    }
}

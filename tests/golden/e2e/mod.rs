//! Recordings of the whole control plane, replayed in lockstep.
//!
//! A case counts when its components all exist and its family's issue has begun. It agrees when its final state and
//! checkpoints, and for each object the sequence of changes, are the same, times within 5 ms. Kubernetes Events, conflicts,
//! numbers of requests and exact times are counted beside that.

mod compare;
mod watcher;

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::Value;

use crate::case::{Disagreement, Reader, field, list, text};
use compare::Second;
use kubesim::sim::{World, lockstep};
use watcher::Watcher;

/// The components that exist.
const COMPONENTS: &[&str] = &["deployment", "replicaset", "scheduler"];

/// The families whose issue has begun, with the function that replays them.
pub const FAMILIES_BEGUN: &[(&str, Reader)] = &[
    ("deployment", replay),
    ("rollout", replay),
    ("conflicts", replay),
    ("crash", replay),
    ("watch-faults", replay),
    ("api-errors", replay),
    ("mixed", replay),
];
/// Those of them in which a case counts only when all its actions and faults can be replayed.
const PARTLY: [&str; 1] = ["mixed"];

thread_local! {
    /// What was counted beside agreement since [`take_second`] was asked last.
    static SECOND: RefCell<Vec<Second>> = const { RefCell::new(Vec::new()) };
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
    compare::required(expect, &watcher.entries)
}

/// The second counts of the cases replayed since the last call, as words; empty when there were none.
pub fn take_second() -> String {
    let all = SECOND.take();
    if all.is_empty() {
        return String::new();
    }
    let count = |of: fn(&Second) -> bool| all.iter().filter(|second| of(second)).count();
    let told = all.iter().filter(|second| second.requests.is_some()).count();
    format!(
        "besides: Events {} of {n}, conflicts {} of {n}, requests {} of {told}, everything to 0.1 ms {} of {n}",
        count(|it| it.events),
        count(|it| it.conflicts),
        count(|it| it.requests == Some(true)),
        count(|it| it.exact),
        n = all.len(),
    )
}

/// The function that replays a case; `None` if the case does not count yet.
pub fn reader_of(case: &Value, families_begun: &[(&str, Reader)]) -> Result<Option<Reader>, Disagreement> {
    let family = text(case, "family")?;
    for component in list(field(case, "input")?, "components")? {
        let name = component.as_str().ok_or_else(|| Disagreement::new("the name of a component", component))?;
        if !COMPONENTS.contains(&name) {
            return Ok(None);
        }
    }
    if PARTLY.contains(&family) && lockstep::plan_of_system_case(case).is_err() {
        return Ok(None);
    }
    Ok(families_begun.iter().find(|(begun, _)| *begun == family).map(|(_, reader)| *reader))
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
    }
}

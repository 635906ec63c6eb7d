//! Which end-to-end cases count: those whose components all exist and whose family's issue has begun.

use serde_json::Value;

use crate::case::{Disagreement, Reader, field, list, text};

/// The components that exist.
const COMPONENTS: &[&str] = &["deployment", "replicaset", "scheduler"];

/// The families whose issue has begun, with the function that replays them.
pub const FAMILIES_BEGUN: &[(&str, Reader)] = &[];

/// The function that replays a case; `None` if the case does not count yet.
pub fn reader_of(case: &Value, families_begun: &[(&str, Reader)]) -> Result<Option<Reader>, Disagreement> {
    let family = text(case, "family")?;
    for component in list(field(case, "input")?, "components")? {
        let name = component.as_str().ok_or_else(|| Disagreement::new("the name of a component", component))?;
        if !COMPONENTS.contains(&name) {
            return Ok(None);
        }
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

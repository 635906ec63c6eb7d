//! Taints and tolerations.
//!
//! Upstream: component-helpers/scheduling/corev1/helpers.go, api/core/v1/toleration.go, v1.36.

use crate::model::{Taint, TaintEffect, Toleration};

/// Whether one toleration tolerates the taint.
pub fn matches(toleration: &Toleration, taint: &Taint) -> bool {
    toleration.effect.is_none_or(|effect| effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && (toleration.exists || toleration.value == taint.value)
}

/// Whether any of the tolerations tolerates the taint.
pub fn tolerates(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| matches(toleration, taint))
}

/// The first taint with an effect that counts that no toleration tolerates.
pub fn find_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    counts: impl Fn(TaintEffect) -> bool,
) -> Option<&'a Taint> {
    taints.iter().filter(|taint| counts(taint.effect)).find(|taint| !tolerates(tolerations, taint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Name;

    fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
        Taint { key: key.into(), value: value.into(), effect, time_added: None }
    }

    fn toleration(key: &str, exists: bool, value: &str, effect: Option<TaintEffect>) -> Toleration {
        Toleration { key: Name::new(key), exists, value: value.into(), effect, toleration_seconds: None }
    }

    #[test]
    fn matching() {
        let gpu = taint("gpu", "a100", TaintEffect::NoSchedule);
        assert!(matches(&toleration("gpu", false, "a100", None), &gpu));
        assert!(!matches(&toleration("gpu", false, "h100", None), &gpu));
        assert!(matches(&toleration("gpu", true, "", Some(TaintEffect::NoSchedule)), &gpu));
        assert!(!matches(&toleration("gpu", true, "", Some(TaintEffect::NoExecute)), &gpu));
        assert!(matches(&toleration("", true, "", None), &gpu));
        let soft = taint("x", "", TaintEffect::PreferNoSchedule);
        let taints = [soft.clone(), gpu.clone()];
        let hard = |effect| effect != TaintEffect::PreferNoSchedule;
        assert_eq!(find_untolerated(&taints, &[], hard), Some(&gpu));
        assert_eq!(find_untolerated(&taints, &[toleration("gpu", true, "", None)], hard), None);
        assert_eq!(find_untolerated(&taints, &[toleration("gpu", true, "", None)], |_| true), Some(&soft));
    }
}

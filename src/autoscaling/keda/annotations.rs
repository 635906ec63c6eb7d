//! Annotations by which people hold a ScaledObject, or wake it up.
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/scaledobject_types.go.

/// What the annotations of a ScaledObject ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Annotations {
    /// `paused`: neither KEDA nor an HPA acts.
    pub paused: bool,
    /// `paused-replicas`: paused, at this number of replicas.
    pub paused_replicas: Option<i32>,
    /// `paused-scale-in`
    pub paused_scale_in: bool,
    /// `paused-scale-out`
    pub paused_scale_out: bool,
    /// `force-activation`: active whatever the triggers say.
    pub force_activation: bool,
}

const PREFIX: &str = "autoscaling.keda.sh/";

impl Annotations {
    /// Reads the annotations of an object. A flag whose value is no truth value counts as set; a number of replicas that
    /// is none is left out.
    pub fn read<'a>(annotations: impl IntoIterator<Item = (&'a str, &'a str)>) -> Annotations {
        let mut found = Annotations::default();
        for (key, value) in annotations {
            match key.strip_prefix(PREFIX) {
                Some("paused") => found.paused = is_set(value),
                Some("paused-replicas") => found.paused_replicas = value.parse().ok(),
                Some("paused-scale-in") => found.paused_scale_in = is_set(value),
                Some("paused-scale-out") => found.paused_scale_out = is_set(value),
                Some("force-activation") => found.force_activation = is_set(value),
                _ => {}
            }
        }
        found
    }

    /// Whether polls and HPA are stopped: the HPA is deleted, and its history with it.
    pub fn is_paused(&self) -> bool {
        self.paused || self.paused_replicas.is_some()
    }

    /// The replicas that a paused target is set to, if it is set to any.
    pub fn replicas_while_paused(&self) -> Option<i32> {
        self.paused_replicas
    }

    /// Whether an object with these annotations counts as active.
    pub fn activates(&self, is_active: bool) -> bool {
        is_active || self.force_activation
    }
}

/// What Go's `strconv.ParseBool` takes for false.
fn is_set(value: &str) -> bool {
    !matches!(value, "0" | "f" | "F" | "false" | "False" | "FALSE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_read() {
        let read = |key: &str, value: &str| Annotations::read([(key, value)]);
        assert!(read("autoscaling.keda.sh/paused", "true").is_paused());
        assert!(!read("autoscaling.keda.sh/paused", "false").is_paused());
        assert!(!read("paused", "true").is_paused());
        assert!(read("autoscaling.keda.sh/paused", "yes").is_paused());
        let held = read("autoscaling.keda.sh/paused-replicas", "0");
        assert!(held.is_paused() && held.replicas_while_paused() == Some(0));
        assert!(!read("autoscaling.keda.sh/paused-replicas", "few").is_paused());
        assert!(read("autoscaling.keda.sh/force-activation", "true").activates(false));
        let both = Annotations::read([
            ("autoscaling.keda.sh/paused-scale-in", "true"),
            ("autoscaling.keda.sh/paused-scale-out", "0"),
        ]);
        assert!(both.paused_scale_in && !both.paused_scale_out);
    }
}

//! Why a plugin rejects a node or a pod.
//!
//! Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go, `Status`, v1.36.

use std::borrow::Cow;

use smallvec::SmallVec;

/// Whether removing pods could help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Removing pods from the node may make room.
    Unschedulable,
    /// No removal of pods helps.
    UnschedulableAndUnresolvable,
}

impl Code {
    /// Upstream's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Unschedulable => "Unschedulable",
            Code::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        }
    }
}

/// A reason, as the FailedScheduling message counts it.
pub type Reason = Cow<'static, str>;

/// A rejection. (Upstream's Status can also be a success: here that is `Ok(())`.)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// Whether removing pods could help.
    pub code: Code,
    /// Reasons; each counts in the message.
    pub reasons: SmallVec<[Reason; 1]>,
}

impl Status {
    /// A rejection that removing pods may lift.
    pub fn unschedulable(reason: impl Into<Reason>) -> Status {
        Status { code: Code::Unschedulable, reasons: SmallVec::from_iter([reason.into()]) }
    }

    /// A rejection that no removal of pods lifts.
    pub fn unresolvable(reason: impl Into<Reason>) -> Status {
        Status { code: Code::UnschedulableAndUnresolvable, reasons: SmallVec::from_iter([reason.into()]) }
    }

    /// The reasons joined.
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }
}

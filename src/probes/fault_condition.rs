//! Conditions for which faults wait: the same CEL as expectations, judged over the same observed state.

use std::fmt;
use std::rc::Rc;

use super::condition::Condition;
use super::observed::Changed;
use super::world_view::WorldView;
use crate::model::{Kind, Kinds};
use crate::sim::World;
use crate::sim::plan::WorldCondition;

/// Judges a condition over a world.
pub struct Judge {
    condition: Condition,
    depends_on: Changed,
}

impl Judge {
    /// Compiles the condition.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn new(text: &str, kinds: &Kinds) -> Result<Judge, String> {
        let condition = Condition::compile(text, kinds)?;
        Ok(Judge { depends_on: condition.references(), condition })
    }

    /// The judge of a condition that was compiled before.
    pub fn of_plan(text: &str, kinds: &Kinds) -> Rc<dyn WorldCondition> {
        Rc::new(Judge::new(text, kinds).expect("the maker of the plan has compiled it"))
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("depends_on", &self.depends_on).finish_non_exhaustive()
    }
}

impl WorldCondition for Judge {
    fn holds(&self, world: &World) -> bool {
        // What is not there yet cannot fulfil anything.
        self.condition.evaluate(&WorldView { world, now: world.now() }).unwrap_or(false)
    }

    fn depends_on(&self, kind: Kind) -> bool {
        self.depends_on.kinds.contains(kind)
    }

    fn depends_on_metrics(&self) -> bool {
        self.depends_on.metrics
    }
}

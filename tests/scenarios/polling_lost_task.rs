//! polling-lost-task.yaml: who repairs it when a background task dies.

use super::common::{plan, run};
use super::{failures, with};
use kubesim::model::{Kind, Object};

#[test]
fn lost_tasks_are_repaired_by_the_loop_alone() {
    let mut calm = plan("polling-lost-task", "base");
    calm.faults.clear();
    assert!(!failures(calm).is_empty());
    assert!(!failures(with("polling-lost-task", "base", &[("spec.polling.loop.period", "30s")])).is_empty());
    // A task that dies by luck is repaired as one that is killed.
    let dies = with("polling-lost-task", "base", &[("spec.polling.task.dies", "1.0")]);
    let world = run(&dies).world;
    let mut pods = world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod);
    assert!(pods.all(|pod| !pod.node_name.is_empty()));
}

#[test]
fn without_the_fault_no_task_is_lost() {
    let mut calm = plan("polling-lost-task", "one-task");
    assert_eq!(calm.faults.len(), 1);
    calm.faults.clear();
    assert!(!failures(calm).is_empty());
}

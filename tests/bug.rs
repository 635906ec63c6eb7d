//! A bug of ours ends in exit code 70, wherever it strikes. In a program of its own: the panic hook belongs to a process.

#![allow(missing_docs)]

use kubesim::cli::bug::BugReport;
use kubesim::cli::exit::Exit;
use rayon::prelude::*;

#[test]
fn a_panic_ends_in_70() {
    let here = BugReport::default().guard(|| panic!("no such slot"));
    let in_a_worker = BugReport::default().guard(|| {
        (0..4).into_par_iter().for_each(|world| assert!(world != 2, "world 2 breaks"));
        Exit::Done
    });
    let nowhere = BugReport::default().guard(|| Exit::ExpectationFailed);
    assert_eq!([here, in_a_worker, nowhere].map(Exit::code), [70, 70, 1]);
}

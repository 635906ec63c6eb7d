//! The first rows and the trace hash of every shipped scenario, so that a changed decision is seen in review.
//!
//! After a change that is meant: `INSTA_UPDATE=always cargo test --test snapshots`, and read the diff.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use kubesim::trace::row::{HEADER, push_row};

use common::{hash, label, run, shipped};

const ROWS: usize = 40;

#[test]
fn first_rows_and_hash() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for plan in shipped() {
            let ran = run(&plan);
            let mut text = HEADER.as_bytes().to_vec();
            ran.records[..ROWS].iter().for_each(|record| push_row(&mut text, record, plan.start_at));
            let text = String::from_utf8(text).unwrap();
            let (count, hash) = (ran.records.len(), hash(&ran.records, plan.start_at));
            insta::assert_snapshot!(label(&plan), format!("{text}...\n{count} rows, hash {hash}\n"));
        }
    });
}

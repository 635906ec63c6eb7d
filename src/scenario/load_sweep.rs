//! Files in, the plans of a sweep out: every point of the grid resolved.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::entry::Entry;
use super::load::{self, BASE, Overrides, Worlds};
use super::resolved::Resolved;
use super::sweep::{self, Sweep};
use super::yaml::Part;
use crate::sim::plan::Plan;

/// What was read for a sweep.
#[derive(Clone, Debug)]
pub struct LoadedSweep {
    /// What is varied, how often, and what is wanted.
    pub sweep: Sweep,
    /// One a point of the grid, in order.
    pub plans: Vec<Plan>,
    /// What the user should know, each once.
    pub notices: Vec<String>,
    /// All of it as one stream, defaults filled in.
    pub resolved: Resolved,
}

/// Reads the files of a sweep and resolves every point of its grid. `replications` takes the place of the scenario's.
///
/// # Errors
/// Everything that is wrong with them at any point, at once.
pub fn load_sweep(
    files: &[PathBuf],
    overrides: &Overrides,
    replications: Option<u64>,
) -> Result<LoadedSweep, Diagnostics> {
    let mut problems = Diagnostics::default();
    let inputs = load::read_all(files, &mut problems);
    let (_, mut input, problems) =
        load::documents(inputs, overrides, problems).map_err(|(_, problems)| load::only_errors(problems))?;
    let collected = RefCell::new(problems);
    let variants = load::variants(&Entry::root(&input.scenario, &collected));
    let mut notices = Vec::new();
    let name = if variants.is_empty() { "" } else { BASE };
    if !variants.is_empty() {
        let names = variants.iter().map(|variant| variant.name.clone());
        input.variants = [BASE.to_string()].into_iter().chain(names).collect();
        notices.push("spec.variants are left out: the sweep varies the scenario as it is".to_string());
    }
    let Some(mut sweep) = sweep::of_document(&Entry::root(&input.scenario, &collected)) else {
        let mut problems = collected.into_inner();
        if !problems.has_errors() {
            let problem = input.scenario.problem(Code::MissingField, "spec", Part::Key, "`sweep` must be given");
            let help = "spec.sweep says what is varied: {replications: 10, grid: {PATH: [VALUE, ...]}}";
            problems.push(problem.help(help));
        }
        problems.sort();
        return Err(load::only_errors(problems));
    };
    sweep.replications = replications.unwrap_or(sweep.replications);
    notices.extend(sweep.replaced(overrides.set.iter().map(|(path, _)| path.as_str())));
    let written = sweep::take_out(&mut input.scenario);
    let mut wrong = sweep.check_paths(&written, &input.manifests.list, &input.configs);
    if let Some((message, help)) = sweep::too_large(&sweep) {
        wrong.push(Diagnostic::error(Code::TooLarge, message).help(help));
    }
    let worlds = Worlds { input: &input, problems: &collected, applied: RefCell::default() };
    let mut plans: Vec<Plan> = Vec::new();
    // What holds in one world of the scenario, as it is written and with its luck, need not hold at the points of a sweep.
    let mut of_one_variant = 0;
    if wrong.is_empty() {
        for point in 0..sweep.points() as usize {
            let mut plan = worlds.plan(name, &sweep.settings(point, &written), plans.is_empty());
            if let Some(first) = plans.first() {
                share_objects(&first.objects, &mut plan.objects);
            }
            of_one_variant = plan.expectations.iter().filter(|expectation| !expectation.only_in.is_empty()).count();
            plan.expectations.retain(|expectation| expectation.only_in.is_empty());
            plans.push(plan);
        }
    } else {
        // Mistakes elsewhere are told together with those of the sweep.
        worlds.plan(name, &[], true);
    }
    let applied = worlds.applied.into_inner();
    let mut problems = collected.into_inner();
    problems.extend(wrong);
    problems.sort();
    if problems.has_errors() {
        return Err(load::only_errors(problems));
    }
    notices.extend(of_variants(of_one_variant));
    let notices = load::share_notices(&problems, &notices, &mut plans);
    let mut resolved = load::resolved(&mut input, &written, applied);
    if let Some(number) = replications {
        resolved.replace(&["sweep", "replications"], number.into(), "--replications");
    }
    Ok(LoadedSweep { sweep, plans, notices, resolved })
}

/// Says how many expectations of single variants are left out.
fn of_variants(count: usize) -> Option<String> {
    let (what, are) = if count == 1 { ("expectation", "is") } else { ("expectations", "are") };
    let words = format!("{count} {what} of single variants (`in`) {are} left out: they speak of their runs only");
    (count > 0).then_some(words)
}

/// Points share the objects in which they do not differ.
fn share_objects(first: &[Arc<Value>], objects: &mut [Arc<Value>]) {
    for (object, same) in objects.iter_mut().zip(first).filter(|(object, first)| object == first) {
        *object = same.clone();
    }
}

//! `spec.sweep`: which settings to try, how often, and what is wanted of them.
//!
//! Read in this order: [`Sweep`] (what the scenario says), `Sweep::settings` (a point of the grid as settings, which are
//! those of variants and `--set`), and `load_sweep` in [`super::load_sweep()`], which resolves every point to a plan.

use serde_json::Value;

use super::diagnostic::{Code, Diagnostics};
use super::entry::{Entry, shown};
use super::manifests::Manifest;
use super::schema::shape::Special;
use super::set::{self, Settable, Setting};
use super::yaml::{self, Children, Document, Part};
use crate::report::kpis;

/// Most points of a grid: each is a plan in memory.
pub const POINTS_MAX: u64 = 10_000;
/// Most runs of a sweep: points times replications.
pub const RUNS_MAX: u64 = 1_000_000;

/// A sweep: every combination of the grid's values, each run so many times.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// Runs of each point, which differ in their luck only; at least 1.
    pub replications: u64,
    /// What is varied, in the order written; the last varies fastest. Empty for one point.
    pub grid: Vec<Axis>,
    /// What is wanted.
    pub goals: Vec<Goal>,
    /// KPIs of which the distribution over all runs is drawn.
    pub histograms: Vec<HistogramOf>,
}

/// A KPI whose distribution is drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct HistogramOf {
    /// Its name, one of docs/kpis.md.
    pub kpi: &'static str,
    /// Values to compare with, and what they are.
    pub lines: Vec<(f64, String)>,
}

/// One setting and the values it takes.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its path, as `--set` takes it.
    pub path: String,
    /// Its values, at least one, each once.
    pub values: Vec<Value>,
}

/// A KPI that should be small or large.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// Its name, one of docs/kpis.md.
    pub kpi: &'static str,
    /// Which way is better.
    pub wish: Wish,
}

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// The smaller the better.
    Minimise,
    /// The larger the better.
    Maximise,
}

impl Wish {
    /// As scenarios write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Wish::Minimise => "minimise",
            Wish::Maximise => "maximise",
        }
    }
}

impl Axis {
    /// A value as tables, charts and results.csv show it: text as it is, everything else as JSON.
    pub fn text(&self, index: usize) -> String {
        match &self.values[index] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// Path and value for `--set`: read back as YAML it is the value.
    pub fn setting(&self, index: usize) -> (String, String) {
        let (value, text) = (&self.values[index], self.text(index));
        let text = if yaml::parse_value(&text).as_ref() == Ok(value) { text } else { value.to_string() };
        (self.path.clone(), text)
    }
}

/// Names of fields that say little without that of what they belong to.
const VAGUE: [&str; 4] = ["takes", "rate", "period", "count"];

impl Sweep {
    /// The number of points.
    pub fn points(&self) -> u64 {
        self.grid.iter().fold(1, |product, axis| product.saturating_mul(axis.values.len() as u64))
    }

    /// Which value of each axis a point has; the last axis varies fastest.
    pub fn indices(&self, point: usize) -> Vec<usize> {
        let mut rest = point;
        let mut indices: Vec<usize> = Vec::with_capacity(self.grid.len());
        for axis in self.grid.iter().rev() {
            indices.push(rest % axis.values.len());
            rest /= axis.values.len();
        }
        indices.reverse();
        indices
    }

    /// Points among which every value of every axis is found: the first, and for each axis those beside it.
    pub(super) fn points_with_every_value(&self) -> impl Iterator<Item = usize> {
        let mut stride = self.points() as usize;
        let beside = self.grid.iter().flat_map(move |axis| {
            stride /= axis.values.len();
            let stride = stride;
            (1..axis.values.len()).map(move |index| index * stride)
        });
        std::iter::once(0).chain(beside)
    }

    /// The last part of each path (with the one before it where it is short, as in `death.at`), where that tells them apart;
    /// else the path.
    pub fn short_names(&self) -> Vec<String> {
        let last = |axis: &Axis| {
            let mut parts = axis.path.rsplit(['.', ':']);
            match (parts.next().unwrap_or(&axis.path), parts.next()) {
                (short, Some(owner)) if short.len() <= 3 || VAGUE.contains(&short) => format!("{owner}.{short}"),
                (name, _) => name.to_string(),
            }
        };
        let names: Vec<String> = self.grid.iter().map(last).collect();
        let is_clear = |name: &String| !name.ends_with(']') && names.iter().filter(|other| *other == name).count() == 1;
        let pairs = self.grid.iter().zip(&names);
        pairs.map(|(axis, name)| if is_clear(name) { name.clone() } else { axis.path.clone() }).collect()
    }

    /// What a point sets, each value with its place in the scenario.
    pub(super) fn settings(&self, point: usize, scenario: &Document) -> Vec<Setting> {
        let setting = |(axis, index): (&Axis, usize)| {
            let place = format!("spec.sweep.grid[{}][{index}]", axis.path);
            let (source, mark) = scenario.find(&place, Part::Value);
            Setting { path: axis.path.clone(), value: axis.values[index].clone(), source, mark }
        };
        self.grid.iter().zip(self.indices(point)).map(setting).collect()
    }

    /// What is said of settings of the command line that every point replaces.
    pub(super) fn replaced<'a>(&'a self, settings: impl Iterator<Item = &'a str>) -> impl Iterator<Item = String> {
        let is_varied = |path: &&str| {
            let path = set::full(path);
            self.grid.iter().any(|axis| set::is_below(&path, &set::full(&axis.path)))
        };
        let said = |path| format!("--set {path}: the grid varies it, and its values take the place of this one");
        settings.filter(is_varied).map(said)
    }

    /// Paths that lead nowhere, each at its own place.
    pub(super) fn check_paths(&self, scenario: &Document, manifests: &[Manifest], configs: &[Document]) -> Diagnostics {
        let mut problems = Diagnostics::default();
        for axis in &self.grid {
            let place = format!("spec.sweep.grid[{}]", axis.path);
            if set::is_below(&axis.path, "spec.sweep") {
                let message = "a sweep cannot vary itself".to_string();
                problems.push(scenario.problem(Code::BadPath, &place, Part::Key, message));
                continue;
            }
            let (source, mark) = scenario.find(&place, Part::Key);
            let setting = Setting { path: axis.path.clone(), value: axis.values[0].clone(), source, mark };
            let documents = Settable {
                scenario: &mut scenario.clone(),
                manifests: &mut manifests.to_vec(),
                configs: &mut configs.to_vec(),
            };
            let applied = set::apply(&setting, documents);
            problems.extend(applied.err().map(|problem| problem.path(place)));
        }
        problems
    }
}

/// Reads `spec.sweep` of a document.
pub(super) fn of_document(root: &Entry<'_>) -> Option<Sweep> {
    let value = root.document.value.get("spec")?.get("sweep").filter(|sweep| !sweep.is_null())?;
    read(&root.with(value, "spec.sweep"))
}

/// Takes `spec.sweep` out of a scenario, so that its points need not carry all its values, and gives the scenario as it
/// was written, for the places in it.
pub(super) fn take_out(scenario: &mut Document) -> Document {
    let written = scenario.clone();
    if let Some(spec) = scenario.value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.shift_remove("sweep");
    }
    if let Children::Map(top) = &mut scenario.place.children {
        for (_, spec) in top.iter_mut().filter(|(name, _)| name == "spec") {
            if let Children::Map(fields) = &mut spec.children {
                fields.retain(|(name, _)| name != "sweep");
            }
        }
    }
    written
}

/// Reads `spec.sweep`.
pub fn read(entry: &Entry<'_>) -> Option<Sweep> {
    let mut fields = entry.fields()?;
    let replications = fields.get("replications").map(|entry| entry.whole(1..=RUNS_MAX as i64));
    let grid_entry = fields.get("grid");
    let grid = grid_entry.as_ref().map(grid).unwrap_or(Some(Vec::new()));
    let minimise = fields.get("minimise").map(|entry| goals(&entry, Wish::Minimise)).unwrap_or_default();
    let maximise = fields.get("maximise").map(|entry| goals(&entry, Wish::Maximise)).unwrap_or_default();
    let histograms = fields.get("histograms").map(|entry| entry.items()).unwrap_or_default();
    let histograms = histograms.iter().filter_map(histogram).collect();
    for goal in maximise.iter().filter(|goal| minimise.iter().any(|other| other.kpi == goal.kpi)) {
        let message = format!("`{}` cannot be both minimised and maximised", goal.kpi);
        entry.problem(Code::Contradiction, message, None);
    }
    fields.finish();
    let sweep = Sweep {
        replications: replications.unwrap_or(Some(1))? as u64,
        grid: grid?,
        goals: [minimise, maximise].concat(),
        histograms,
    };
    if let Some((message, help)) = too_large(&sweep) {
        grid_entry.as_ref().unwrap_or(entry).problem(Code::TooLarge, message, Some(help));
        return None;
    }
    Some(sweep)
}

/// What is said of a sweep that is too large, and the way out.
pub(super) fn too_large(sweep: &Sweep) -> Option<(String, String)> {
    let (points, runs) = (sweep.points(), sweep.points().saturating_mul(sweep.replications));
    let help = "take fewer values or replications, or sweep one path after the other".to_string();
    if points > POINTS_MAX {
        return Some((format!("the grid has {points} points; at most {POINTS_MAX} are possible"), help));
    }
    let message = || {
        format!(
            "{points} points x {} replications are {runs} runs; at most {RUNS_MAX} are possible",
            sweep.replications
        )
    };
    (runs > RUNS_MAX).then(|| (message(), help))
}

fn grid(entry: &Entry<'_>) -> Option<Vec<Axis>> {
    if !entry.value.is_object() {
        entry.problem(
            Code::BadValue,
            format!("must be a mapping of paths to lists of values, not {}", shown(entry.value)),
            Some(
                "for example {spec.controlPlane.controllerManager.flags.concurrent-replicaset-syncs: [1, 2, 5]}".into(),
            ),
        );
        return None;
    }
    // All axes are read, so that all mistakes are found.
    let axes: Vec<Option<Axis>> = entry.pairs().iter().map(|(path, values)| axis(path, values)).collect();
    axes.into_iter().collect()
}

fn axis(path: &str, entry: &Entry<'_>) -> Option<Axis> {
    let Some(values) = entry.value.as_array().filter(|values| !values.is_empty()) else {
        let message = format!("must be a list with at least one value, not {}", shown_list(entry.value));
        // A path without brackets is taken apart at its dots.
        let help = entry.value.is_object().then(|| {
            format!(
                "a path is one key of the grid; on the command line: --set 'spec.sweep.grid[\"{path}.REST\"]=[1, 2]'"
            )
        });
        entry.problem(Code::BadValue, message, help);
        return None;
    };
    let mut is_fine = true;
    for (index, item) in entry.items().iter().enumerate() {
        item.is_a(Special::Anything);
        if values[..index].contains(item.value) {
            item.problem(Code::BadValue, format!("the value {} is given twice", shown(item.value)), None);
            is_fine = false;
        }
    }
    is_fine.then(|| Axis { path: path.to_string(), values: values.clone() })
}

fn shown_list(value: &Value) -> String {
    if value.is_array() { "an empty one".to_string() } else { shown(value) }
}

/// `{of: KPI, lines: [{at: NUMBER, label: TEXT}]}`.
fn histogram(entry: &Entry<'_>) -> Option<HistogramOf> {
    let mut fields = entry.fields()?;
    let kpi = fields.require("of").and_then(|of| of.word(&kpis::NAMES.map(|name| (name, name))));
    let lines = fields.get("lines").map(|entry| entry.items()).unwrap_or_default();
    fields.finish();
    let line = |entry: &Entry<'_>| {
        let mut fields = entry.fields()?;
        let at = fields.require("at").and_then(|at| at.number());
        let label = fields.require("label").and_then(|label| label.text().map(str::to_string));
        fields.finish();
        Some((at?, label?))
    };
    // All lines are read, so that all mistakes are found.
    let lines: Vec<Option<(f64, String)>> = lines.iter().map(line).collect();
    let lines: Option<Vec<(f64, String)>> = lines.into_iter().collect();
    Some(HistogramOf { kpi: kpi?, lines: lines? })
}

/// One KPI or a list of them.
fn goals(entry: &Entry<'_>, wish: Wish) -> Vec<Goal> {
    let entries = if entry.value.is_string() { vec![entry.clone()] } else { entry.items() };
    let known = kpis::NAMES.map(|name| (name, name));
    let mut goals: Vec<Goal> = Vec::new();
    for name in entries.iter().filter_map(|entry| entry.word(&known)) {
        if goals.iter().all(|goal| goal.kpi != name) {
            goals.push(Goal { kpi: name, wish });
        }
    }
    goals
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;

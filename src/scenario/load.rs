//! Files in, plans out: the entry point of the room.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::component_config;
use super::control_plane;
use super::diagnostic::{Code, Diagnostic, Diagnostics, Mark, Severity, Source};
use super::entry::Entry;
use super::examine::Found;
use super::file;
use super::files::{self, NotFound};
use super::input::{self, ReadFile};
use super::known::Known;
use super::manifests::{self, Manifests};
use super::nodes::{self, NodeGroup};
use super::resolve;
use super::resolved::{AppliedFiles, Parts, Resolved};
use super::schema::shape::Special;
use super::set::{self, Setting};
use super::static_pods;
use super::sweep::{self, Sweep};
use super::yaml::{Document, Part, Place, parse_value};
use crate::model::Span;
use crate::rules::suggest;
use crate::sim::plan::Plan;

/// Most values of a sweep that are tried when the scenario is only run or checked.
const VALUES_TRIED: usize = 200;

/// Name of the world without changes, in a scenario with variants.
pub const BASE: &str = "base";

/// What a command line changes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Overrides {
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--until`: an end before the scenario's own.
    pub until: Option<Span>,
    /// `--nodes`, for example `5x8cpu,32Gi`; takes the place of `spec.nodes`.
    pub nodes: Option<String>,
    /// `--set PATH=VALUE`, in order; values are YAML.
    pub set: Vec<(String, String)>,
    /// `--allow-outside`: a scenario may name files outside its folder.
    pub allow_outside: bool,
}

/// What was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// One a variant, the base first; a single one without variants.
    pub plans: Vec<Plan>,
    /// What the user should know, each once.
    pub notices: Vec<String>,
    /// All of it as one stream, defaults filled in.
    pub resolved: Resolved,
}

/// What all worlds of a scenario share.
pub(super) struct Input {
    /// The Scenario document, or an empty one.
    pub scenario: Document,
    /// What names may stand for.
    pub known: Known,
    /// The manifests.
    pub manifests: Manifests,
    /// Configuration files of components.
    pub configs: Vec<Document>,
    /// Name when the scenario has none.
    pub default_name: String,
    /// Folder of the scenario, where the files it names are looked for.
    pub folder: PathBuf,
    /// `--nodes`.
    pub nodes: Option<NodeGroup>,
    /// Names of all variants.
    pub variants: Vec<String>,
    /// From the command line.
    pub overrides: Overrides,
}

/// Reads files, folders and patterns (`-` is standard input) and resolves them to plans, one a variant.
///
/// # Errors
/// Everything that is wrong with them, at once.
pub fn load(files: &[PathBuf], overrides: &Overrides) -> Result<Loaded, Diagnostics> {
    let mut problems = Diagnostics::default();
    let inputs = read_all(files, &mut problems);
    let examined = examine(inputs, overrides, problems);
    if examined.problems.has_errors() {
        return Err(only_errors(examined.problems));
    }
    let resolved = examined.resolved.expect("input without errors is resolved");
    Ok(Loaded { plans: examined.plans, notices: examined.notices, resolved })
}

/// All that was found out about files that belong together.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// What they hold.
    pub found: Found,
    /// Errors and notices that have a code, in the order of their places.
    pub problems: Diagnostics,
    /// All notices, those without a code too; empty when there are errors.
    pub notices: Vec<String>,
    /// One a variant; only good for a run when there are no errors.
    pub plans: Vec<Plan>,
    /// All of it as one stream; there when there are no errors.
    pub resolved: Option<Resolved>,
}

/// A path with what stands in it.
pub(super) type Named = (PathBuf, ReadFile);

/// Reads all files that are named.
pub(super) fn read_all(files: &[PathBuf], problems: &mut Diagnostics) -> Vec<Named> {
    let mut inputs: Vec<Named> = Vec::new();
    for named in files {
        if named.as_os_str() == "-" {
            let again = inputs.iter().any(|(path, _)| path == named);
            match again {
                true => problems.push(Diagnostic::error(Code::Unreadable, "standard input can be read only once")),
                false => inputs.push((named.clone(), input::read_standard_input())),
            }
            continue;
        }
        match files::expand(named) {
            Ok(paths) => inputs.extend(paths.into_iter().map(|path| {
                let read = input::read(&path);
                (path, read)
            })),
            Err(why) => {
                problems.push(Diagnostic::error(Code::Unreadable, format!("{}: {why}", named.display())));
            }
        }
    }
    if inputs.is_empty() && problems.is_empty() {
        problems.push(Diagnostic::error(Code::Unreadable, "no file is given"));
    }
    inputs
}

/// Resolves files that belong together.
pub(super) fn examine(inputs: Vec<Named>, overrides: &Overrides, problems: Diagnostics) -> Examined {
    let (found, input, problems) = match documents(inputs, overrides, problems) {
        Ok(all) => all,
        Err((found, problems)) => return Examined { found, problems, ..Examined::default() },
    };
    let collected = RefCell::new(problems);
    let (mut plans, resolved, own) = worlds(input, &collected);
    let mut problems = collected.into_inner();
    problems.sort();
    if problems.has_errors() {
        return Examined { found, problems, ..Examined::default() };
    }
    let notices = share_notices(&problems, &own, &mut plans);
    Examined { found, problems, notices, plans, resolved: Some(resolved) }
}

/// What files that belong together hold, and what is wrong with it so far; only the latter when there is no document.
pub(super) fn documents(
    inputs: Vec<Named>,
    overrides: &Overrides,
    mut problems: Diagnostics,
) -> Result<(Found, Input, Diagnostics), (Found, Diagnostics)> {
    let Some(first_file) = inputs.first().map(|(path, _)| path.clone()) else {
        return Err((Found::default(), problems));
    };
    let mut documents = Vec::new();
    let mut not_read = Vec::new();
    let mut has_foreign_configuration = false;
    for (_, file) in inputs {
        has_foreign_configuration |= file.has_foreign_configuration;
        documents.extend(file.documents);
        problems.extend(file.problems);
        not_read.extend(file.not_read);
    }
    let found = Found::of(&documents);
    if documents.is_empty() && !problems.has_errors() && !has_foreign_configuration {
        // With nothing else there, what is left out is all of it.
        not_read.iter_mut().for_each(|problem| problem.severity = Severity::Error);
        if not_read.is_empty() {
            let message = format!("nothing to simulate: {} holds no document", shown(&first_file));
            let help = "give a scenario or Kubernetes manifests; `kubesim new NAME` writes a scenario to start from";
            problems.push(Diagnostic::error(Code::NothingToSimulate, message).help(help));
        }
        problems.extend(not_read);
        return Err((found, problems));
    }
    problems.extend(not_read);
    let input = gather(documents, &first_file, overrides, &mut problems);
    Ok((found, input, problems))
}

/// The notices with and without a code, each once, which every plan then carries: every result says all of it.
pub(super) fn share_notices(problems: &Diagnostics, own: &[String], plans: &mut [Plan]) -> Vec<String> {
    let mut notices: Vec<String> = problems.iter().map(|notice| notice.message.clone()).collect();
    for notice in plans.iter().flat_map(|plan| &plan.notices).chain(own) {
        if !notices.contains(notice) {
            notices.push(notice.clone());
        }
    }
    for plan in plans {
        plan.notices = notices.clone();
    }
    notices
}

/// The errors of problems that have some.
pub(super) fn only_errors(problems: Diagnostics) -> Diagnostics {
    let mut errors = Diagnostics::default();
    errors.extend(problems.into_iter().filter(|problem| problem.severity == Severity::Error));
    errors
}

/// A file's name in messages.
pub(super) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { input::STANDARD_INPUT.to_string() } else { path.display().to_string() }
}

/// Finds the one Scenario, reads what it includes, sorts the manifests, and applies `--set`.
fn gather(documents: Vec<Document>, first_file: &Path, overrides: &Overrides, problems: &mut Diagnostics) -> Input {
    let (mut scenarios, mut others): (Vec<_>, Vec<_>) = documents.into_iter().partition(is_scenario);
    let folder = scenarios.first().map_or(first_file, |scenario| Path::new(&scenario.source.file));
    let folder = folder.parent().unwrap_or(Path::new("")).to_path_buf();
    if let Some(scenario) = scenarios.first().cloned() {
        let included = include(&scenario, &folder, overrides.allow_outside, problems);
        let (more_scenarios, more): (Vec<_>, Vec<_>) = included.into_iter().partition(is_scenario);
        scenarios.extend(more_scenarios);
        others.extend(more);
    }
    for surplus in scenarios.iter().skip(1) {
        let (first, mark) = scenarios[0].find("kind", Part::Value);
        let problem = surplus.problem(Code::TwoScenarios, "kind", Part::Value, "a second Scenario document");
        problems.push(problem.help(format!("the first one stands at {}:{}:{}", first.file, mark.line, mark.column)));
    }
    let (configs, others): (Vec<_>, Vec<_>) = others.into_iter().partition(component_config::is_one);
    let empty = || Document {
        source: Arc::new(Source { file: shown(first_file), text: String::new() }),
        value: json!({"apiVersion": file::API_VERSION, "kind": "Scenario", "spec": {}}),
        place: Place::default(),
        item: String::new(),
        set_at: Vec::new(),
    };
    let stem = first_file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().to_lowercase());
    let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let stem = stem.trim_matches('-');
    let scenario = scenarios.into_iter().next().unwrap_or_else(empty);
    let known = Known::of(&scenario.value, &others);
    let mut input = Input {
        scenario,
        manifests: manifests::collect(others, &known.kinds, problems),
        known,
        configs,
        default_name: if stem.is_empty() { "scenario".to_string() } else { stem.to_string() },
        folder,
        nodes: None,
        variants: Vec::new(),
        overrides: overrides.clone(),
    };
    match overrides.nodes.as_deref().map(nodes::parse_option).transpose() {
        Ok(group) => input.nodes = group,
        Err(why) => problems.push(Diagnostic::error(Code::BadValue, format!("--nodes: {why}"))),
    }
    for (path, text) in &overrides.set {
        let source = Arc::new(Source { file: "--set".to_string(), text: format!("{path}={text}") });
        let mark = Mark { line: 1, column: 1, length: path.chars().count() };
        let problem = match parse_value(text) {
            Ok(value) => {
                let setting = Setting { path: path.clone(), value, source, mark };
                let documents = set::Settable {
                    scenario: &mut input.scenario,
                    manifests: &mut input.manifests.list,
                    configs: &mut input.configs,
                };
                set::apply(&setting, documents).err().map(|problem| *problem)
            }
            Err(why) => {
                let message = format!("the value cannot be read: {why}");
                Some(Diagnostic::error(Code::BadValue, message).at(&source, mark))
            }
        };
        problems.extend(problem);
    }
    input
}

pub(super) fn is_scenario(document: &Document) -> bool {
    let text = |field: &str| document.value.get(field).and_then(Value::as_str).unwrap_or("");
    let group = text("apiVersion").split('/').next().unwrap_or("");
    let is_ours = group == "kubesim.dev";
    // A slip in the group must not turn a scenario into somebody else's object.
    let is_near = group.is_empty() || suggest::nearest(group, ["kubesim.dev"]).is_some();
    is_ours || text("kind") == "Scenario" && is_near
}

/// The documents of `spec.include`.
fn include(scenario: &Document, folder: &Path, allow_outside: bool, problems: &mut Diagnostics) -> Vec<Document> {
    let collected = RefCell::new(Diagnostics::default());
    let mut documents = Vec::new();
    let spec = scenario.value.get("spec").and_then(|spec| spec.get("include")).filter(|list| !list.is_null());
    if let Some(list) = spec {
        let entry = Entry::root(scenario, &collected).with(list, "spec.include");
        for (item, named) in include_list(&entry) {
            match files::find(folder, named, allow_outside) {
                Ok(paths) => {
                    paths.iter().for_each(|path| documents.extend(files::read(path, &mut collected.borrow_mut())));
                }
                Err(NotFound { is_outside, message, help }) => {
                    let code = if is_outside { Code::OutsideFolder } else { Code::Unreadable };
                    item.problem(code, message, help);
                }
            }
        }
    }
    problems.extend(collected.into_inner());
    documents
}

/// The items of `spec.include` with their texts.
pub(super) fn include_list<'a>(list: &Entry<'a>) -> Vec<(Entry<'a>, &'a str)> {
    list.items().into_iter().filter_map(|item| item.text().map(|named| (item.clone(), named))).collect()
}

/// A variant: its name and what it sets.
pub(super) struct Variant {
    /// Its name.
    pub name: String,
    settings: Vec<Setting>,
}

/// Reads `spec.variants` of a document.
pub(super) fn variants(root: &Entry<'_>) -> Vec<Variant> {
    let scenario = root.document;
    let list = scenario.value.get("spec").and_then(|spec| spec.get("variants")).filter(|list| !list.is_null());
    let Some(list) = list else { return Vec::new() };
    let entry = root.with(list, "spec.variants");
    let mut variants: Vec<Variant> = Vec::new();
    for item in entry.items() {
        let Some(mut fields) = item.fields() else { continue };
        let name_entry = fields.require("name");
        let name = name_entry.as_ref().and_then(file::name);
        let pairs = fields.get("set").map(|set| set.pairs()).unwrap_or_default();
        fields.finish();
        let (Some(name), Some(name_entry)) = (name, name_entry) else { continue };
        if name == BASE || variants.iter().any(|variant| variant.name == name) {
            let help = (name == BASE).then(|| format!("`{BASE}` is the world without changes"));
            name_entry.problem(Code::BadName, format!("the name `{name}` is taken"), help);
            continue;
        }
        let setting = |(path, value): (&str, Entry<'_>)| {
            value.is_a(Special::Anything);
            let (source, mark) = scenario.find(&value.path, Part::Key);
            Setting { path: path.to_string(), value: value.value.clone(), source, mark }
        };
        variants.push(Variant { name, settings: pairs.into_iter().map(setting).collect() });
    }
    variants
}

/// Resolves the base and every variant; the texts are notices.
fn worlds(mut input: Input, collected: &RefCell<Diagnostics>) -> (Vec<Plan>, Resolved, Vec<String>) {
    let mut variants = variants(&Entry::root(&input.scenario, collected).among(&input.known));
    if !variants.is_empty() {
        variants.insert(0, Variant { name: BASE.to_string(), settings: Vec::new() });
    }
    input.variants = variants.iter().map(|variant| variant.name.clone()).collect();
    if variants.is_empty() {
        variants.push(Variant { name: String::new(), settings: Vec::new() });
    }
    let sweep = sweep::of_document(&Entry::root(&input.scenario, collected).among(&input.known));
    let written = sweep::take_out(&mut input.scenario);
    let worlds = Worlds { input: &input, problems: collected, applied: RefCell::default() };
    let mut plans: Vec<Plan> = Vec::new();
    for variant in &variants {
        plans.push(worlds.plan(&variant.name, &variant.settings, plans.is_empty()));
    }
    let notices = sweep.iter().map(|sweep| worlds.try_sweep(sweep, &written, &variants[0].name)).collect();
    let applied = worlds.applied.into_inner();
    let resolved = resolved(&mut input, &written, applied);
    (plans, resolved, notices)
}

/// The input as one stream, which takes the manifests along.
pub(super) fn resolved(input: &mut Input, written: &Document, applied: AppliedFiles) -> Resolved {
    Resolved::new(Parts {
        scenario: written,
        elsewhere: control_plane::settled_elsewhere(input),
        manifests: std::mem::take(&mut input.manifests.list),
        configs: std::mem::take(&mut input.configs),
        others: std::mem::take(&mut input.manifests.others),
        default_name: &input.default_name,
        nodes: input.nodes.as_ref(),
        overrides: &input.overrides,
        applied,
    })
}

/// Resolves worlds of one scenario.
pub(super) struct Worlds<'a> {
    /// The scenario, without its sweep.
    pub input: &'a Input,
    /// Where problems go.
    pub problems: &'a RefCell<Diagnostics>,
    /// Files that commands of the timeline named so far.
    pub applied: RefCell<AppliedFiles>,
}

impl Worlds<'_> {
    /// One world: the scenario with its values set. What it leaves alone was checked with the first.
    pub fn plan(&self, name: &str, settings: &[Setting], is_first: bool) -> Plan {
        let mut scenario = self.input.scenario.clone();
        let mut manifests = self.input.manifests.list.clone();
        let mut configs = self.input.configs.clone();
        for setting in settings {
            let documents = set::Settable { scenario: &mut scenario, manifests: &mut manifests, configs: &mut configs };
            if let Err(problem) = set::apply(setting, documents) {
                self.problems.borrow_mut().push(*problem);
            }
        }
        let others = &self.input.manifests.others;
        match is_first {
            true => manifests::check_all(&manifests, others, &Manifests::default(), &mut self.problems.borrow_mut()),
            false => manifests::check_again(&manifests, others, &mut self.problems.borrow_mut()),
        }
        let file = file::read(&Entry::root(&scenario, self.problems).among(&self.input.known));
        let (static_pods, manifests) =
            manifests.into_iter().partition(|manifest| static_pods::find(manifest).is_some());
        let world = resolve::World {
            input: self.input,
            scenario: &scenario,
            file,
            manifests,
            static_pods,
            configs,
            problems: self.problems,
            applied: &self.applied,
        };
        world.plan(name)
    }

    /// A sweep that cannot run is a mistake whoever reads the file: every value is tried at one point, of long lists the
    /// first ones. Gives a notice.
    fn try_sweep(&self, sweep: &Sweep, written: &Document, name: &str) -> String {
        let problems = sweep.check_paths(written, &self.input.manifests.list, &self.input.configs);
        if problems.is_empty() {
            for point in sweep.points_with_every_value().take(VALUES_TRIED) {
                self.plan(name, &sweep.settings(point, written), false);
            }
        }
        self.problems.borrow_mut().extend(problems);
        let number = match sweep.points() {
            1 => "its one point".to_string(),
            points => format!("all {points} points"),
        };
        format!("spec.sweep is left out, the scenario runs as it is: `kubesim sweep` runs {number}")
    }
}

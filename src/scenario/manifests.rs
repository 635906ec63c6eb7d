//! Manifests: lists taken apart, kinds told apart, objects checked and given their namespace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::alike;
use super::diagnostic::{Code, Diagnostics};
use super::known_kinds::{self, Knowledge};
use super::nodes;
use super::parallel;
use super::references::ObjectRef;
use super::static_pods;
use super::yaml::{Children, Document, Part, Place};
use crate::model::{Kind, Kinds, Map};
use crate::rules::manifest::{self, Errors, Field, FieldError, ManifestKind, Reason, Surroundings, types, webhooks};
use crate::rules::{codec, unmodelled};

/// A manifest of a kind that is simulated.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// What it describes.
    pub object: ObjectRef,
    /// The manifest with its places.
    pub document: Document,
}

/// A manifest of a kind that is not simulated: it is checked and otherwise kept as it came.
#[derive(Clone, Debug)]
pub struct Other {
    /// The manifest with its places.
    pub document: Document,
    /// Its kind, if the rules for it are known.
    pub kind: Option<ManifestKind>,
}

/// Manifests and what is to be said about them.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// Those of simulated kinds, in the order of the files.
    pub list: Vec<Manifest>,
    /// Those of all other kinds, in the order of the files.
    pub others: Vec<Other>,
    /// One a kind that is not simulated.
    pub notices: Vec<String>,
}

/// Sorts documents that are no scenarios, where objects of these kinds are simulated.
pub fn collect(documents: Vec<Document>, kinds: &Kinds, problems: &mut Diagnostics) -> Manifests {
    let mut manifests = Manifests::default();
    let mut skipped: Vec<(String, usize, bool)> = Vec::new();
    let mut single = Vec::new();
    for document in documents {
        single.extend(take_apart(document, problems));
    }
    for document in single {
        match identify(&document, kinds, problems) {
            Identity::Simulated(kind) => manifests.list.extend(read_object(kind, document, problems)),
            Identity::Skipped { what, custom } => {
                match skipped.iter_mut().find(|(known, _, _)| *known == what) {
                    Some((_, count, _)) => *count += 1,
                    None => skipped.push((what, 1, custom)),
                }
                manifests.others.push(read_other(document));
            }
            Identity::Wrong => {}
        }
    }
    if manifests.list.is_empty() && !manifests.others.is_empty() {
        manifests.notices.push("no manifest is of a kind that is simulated yet".to_string());
    }
    manifests.notices.extend(skipped.into_iter().map(|(what, count, custom)| {
        let objects = if count == 1 { "1 object is".to_string() } else { format!("{count} objects are") };
        let why = if custom { "a custom resource" } else { "not simulated yet" };
        format!("{what}: {why}; {objects} left out")
    }));
    let is_there = |kind: Kind| manifests.list.iter().any(|manifest| manifest.object.kind == kind);
    let partly = PARTLY.iter().filter(|(kind, _)| is_there(*kind));
    let partly = partly.map(|(kind, effect)| format!("{} {kind}: {effect}", kind.info().api_version));
    let partly: Vec<String> = partly.collect();
    manifests.notices.extend(partly);
    manifests
}

/// Kinds that are held and shown, and of which little follows.
const PARTLY: [(Kind, &str); 2] = [
    (Kind::Service, "pods are spread by what it selects; no traffic is simulated"),
    (
        Kind::PodDisruptionBudget,
        "nobody counts its pods: preemption asks for what its status allows (0 unless given), evictions do not ask",
    ),
];

enum Identity {
    Simulated(Kind),
    Skipped { what: String, custom: bool },
    Wrong,
}

fn identify(document: &Document, kinds: &Kinds, problems: &mut Diagnostics) -> Identity {
    if !document.value.is_object() {
        let message = format!("must be a manifest, not {}", super::entry::shown(&document.value));
        problems.push(document.problem(Code::BadManifest, "", Part::Value, message));
        return Identity::Wrong;
    }
    let mut word = |field: &str| {
        let text = document.value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text.is_none() {
            let message = format!("`{field}` must be given");
            let problem = document.problem(Code::MissingField, field, Part::Value, message);
            problems.push(problem.help("every manifest names its apiVersion and kind"));
        }
        text
    };
    let (api_version, kind) = (word("apiVersion"), word("kind"));
    let (Some(api_version), Some(kind)) = (api_version, kind) else { return Identity::Wrong };
    if let Some(kind) = kinds.from_manifest(api_version, kind) {
        return Identity::Simulated(kind);
    }
    let skipped = |custom| Identity::Skipped { what: format!("{api_version} {kind}"), custom };
    match known_kinds::look_up(api_version, kind) {
        Knowledge::BuiltIn => skipped(false),
        Knowledge::Foreign => skipped(true),
        Knowledge::Slip(meant) => {
            let message = format!("Kubernetes has no kind `{kind}` in `{api_version}`");
            let help = meant.map(|(version, kind)| format!("did you mean `apiVersion: {version}`, `kind: {kind}`?"));
            // A kind that exists in another version is not the slip; its version is.
            let field = if meant.is_some_and(|(_, other)| other == kind) { "apiVersion" } else { "kind" };
            problems.push(document.problem(Code::UnknownKind, field, Part::Value, message).maybe_help(help));
            Identity::Wrong
        }
    }
}

/// The items of a `List` or of a typed list (whose items have no kind); any other document as it is.
fn take_apart(mut document: Document, problems: &mut Diagnostics) -> Vec<Document> {
    let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or("");
    let Some(item_kind) = kind.strip_suffix("List").map(str::to_string) else { return vec![document] };
    let Some(Value::Array(items)) = document.value.get_mut("items").map(Value::take) else {
        problems.push(document.problem(Code::BadManifest, "items", Part::Value, "a list must have items"));
        return Vec::new();
    };
    let api_version = document.value.get("apiVersion").cloned().unwrap_or(Value::Null);
    let places = match &mut document.place.children {
        Children::Map(fields) => {
            fields.iter_mut().find(|(name, _)| name == "items").map(|(_, place)| std::mem::take(place))
        }
        _ => None,
    };
    let places = match places.map(|place| place.children) {
        Some(Children::List(places)) => places,
        _ => vec![Place::default(); items.len()],
    };
    let within = if document.item.is_empty() { String::new() } else { format!("{}.", document.item) };
    let item = |(index, (mut value, place)): (usize, (Value, Place))| {
        if let (Some(object), false) = (value.as_object_mut(), item_kind.is_empty()) {
            object.entry("kind").or_insert_with(|| item_kind.clone().into());
            object.entry("apiVersion").or_insert_with(|| api_version.clone());
        }
        let (place, item) = (Place { key: None, ..place }, format!("{within}items[{index}]"));
        Document { source: document.source.clone(), value, place, item, set_at: Vec::new() }
    };
    let items: Vec<Document> = items.into_iter().zip(places).enumerate().map(item).collect();
    items.into_iter().flat_map(|item| take_apart(item, problems)).collect()
}

fn read_object(kind: Kind, mut document: Document, problems: &mut Diagnostics) -> Option<Manifest> {
    let metadata = document.value.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else {
        problems.push(document.problem(Code::MissingField, "metadata", Part::Value, "`metadata` must be given"));
        return None;
    };
    let generated = metadata.get("generateName").and_then(Value::as_str).is_some_and(|prefix| !prefix.is_empty());
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or("").to_string();
    let mut namespace = String::new();
    if kind.info().namespaced {
        let given = metadata.get("namespace").and_then(Value::as_str).filter(|namespace| !namespace.is_empty());
        namespace = given.unwrap_or("default").to_string();
        metadata.insert("namespace".into(), namespace.clone().into());
    }
    if name.is_empty() && !generated {
        let given = metadata.get("name").filter(|name| !name.is_null() && !name.is_string()).map(super::entry::shown);
        let (code, message) = match given {
            Some(given) => (Code::BadManifest, format!("must be text, not {given}")),
            None => (Code::MissingField, "`name` must be given".to_string()),
        };
        // YAML takes `n`, `no` and `on` for truth values and `007` for a number.
        let help = (code == Code::BadManifest).then(|| "put it in quotes".to_string());
        problems.push(document.problem(code, "metadata.name", Part::Value, message).maybe_help(help));
        return None;
    }
    if kind == Kind::Node {
        nodes::complete(&mut document.value);
    }
    Some(Manifest { object: ObjectRef { kind, namespace, name }, document })
}

/// An object that is kept as it came, in the namespace that it is meant for.
fn read_other(mut document: Document) -> Other {
    let word = |field: &str| document.value.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = ManifestKind::find(word("apiVersion"), word("kind"));
    if kind.is_some_and(|kind| kind.info().namespaced)
        && let Some(metadata) = document.value.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata.get("namespace").and_then(Value::as_str).is_none_or(str::is_empty)
    {
        metadata.insert("namespace".into(), "default".into());
    }
    Other { document, kind }
}

/// What admission looks at beside an object: all objects that the files describe.
fn surroundings<'a>(list: impl Iterator<Item = &'a Manifest>, others: impl Iterator<Item = &'a Other>) -> Surroundings {
    let simulated = list.map(|manifest| &manifest.document.value);
    let rest = others.map(|other| &other.document.value);
    // Namespaces that no file describes are made, with a notice.
    Surroundings { any_namespace: true, ..Surroundings::among(simulated.chain(rest)) }
}

/// Adds a problem for each field of a simulated object that the API server would refuse.
fn check_fields(manifest: &Manifest, around: &Surroundings, problems: &mut Diagnostics) {
    let document = &manifest.document;
    let word = |field: &str| document.value.get(field).and_then(Value::as_str).unwrap_or_default();
    if manifest.object.kind.is_custom() {
        return check_custom(manifest, problems);
    }
    let Some(kind) = ManifestKind::find(word("apiVersion"), word("kind")) else { return };
    let is_taken = check_document(kind, document, around, problems);
    if kind != ManifestKind::Pod {
        for path in manifest::template::missing_images(kind, &document.value) {
            let message = "Required value: no pod of this template could start";
            problems.push(document.problem(Code::BadManifest, &path, Part::Value, message));
        }
    }
    if !is_taken {
        return;
    }
    // What is left is what only our own types cannot hold.
    for problem in codec::decode(&document.value).err().into_iter().flatten() {
        problems.push(document.problem(Code::BadManifest, &problem.path, Part::Value, problem.message));
    }
}

/// The same for a custom resource: of its fields only the metadata is judged.
fn check_custom(manifest: &Manifest, problems: &mut Diagnostics) {
    let document = &manifest.document;
    let info = manifest.object.kind.info();
    let errors = types::others::problems(info.api_version, info.name, &document.value);
    if errors.is_empty() {
        let kinds = Kinds::of(std::iter::once(manifest.object.kind));
        for problem in codec::decode_among(&document.value, &kinds).err().into_iter().flatten() {
            problems.push(document.problem(Code::BadManifest, &problem.path, Part::Value, problem.message));
        }
    }
    errors.into_iter().for_each(|error| push_error(error, document, problems));
}

/// Adds a problem for each field that the API server would refuse in an object that is not simulated, or that the makers of
/// its kind would.
fn check_other(other: &Other, around: &Surroundings, problems: &mut Diagnostics) {
    let Some(kind) = other.kind else {
        let word = |field: &str| other.document.value.get(field).and_then(Value::as_str).unwrap_or_default();
        let errors = types::others::problems(word("apiVersion"), word("kind"), &other.document.value);
        return errors.into_iter().for_each(|error| push_error(error, &other.document, problems));
    };
    if check_document(kind, &other.document, around, problems) {
        let mut errors = Errors::default();
        webhooks::check_alone(kind, &Field::root(&other.document.value), &mut errors);
        errors.into_list().into_iter().for_each(|error| push_error(error, &other.document, problems));
    }
}

/// Adds everything that is wrong with manifests that come together, beside others that are there.
pub fn check_all(list: &[Manifest], others: &[Other], beside: &Manifests, problems: &mut Diagnostics) {
    check_unique(list, others, problems);
    let around = surroundings(list.iter().chain(&beside.list), beside.others.iter().chain(others));
    check_fields_of_all(list, &around, problems);
    others.iter().for_each(|other| check_other(other, &around, problems));
    check_together(list, others, problems);
}

/// What is right of one manifest is right of all that are like it; a mistake is named at each.
fn check_fields_of_all(list: &[Manifest], around: &Surroundings, problems: &mut Diagnostics) {
    let firsts = alike::firsts(list);
    let check = |index: &usize| {
        let mut found = Diagnostics::default();
        check_fields(&list[*index], around, &mut found);
        found
    };
    let (first, others): (Vec<usize>, Vec<usize>) = (0..list.len()).partition(|index| firsts[*index] == *index);
    let mut found: Vec<Diagnostics> = vec![Diagnostics::default(); list.len()];
    first.iter().zip(parallel::map(&first, check)).for_each(|(index, of_it)| found[*index] = of_it);
    let wrong: Vec<usize> = others.into_iter().filter(|index| !found[firsts[*index]].is_empty()).collect();
    wrong.iter().zip(parallel::map(&wrong, check)).for_each(|(index, of_it)| found[*index] = of_it);
    found.into_iter().for_each(|found| problems.extend(found));
}

/// As [`check_all`], once manifests were checked and values were set in some of them.
pub fn check_again(list: &[Manifest], others: &[Other], problems: &mut Diagnostics) {
    check_unique(list, others, problems);
    let around = surroundings(list.iter(), others.iter());
    let changed = list.iter().filter(|manifest| !manifest.document.set_at.is_empty());
    changed.for_each(|manifest| check_fields(manifest, &around, problems));
}

/// Adds a problem for each object that may not be there beside another one.
fn check_together(list: &[Manifest], others: &[Other], problems: &mut Diagnostics) {
    let documents = list.iter().map(|manifest| &manifest.document).chain(others.iter().map(|other| &other.document));
    let documents: Vec<&Document> = documents.collect();
    let objects: Vec<&Value> = documents.iter().map(|document| &document.value).collect();
    for (index, error) in webhooks::check_together(&objects) {
        push_error(error, documents[index], problems);
    }
}

/// What the server refuses and a simulation can do without.
///
/// DIVERGES: service accounts and runtime classes that no file describes count as there (a notice says so where a pod names
/// one), and the address ranges of nodes are not looked at: dumps of clusters have them blacked out.
fn is_of_no_matter(kind: ManifestKind, error: &FieldError, is_forbidden: bool) -> bool {
    let of_others = ["serviceAccountName", "runtimeClassName"].iter().any(|field| error.path.ends_with(field));
    is_forbidden && of_others || kind == ManifestKind::Node && error.path.starts_with("spec.podCIDR")
}

fn push_error(error: FieldError, document: &Document, problems: &mut Diagnostics) {
    let (code, part) = match error.reason {
        Reason::UnknownField => (Code::UnknownField, Part::Key),
        _ => (Code::BadManifest, Part::Value),
    };
    problems.push(document.problem(code, &error.path, part, error.message).maybe_help(error.help));
}

/// Whether the API server would take the object; what it would refuse becomes a problem.
fn check_document(kind: ManifestKind, document: &Document, around: &Surroundings, problems: &mut Diagnostics) -> bool {
    let mut taken = true;
    for (error, is_forbidden) in manifest::problems(kind, &document.value, around) {
        if is_of_no_matter(kind, &error, is_forbidden) {
            continue;
        }
        taken = false;
        push_error(error, document, problems);
    }
    taken
}

/// One notice for each field that is not modelled; objects with the same field share it. `schedulers`: names of profiles that run.
pub fn unmodelled_notices<'a>(
    objects: impl Iterator<Item = (&'a ObjectRef, &'a Value)>,
    schedulers: &[&str],
) -> Vec<String> {
    let mut found: Vec<(unmodelled::Unmodelled, BTreeSet<&ObjectRef>, &ObjectRef)> = Vec::new();
    let mut places: BTreeMap<(Kind, unmodelled::Unmodelled), usize> = BTreeMap::new();
    for (object, value) in objects {
        let has_scheduler = |path: &str| {
            let named = value.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_str);
            path.ends_with("schedulerName") && named.is_some_and(|name| schedulers.contains(&name))
        };
        let fields = unmodelled::fields(object.kind, value);
        for field in fields.into_iter().filter(|field| !has_scheduler(&field.path)) {
            // Items of a list that say the same share a line, too.
            let field = unmodelled::Unmodelled { path: without_indexes(&field.path), ..field };
            let index = *places.entry((object.kind, field.clone())).or_insert_with(|| {
                found.push((field, BTreeSet::new(), object));
                found.len() - 1
            });
            found[index].1.insert(object);
        }
    }
    let text = |(field, objects, first): (unmodelled::Unmodelled, BTreeSet<&ObjectRef>, &ObjectRef)| {
        let others = match objects.len() {
            1 => String::new(),
            2 => " and 1 other".to_string(),
            count => format!(" and {} others", count - 1),
        };
        format!("{first}{others}: {} is not modelled: {}", field.path, field.effect)
    };
    found.into_iter().map(text).collect()
}

/// `containers[2].env[7]` as `containers[*].env[*]`.
fn without_indexes(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |path, part| match part.split_once(']') {
        Some((index, rest)) if index.bytes().all(|byte| byte.is_ascii_digit()) => format!("{path}[*]{rest}"),
        _ => format!("{path}[{part}"),
    })
}

/// Adds a problem for each object that is given twice.
fn check_unique(list: &[Manifest], others: &[Other], problems: &mut Diagnostics) {
    fn text(value: &Value) -> &str {
        value.as_str().unwrap_or_default()
    }
    let mut seen: Map<(&str, &str, &str, &str), &Document> = Map::default();
    let manifests = list.iter().map(|manifest| (&manifest.document, static_pods::find(manifest)));
    for (document, static_pod) in manifests.chain(others.iter().map(|other| (&other.document, None))) {
        let (kind, metadata) = (text(&document.value["kind"]), &document.value["metadata"]);
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        if name.is_empty() {
            continue;
        }
        let version = text(&document.value["apiVersion"]);
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        let identity = (group, kind, namespace, name);
        if let Some(first) = seen.get(&identity) {
            let place =
                if namespace.is_empty() || namespace == "default" { String::new() } else { format!("{namespace}/") };
            let message = format!("{place}{}/{name} is given twice", kind.to_lowercase());
            let (source, mark) = first.find("metadata.name", Part::Value);
            let mut help = format!("the first one stands at {}:{}:{}", source.file, mark.line, mark.column);
            if let Some(pod) = static_pod {
                help.push_str(&format!("; pods of several hosts are called {}-HOST", pod.table.component()));
            }
            let problem = document.problem(Code::DuplicateObject, "metadata.name", Part::Value, message);
            problems.push(problem.help(help));
        } else {
            seen.insert(identity, document);
        }
    }
}

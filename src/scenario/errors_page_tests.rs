//! docs/errors.md: each code with an input that has the mistake and the message that a person really sees.

use super::diagnostic::{CODES, Code, Diagnostics, Severity};
use super::examine;
use super::load::Overrides;
use super::tests::Folder;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/errors.md");

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n";

/// An input with the mistake of a code.
struct Example {
    code: Code,
    /// The text of `app.yaml`; a spec (which begins with two spaces) gets the head of a Scenario, and a pod behind it.
    text: &'static str,
}

const fn example(code: Code, text: &'static str) -> Example {
    Example { code, text }
}

const EXAMPLES: &[Example] = &[
    example(Code::Unreadable, "  include: [pods.yaml]\n"),
    example(
        Code::Syntax,
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: \"web\n",
    ),
    example(Code::DuplicateKey, "  duration: 5m\n  seed: 1\n  duration: 10m\n"),
    example(Code::UnknownField, "  duratoin: 5m\n"),
    example(Code::BadValue, "  duration: 5 minutes\n"),
    example(Code::MissingField, "  timeline:\n  - {kubectl: delete pod web}\n"),
    example(Code::NotSimulated, "  model: {autoscaler: textbook}\n"),
    example(
        Code::TwoScenarios,
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec: {seed: 1}\n---\napiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec: {seed: 2}\n",
    ),
    example(
        Code::DuplicateObject,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
    ),
    example(Code::UnknownKind, "apiVersion: apps/v1\nkind: Deploymnet\nmetadata: {name: web}\n"),
    example(
        Code::BadManifest,
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: web\n    resources: {requests: {memory: 4Gib}}\n",
    ),
    example(Code::UnknownObject, "  timeline:\n  - {at: 1m, kubectl: cordon node-9}\n"),
    example(Code::UnknownProcess, "  faults:\n  - {at: 1m, kill: kube-schedular}\n"),
    example(Code::BadCondition, "  expect:\n  - {at: 1m, that: 'count(\"pods\") = 1'}\n"),
    example(Code::NeverHappens, "  duration: 5m\n  expect:\n  - {at: 6m, that: 'count(\"pods\") == 1'}\n"),
    example(Code::BadFlag, "  controlPlane:\n    controllerManager: {flags: [--concurrent-replicaset-sync=10]}\n"),
    example(Code::BadCommand, "  timeline:\n  - {at: 1m, kubectl: scale deployment/web}\n"),
    example(Code::BadPath, "  variants:\n  - {name: slow, set: {\"pod/wbe:spec.priority\": 5}}\n"),
    example(Code::Contradiction, "  faults:\n  - {at: 1m, kill: kubelet, restart: kubelet}\n"),
    example(Code::UnknownVersion, "  kubernetesVersion: \"1.20\"\n"),
    example(Code::OutsideFolder, "  include: [../pods.yaml]\n"),
    example(
        Code::TooLarge,
        "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n",
    ),
    example(Code::BadName, "  variants:\n  - {name: No Faults, set: {spec.faults: []}}\n"),
    example(Code::NothingToSimulate, "# nothing but a comment\n"),
    example(Code::BadLoad, "time,requests\n0,10\n60,-5\n"),
];

/// The text of `app.yaml`.
fn text(example: &Example) -> String {
    match example.text.starts_with("  ") {
        true => format!("apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n{}---\n{POD}", example.text),
        false => example.text.to_string(),
    }
}

/// What is shown of an example for its code, as `kubesim check app.yaml` shows it in that folder.
fn message(example: &Example) -> String {
    let folder = Folder::new(&format!("page-{}", example.code.as_str()), &[("app.yaml", &text(example))]);
    let groups = examine::groups(&[folder.path().join("app.yaml")], &Overrides::default());
    let problems = groups.into_iter().flat_map(|group| group.examined.problems);
    let mut shown = Diagnostics::default();
    shown.extend(problems.filter(|problem| problem.code == example.code.as_str()));
    assert!(!shown.is_empty(), "the example of {} has its mistake", example.code.as_str());
    assert!(shown.iter().all(|problem| problem.severity == Severity::Error));
    shown.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn markdown() -> String {
    let mut page = String::from(
        "# Errors\n\nWhat `kubesim check` and `kubesim run` say when something is wrong with the input, by code. All problems are \
         shown at once, each with its place, and the exit code is 2; `kubesim check FILE... -o json` gives them as data. A code \
         never changes its meaning. The messages here are real: a test shows each input to the program and writes down what it \
         says.\n\n| Code | |\n| --- | --- |\n",
    );
    for info in CODES {
        page += &format!("| [{}](#{}) | {} |\n", info.text, info.text.to_lowercase(), info.title);
    }
    for info in CODES {
        let example = EXAMPLES.iter().find(|example| example.code == info.code);
        let example = example.unwrap_or_else(|| panic!("{} has no example in EXAMPLES", info.text));
        page += &format!("\n## {}\n**{}.** {}\n", info.text, capital(info.title), info.meaning);
        page += &format!("\n`app.yaml`\n```yml\n{}```\n\n```text\n{}\n```\n", text(example), message(example));
        page += &format!("\nWay out: {}\n", info.way_out);
    }
    page
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// `KUBESIM_WRITE_DOCS=1 cargo test --lib errors_page` writes the file anew.
#[test]
fn the_page_shows_what_is_really_said() {
    let fresh = markdown();
    if std::env::var_os("KUBESIM_WRITE_DOCS").is_some() {
        std::fs::write(PATH, &fresh).expect("docs/ can be written");
    }
    let committed = std::fs::read_to_string(PATH).expect("docs/errors.md is there");
    assert!(
        committed == fresh,
        "docs/errors.md is stale: KUBESIM_WRITE_DOCS=1 cargo test --lib errors_page writes it anew"
    );
}

//! Each fault by each trigger at each target: what of it there is, found by trying, and as docs/faults.md says. What can be
//! written is run, and has to strike.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubesim::scenario::{Overrides, load};
use kubesim::sim::{Observer, Plan, World};

/// A fault with as little as it can have: what the page calls it, its word, whom it is aimed at, and the rest.
const FAULTS: [(&str, &str, &str, &str); 26] = [
    ("`dropWatchEvents`, `stage: store`", "dropWatchEvents", "to", "kind: Pod, stage: store"),
    ("`dropWatchEvents`, `stage: handler`", "dropWatchEvents", "to", "kind: Pod, stage: handler"),
    ("`duplicateWatchEvents`", "duplicateWatchEvents", "to", "kind: Pod"),
    ("`delayWatch`, `stage: store`", "delayWatch", "to", "by: 1s"),
    ("`delayWatch`, `stage: handler`", "delayWatch", "to", "stage: handler, by: 1s"),
    ("`reorderWatches`", "reorderWatches", "to", "by: {uniform: [0s, 2s]}"),
    ("`cutWatch`, `end: clean`", "cutWatch", "to", ""),
    ("`cutWatch`, `end: error`", "cutWatch", "to", "end: error"),
    ("`cutWatch`, `end: gone`", "cutWatch", "to", "end: gone"),
    ("`stallWatch`", "stallWatch", "to", "idleTimeout: 5s"),
    ("`reconnect`", "reconnect", "of", "lag: 1s"),
    ("`crash`, `before`", "crash", "of", "point: {before: request, POINT}"),
    ("`crash`, `after`", "crash", "of", "point: {after: request, POINT}"),
    ("`respond`", "respond", "from", "code: 500"),
    ("`refuseConnections`", "refuseConnections", "from", ""),
    ("`loseReplies`", "loseReplies", "from", ""),
    ("`delayReplies`", "delayReplies", "from", "by: 1s"),
    ("`slowRequests`", "slowRequests", "from", "by: 10x"),
    ("`partition`", "partition", "of", ""),
    ("`apiServer`", "apiServer", "", "down: true"),
    ("`kill`", "kill", "of", ""),
    (TASKS, "kill", "of", ""),
    ("`restart`", "restart", "of", ""),
    ("`oomKill`", "oomKill", "=", ""),
    ("`pause`", "pause", "=", ""),
    ("`clock`", "clock", "of", "step: 1h"),
];

/// What only the teaching orchestrator has.
const TASKS: &str = "`kill`, `task`";

const PROCESS: &str = "kube-controller-manager";
const COMPONENT: &str = "kube-controller-manager/replicaset";

/// Ways to begin: what the page calls them, and the fields. The last time is before the command of the second minute.
const BEGINNINGS: [(&str, &str); 6] = [
    ("time", "at: 59s"),
    ("repeated", "at: 19s, every: 20s, times: 3"),
    ("condition", "when: 'count(\"pods\", \"app=api\") == 4'"),
    ("watch event", "at: 30s, after: {watchEvent: {to: kube-controller-manager, kind: Pod, selector: app=api}}"),
    (
        "request",
        "at: 30s, after: {request: {from: kube-controller-manager/replicaset, verb: create, kind: Pod, selector: app=api}}",
    ),
    ("probability", "at: 9s, every: 10s, probability: 0.99"),
];

struct Nobody;

impl Observer for Nobody {}

/// The cluster of docs/faults.md.
fn base() -> String {
    let page = fs::read_to_string(page()).unwrap();
    page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap().to_string()
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/faults.md")
}

/// The fault with this beginning and these fields more.
fn fault(row: usize, begins: &str, who: &str, more: &str) -> String {
    let (name, word, to, rest) = FAULTS[row];
    if name == TASKS {
        let who = if who == COMPONENT { "polling-tasks/tasks" } else { "polling-tasks" };
        return format!("{{{begins}, kill: {{of: {who}, task: {{{more}}}}}}}");
    }
    let (point, more) = if word == "crash" && !is_about_occurrences(more) { (more, "") } else { ("", more) };
    let rest = rest.replace(", POINT", &if point.is_empty() { String::new() } else { format!(", {point}") });
    let to = if to.is_empty() { String::new() } else { format!("{to}: {who}") };
    // A kind that has to be given is there already.
    let more = if more.starts_with("kind:") && rest.contains("kind:") { "" } else { more };
    let fields: Vec<&str> = [to.as_str(), &rest, more].into_iter().filter(|field| !field.is_empty()).collect();
    let fields = fields.join(", ");
    match word {
        // It has no fields of its own.
        "pause" | "oomKill" if !more.is_empty() => format!("{{{begins}, duration: 3s, {word}: {{{more}}}}}"),
        "oomKill" => format!("{{{begins}, duration: 3s, oomKill: deployment/api}}"),
        "pause" => format!("{{{begins}, duration: 3s, pause: {who}}}"),
        "kill" | "restart" => format!("{{{begins}, {word}: {{{fields}}}}}"),
        _ => format!("{{{begins}, duration: 3s, {word}: {{{fields}}}}}"),
    }
}

fn is_about_occurrences(more: &str) -> bool {
    ["nth", "every", "count", "probability"].iter().any(|field| more.starts_with(field))
}

/// The plan of a fault; `None` when it cannot be written.
fn plan(base: &str, fault: &str, number: usize) -> Option<Plan> {
    let orchestrator = match fault.contains("polling-tasks") {
        true => "  model: {controlPlane: polling}\n  polling: {task: {takes: 1h}}\n",
        false => "",
    };
    let text = base.replacen("---\n", &format!("{orchestrator}  faults: [{fault}]\n---\n"), 1);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plans");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("matrix-{number}.yaml"));
    fs::write(&file, text).unwrap();
    load(&[file], &Overrides::default()).ok().map(|mut loaded| loaded.plans.remove(0))
}

/// How often it strikes.
fn strikes(plan: &Plan) -> u64 {
    let mut world = World::new(Arc::new(plan.clone())).unwrap();
    world.run(&mut Nobody);
    world.fault_strikes()[0]
}

/// A cell: what can be written, which then strikes.
struct Trial {
    base: String,
    tried: usize,
    wrong: Vec<String>,
}

impl Trial {
    fn works(&mut self, fault: &str) -> bool {
        self.tried += 1;
        let Some(plan) = plan(&self.base, fault, self.tried) else { return false };
        if strikes(&plan) == 0 {
            self.wrong.push(format!("never struck: {fault}"));
        }
        true
    }

    /// Whom it can be aimed at.
    fn whom(&mut self, row: usize) -> &'static str {
        match FAULTS[row].1 {
            "apiServer" => return "everybody",
            "oomKill" => return "pods of an object, processes in pods",
            _ => {}
        }
        let text = fault(row, BEGINNINGS[0].1, COMPONENT, "");
        if !self.works(&text) {
            assert!(self.works(&fault(row, BEGINNINGS[0].1, PROCESS, "")), "{text}");
            return "process";
        }
        let plan = plan(&self.base, &text, self.tried).unwrap();
        let is_shared = plan.notices.iter().any(|notice| notice.contains("as well"));
        if is_shared || text.contains("stage: store") { "process" } else { "process, component" }
    }
}

/// The table of the page.
fn table(trial: &mut Trial) -> String {
    let narrower = [
        ("kind", "kind: Pod"),
        ("namespace", "namespace: default"),
        ("name", "name: pod-that-is-not-there"),
        ("selector", "selector: app=api"),
    ];
    let which = [("nth", "nth: 2"), ("every", "every: 2"), ("count", "count: 1"), ("probability", "probability: 0.9")];
    let mut lines = vec![
        "| Fault | begins by | of what it meets | whom | which objects |".to_string(),
        "| --- | --- | --- | --- | --- |".to_string(),
    ];
    let list = |names: Vec<&str>| if names.is_empty() { "all".to_string() } else { names.join(", ") };
    for (row, (name, ..)) in FAULTS.iter().enumerate() {
        let begins = BEGINNINGS.iter().filter(|(_, begins)| trial.works(&fault(row, begins, PROCESS, "")));
        let begins: Vec<&str> = begins.map(|(name, _)| *name).collect();
        let at = BEGINNINGS[0].1;
        let of = which.iter().filter(|(_, more)| trial.works(&fault(row, at, PROCESS, more)));
        let of: Vec<&str> = of.map(|(name, _)| *name).collect();
        let objects = narrower.iter().filter(|(name, more)| {
            let text = fault(row, at, PROCESS, more);
            match *name {
                // No name is known beforehand: that it can be written is enough.
                "name" => plan(&trial.base, &text, 0).is_some(),
                _ => trial.works(&text),
            }
        });
        let objects: Vec<&str> = objects.map(|(name, _)| *name).collect();
        let kinds = trial.works(&fault(row, at, PROCESS, "kinds: [Pod]")).then_some("kind");
        let objects: Vec<&str> = objects.into_iter().chain(kinds).collect();
        let whom = trial.whom(row);
        lines.push(format!("| {name} | {} | {} | {whom} | {} |", list(begins), list(of), list(objects)));
    }
    lines.join("\n")
}

#[test]
fn the_page_says_what_each_fault_can_be_told_and_all_of_it_strikes() {
    let mut trial = Trial { base: base(), tried: 0, wrong: Vec::new() };
    let table = table(&mut trial);
    assert!(trial.wrong.is_empty(), "{}", trial.wrong.join("\n"));
    let page = fs::read_to_string(page()).unwrap();
    let (_, rest) = page.split_once("<!-- matrix -->\n").unwrap();
    let (written, _) = rest.split_once("\n<!-- end of matrix -->").unwrap();
    assert!(written == table, "docs/faults.md has another table; this is the one:\n{table}");
    // Every fault by every trigger.
    let all = BEGINNINGS.map(|(name, _)| name).join(", ");
    assert_eq!(table.lines().filter(|line| line.contains(&all)).count(), FAULTS.len(), "{table}");
}

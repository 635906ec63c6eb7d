//! kubectl command lines to commands.
//!
//! Upstream: kubectl/pkg/cmd/{delete,scale,apply,create,drain,patch,set,rollout}, v1.36. Only what changes objects is here.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::{Arguments, FlagSpec, split_words, switch, with_value};
use super::command::{Command, CommandVerb, DrainOptions, Target};
use super::wait;
use crate::model::{Kind, Kinds, Span, Time};
use crate::rules::{go_duration, selector_text, suggest, timestamp};

/// What a command line is read against.
pub struct Context<'a> {
    /// Namespace without `-n`.
    pub namespace: &'a str,
    /// The kinds there are.
    pub kinds: &'a Kinds,
    /// When the command runs (`rollout restart` writes it into the object).
    pub now: Time,
    /// Reads the manifests of a file named by `-f`.
    pub read_file: &'a dyn Fn(&str) -> Parsed<Vec<Arc<Value>>>,
    /// Reads a value in JSON or YAML (the patch of `-p`).
    pub read_value: &'a dyn Fn(&str) -> Result<Value, String>,
}

/// Why a command line cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl CommandError {
    /// A problem.
    pub fn new(message: impl Into<String>) -> CommandError {
        CommandError { message: message.into(), help: None }
    }

    /// This problem with a way out.
    pub fn help(mut self, help: impl Into<String>) -> CommandError {
        self.help = Some(help.into());
        self
    }
}

/// What a command line gives.
pub type Parsed<T> = Result<T, CommandError>;

const VERBS: [&str; 11] =
    ["delete", "scale", "apply", "create", "cordon", "uncordon", "drain", "patch", "set", "rollout", "wait"];
/// Commands that only look, or that we cannot carry out yet.
const OTHER_VERBS: [(&str, &str); 12] = [
    ("get", "a timeline changes things; ask with `expect`, or with `kubesim get` after the run"),
    ("describe", "a timeline changes things; ask with `expect`, or with `kubesim describe` after the run"),
    ("logs", "containers write no logs here"),
    ("exec", "containers run no programs here"),
    ("taint", "not simulated yet; patch the node's spec.taints"),
    ("label", "not simulated yet; patch the object's metadata.labels"),
    ("annotate", "not simulated yet; patch the object's metadata.annotations"),
    ("edit", "use patch or apply"),
    ("replace", "use apply"),
    ("run", "not simulated yet; apply a manifest"),
    ("expose", "not simulated yet; apply a manifest"),
    ("autoscale", "not simulated yet; apply a manifest"),
];

const NAMESPACE: FlagSpec = with_value("--namespace", "-n");
const SELECTOR: FlagSpec = with_value("--selector", "-l");
const FILENAME: FlagSpec = with_value("--filename", "-f");

/// Parses a command line, with or without the leading word `kubectl`.
///
/// # Errors
/// An unknown verb, flag or kind (with a suggestion), a missing or surplus argument, or a value that does not fit.
pub fn parse(line: &str, context: &Context<'_>) -> Result<Command, CommandError> {
    let mut words = split_words(line)?;
    if words.first().is_some_and(|word| word == "kubectl") {
        words.remove(0);
    }
    if words.is_empty() {
        return Err(CommandError::new("the command line is empty"));
    }
    let name = words.remove(0);
    let verb = match name.as_str() {
        "delete" => delete(words, context)?,
        "scale" => scale(words, context)?,
        "apply" | "create" => apply(&name, words, context)?,
        "cordon" | "uncordon" => cordon(words, name == "cordon")?,
        "drain" => drain(words)?,
        "patch" => patch(words, context)?,
        "set" => set(words, context)?,
        "rollout" => rollout(words, context)?,
        "wait" => wait(words, context)?,
        _ => return Err(unknown_verb(&name)),
    };
    Ok(Command { text: line.trim().to_string(), verb })
}

fn unknown_verb(name: &str) -> CommandError {
    if let Some((_, why)) = OTHER_VERBS.iter().find(|(verb, _)| *verb == name) {
        if let Some(instead) = why.strip_prefix("not simulated yet; ") {
            return CommandError::new(format!("`kubectl {name}` is not simulated yet")).help(instead);
        }
        return CommandError::new(format!("`kubectl {name}` cannot stand in a timeline")).help(*why);
    }
    let help = suggest::help(name, VERBS).unwrap_or_else(|| format!("known here: {}", VERBS.join(", ")));
    CommandError::new(format!("unknown command `{name}`")).help(help)
}

fn delete(words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    const FLAGS: &[FlagSpec] = &[
        NAMESPACE,
        SELECTOR,
        with_value("--grace-period", ""),
        switch("--force"),
        switch("--now"),
        switch("--all"),
        with_value("--cascade", ""),
        switch("--wait"),
        switch("--ignore-not-found"),
    ];
    let arguments = Arguments::parse("delete", words, FLAGS)?;
    if let Some(cascade) = arguments.value("--cascade").filter(|cascade| *cascade != "background") {
        return Err(CommandError::new(format!("--cascade={cascade} is not simulated yet")));
    }
    let grace_seconds = grace_period(&arguments)?;
    let (kind, names) = resource(context, &arguments.words, "delete")?;
    let everything = arguments.is_set("--all")?.then(String::new);
    let selector = arguments.value("--selector").map(str::to_string).or(everything);
    match (names.is_empty(), &selector) {
        (true, None) => {
            return Err(CommandError::new("no names given").help("give names, -l SELECTOR or --all"));
        }
        (false, Some(_)) => return Err(CommandError::new("names exclude -l and --all")),
        _ => {}
    }
    Ok(CommandVerb::Delete { target: target(&arguments, context, kind, names, selector)?, grace_seconds, pick: None })
}

/// `--grace-period=0` deletes at once only with `--force`; without it kubectl makes it 1.
///
/// Upstream: kubectl/pkg/cmd/delete/delete.go, `Complete`, v1.36.
fn grace_period(arguments: &Arguments) -> Parsed<Option<i64>> {
    let force = arguments.is_set("--force")?;
    let given = arguments.number("--grace-period")?.filter(|seconds| *seconds >= 0);
    if arguments.is_set("--now")? {
        return match given {
            Some(_) => Err(CommandError::new("--now and --grace-period exclude each other")),
            None => Ok(Some(1)),
        };
    }
    match (given, force) {
        (Some(0), false) => Ok(Some(1)),
        (Some(seconds), true) if seconds > 0 => {
            Err(CommandError::new("--force and --grace-period greater than 0 exclude each other"))
        }
        (None, true) => Ok(Some(0)),
        (given, _) => Ok(given),
    }
}

fn scale(words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    let arguments = Arguments::parse("scale", words, &[NAMESPACE, with_value("--replicas", "")])?;
    let replicas = arguments.number("--replicas")?.ok_or_else(|| CommandError::new("--replicas=N must be given"))?;
    let replicas = i32::try_from(replicas).ok().filter(|replicas| *replicas >= 0);
    let replicas =
        replicas.ok_or_else(|| CommandError::new("--replicas must be a whole number from 0 to 2147483647"))?;
    let (kind, names) = named(context, &arguments.words, "scale")?;
    only(kind, &[Kind::Deployment, Kind::ReplicaSet], "scaled")?;
    Ok(CommandVerb::Scale { target: target(&arguments, context, kind, names, None)?, replicas })
}

fn apply(verb: &str, words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    let arguments = Arguments::parse(verb, words, &[NAMESPACE, FILENAME, switch("--server-side")])?;
    if let Some(word) = arguments.words.first() {
        return Err(
            CommandError::new(format!("`kubectl {verb} {word}` cannot be read")).help("give manifests: -f FILE")
        );
    }
    let files: Vec<&str> = arguments.values("--filename").collect();
    if files.is_empty() {
        return Err(CommandError::new("-f FILE must be given"));
    }
    let mut objects = Vec::new();
    for file in files {
        objects.extend((context.read_file)(file)?);
    }
    Ok(CommandVerb::Apply { objects, creates: verb == "create" })
}

fn wait(words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    let flags = [NAMESPACE, with_value("--for", ""), with_value("--timeout", "")];
    let arguments = Arguments::parse("wait", words, &flags)?;
    let text = arguments.value("--for").ok_or_else(|| CommandError::new("--for=... must be given"))?;
    let wanted = wait::parse(text)?;
    let timeout = match arguments.value("--timeout") {
        None => wait::DEFAULT_TIMEOUT,
        Some(text) => {
            let span = go_duration::parse(text).map(Span);
            let span = span.map_err(|why| CommandError::new(format!("--timeout cannot be read: {why}")))?;
            // Upstream: kubectl/pkg/cmd/wait/wait.go (`ToOptions`): below zero means a week.
            if span < Span::ZERO { Span::from_seconds(7 * 24 * 3600) } else { span }
        }
    };
    let (kind, names) = named(context, &arguments.words, "wait")?;
    Ok(CommandVerb::Wait { target: target(&arguments, context, kind, names, None)?, wanted, timeout })
}

fn cordon(words: Vec<String>, unschedulable: bool) -> Parsed<CommandVerb> {
    let verb = if unschedulable { "cordon" } else { "uncordon" };
    let arguments = Arguments::parse(verb, words, &[])?;
    Ok(CommandVerb::Cordon { node: one_node(&arguments.words)?, unschedulable })
}

fn one_node(words: &[String]) -> Parsed<String> {
    match words {
        [node] => Ok(node.strip_prefix("node/").unwrap_or(node).to_string()),
        [] => Err(CommandError::new("the name of a node must be given")),
        _ => Err(CommandError::new("one node a command").help("write one timeline entry a node")),
    }
}

fn drain(words: Vec<String>) -> Parsed<CommandVerb> {
    const FLAGS: &[FlagSpec] = &[
        switch("--force"),
        switch("--ignore-daemonsets"),
        switch("--delete-emptydir-data"),
        switch("--disable-eviction"),
        with_value("--grace-period", ""),
        with_value("--timeout", ""),
        with_value("--pod-selector", ""),
    ];
    let arguments = Arguments::parse("drain", words, FLAGS)?;
    let node = one_node(&arguments.words)?;
    let timeout = arguments.value("--timeout").map(|text| {
        let wrong = |why| CommandError::new(format!("--timeout cannot be read: {why}"));
        go_duration::parse(text).map(Span).map_err(wrong)
    });
    let pod_selector = arguments.value("--pod-selector").map(str::to_string);
    if let Some(text) = &pod_selector {
        let wrong = |why| CommandError::new(format!("the selector cannot be read: {why}"));
        selector_text::parse_labels(text).map_err(wrong)?;
    }
    let options = DrainOptions {
        force: arguments.is_set("--force")?,
        ignore_daemonsets: arguments.is_set("--ignore-daemonsets")?,
        delete_emptydir_data: arguments.is_set("--delete-emptydir-data")?,
        disable_eviction: arguments.is_set("--disable-eviction")?,
        grace_seconds: arguments.number("--grace-period")?.filter(|seconds| *seconds >= 0),
        timeout: timeout.transpose()?.filter(|timeout| *timeout > Span::ZERO),
        pod_selector,
    };
    Ok(CommandVerb::Drain { node, options })
}

fn patch(words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    let arguments =
        Arguments::parse("patch", words, &[NAMESPACE, with_value("--patch", "-p"), with_value("--type", "")])?;
    let strategic = match arguments.value("--type").unwrap_or("strategic") {
        "strategic" => true,
        "merge" => false,
        "json" => return Err(CommandError::new("--type=json is not simulated yet").help("use --type=merge")),
        other => return Err(CommandError::new(format!("--type must be strategic or merge, not {other}"))),
    };
    let text = arguments.value("--patch").ok_or_else(|| CommandError::new("-p PATCH must be given"))?;
    let patch =
        (context.read_value)(text).map_err(|why| CommandError::new(format!("the patch cannot be read: {why}")))?;
    if !patch.is_object() {
        return Err(CommandError::new("the patch must be a JSON object"));
    }
    let (kind, names) = named(context, &arguments.words, "patch")?;
    Ok(CommandVerb::Patch {
        target: target(&arguments, context, kind, names, None)?,
        patch: Arc::new(patch),
        strategic,
    })
}

fn set(mut words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    if words.first().is_none_or(|word| word != "image") {
        return Err(CommandError::new("of `kubectl set` only `set image` is simulated"));
    }
    words.remove(0);
    let mut arguments = Arguments::parse("set image", words, &[NAMESPACE])?;
    let pairs: Vec<String> = arguments.words.extract_if(.., |word| word.contains('=')).collect();
    if pairs.is_empty() {
        return Err(CommandError::new("CONTAINER=IMAGE must be given"));
    }
    let mut containers = Vec::new();
    for pair in &pairs {
        match pair.split_once('=') {
            Some((name, image)) if !name.is_empty() && name != "*" && !image.is_empty() => {
                containers.push(json!({"name": name, "image": image}));
            }
            _ => return Err(CommandError::new(format!("`{pair}` is not CONTAINER=IMAGE"))),
        }
    }
    let (kind, names) = named(context, &arguments.words, "set image")?;
    let spec = json!({"containers": containers});
    let patch = match kind {
        Kind::Pod => json!({"spec": spec}),
        Kind::Deployment | Kind::ReplicaSet => json!({"spec": {"template": {"spec": spec}}}),
        _ => return Err(CommandError::new(format!("a {kind} has no containers"))),
    };
    Ok(CommandVerb::Patch {
        target: target(&arguments, context, kind, names, None)?,
        patch: Arc::new(patch),
        strategic: true,
    })
}

fn rollout(mut words: Vec<String>, context: &Context<'_>) -> Parsed<CommandVerb> {
    const KNOWN: [&str; 3] = ["restart", "pause", "resume"];
    let sub = if words.is_empty() { String::new() } else { words.remove(0) };
    let patch = match sub.as_str() {
        "restart" => {
            let now = timestamp::format_seconds(context.now);
            json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": now}}}}})
        }
        "pause" => json!({"spec": {"paused": true}}),
        // kubectl computes the difference of two objects, and false is left out of an object.
        "resume" => json!({"spec": {"paused": null}}),
        "undo" | "status" | "history" => {
            return Err(CommandError::new(format!("`kubectl rollout {sub}` is not simulated yet")));
        }
        _ => {
            let error = CommandError::new(format!("unknown command `rollout {sub}`"));
            return Err(CommandError { help: suggest::help(&sub, KNOWN), ..error });
        }
    };
    let arguments = Arguments::parse("rollout", words, &[NAMESPACE])?;
    let (kind, names) = named(context, &arguments.words, "rollout")?;
    only(kind, &[Kind::Deployment], "rolled out")?;
    Ok(CommandVerb::Patch {
        target: target(&arguments, context, kind, names, None)?,
        patch: Arc::new(patch),
        strategic: true,
    })
}

fn only(kind: Kind, allowed: &[Kind], done: &str) -> Parsed<()> {
    match allowed.contains(&kind) {
        true => Ok(()),
        false => Err(CommandError::new(format!("a {kind} cannot be {done}"))),
    }
}

fn target(
    arguments: &Arguments,
    context: &Context<'_>,
    kind: Kind,
    names: Vec<String>,
    selector: Option<String>,
) -> Parsed<Target> {
    if let Some(text) = &selector {
        selector_text::parse_labels(text)
            .map_err(|why| CommandError::new(format!("the selector cannot be read: {why}")))?;
    }
    let namespace = match kind.info().namespaced {
        true => arguments.value("--namespace").unwrap_or(context.namespace).to_string(),
        false => String::new(),
    };
    Ok(Target { kind, namespace, names, selector })
}

fn named(context: &Context<'_>, words: &[String], verb: &str) -> Parsed<(Kind, Vec<String>)> {
    let (kind, names) = resource(context, words, verb)?;
    match names.is_empty() {
        true => Err(CommandError::new("no names given").help(format!("write kubectl {verb} TYPE/NAME"))),
        false => Ok((kind, names)),
    }
}

/// `TYPE NAME...` or `TYPE/NAME...`, all of one kind.
fn resource(context: &Context<'_>, words: &[String], verb: &str) -> Parsed<(Kind, Vec<String>)> {
    let Some(first) = words.first() else {
        return Err(CommandError::new("nothing to act on").help(format!("write kubectl {verb} TYPE/NAME")));
    };
    if !first.contains('/') {
        if let Some(mixed) = words[1..].iter().find(|word| word.contains('/')) {
            return Err(CommandError::new(format!("`{mixed}` after a type: give TYPE NAME... or TYPE/NAME...")));
        }
        return Ok((kind_of(first, context.kinds)?, words[1..].to_vec()));
    }
    let mut found: Option<Kind> = None;
    let mut names = Vec::new();
    for word in words {
        let (kind, name) =
            word.split_once('/').filter(|(_, name)| !name.is_empty() && !name.contains('/')).ok_or_else(|| {
                CommandError::new(format!("`{word}` is not TYPE/NAME")).help("the namespace is given with -n")
            })?;
        let kind = kind_of(kind, context.kinds)?;
        if found.is_some_and(|other| other != kind) {
            return Err(CommandError::new("one type a command").help("write one timeline entry a type"));
        }
        found = Some(kind);
        names.push(name.to_string());
    }
    Ok((found.expect("there is at least one word"), names))
}

fn kind_of(text: &str, kinds: &Kinds) -> Parsed<Kind> {
    kinds.from_user(text).ok_or_else(|| {
        let known = kinds.iter().flat_map(|kind| [kind.info().plural, kind.singular()]);
        let error = CommandError::new(format!("unknown resource type `{text}`"));
        match suggest::did_you_mean(text, known) {
            Some(help) => error.help(help),
            None => error.help(format!(
                "simulated are: {}",
                kinds.iter().map(|kind| kind.info().plural).collect::<Vec<_>>().join(", ")
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<CommandVerb, CommandError> {
        let context = Context {
            namespace: "default",
            kinds: Kinds::BUILT_IN,
            now: Time(0),
            read_file: &|file| match file {
                "a.yaml" => Ok(vec![Arc::new(json!({"kind": "Pod"}))]),
                _ => Err(CommandError::new(format!("no such file: {file}"))),
            },
            read_value: &|text| serde_json::from_str(text).map_err(|error| error.to_string()),
        };
        parse(line, &context).map(|command| {
            assert_eq!(command.text, line);
            command.verb
        })
    }

    fn check(line: &str, expected: &str) {
        let shown = match read(line) {
            Ok(CommandVerb::Delete { target: t, grace_seconds, .. }) => {
                format!("delete {} {} {:?} {:?} {grace_seconds:?}", t.kind, t.namespace, t.names, t.selector)
            }
            Ok(CommandVerb::Scale { target: t, replicas }) => {
                format!("scale {} {} {:?} {replicas}", t.kind, t.namespace, t.names)
            }
            Ok(CommandVerb::Apply { objects, creates: false }) => format!("apply {}", objects.len()),
            Ok(CommandVerb::Apply { objects, creates: true }) => format!("create {}", objects.len()),
            Ok(CommandVerb::Wait { target: t, wanted, timeout }) => {
                format!("wait {} {:?} {wanted:?} {timeout}", t.kind, t.names)
            }
            Ok(CommandVerb::Patch { target: t, patch, strategic }) => {
                format!("patch {} {:?} {patch} {strategic}", t.kind, t.names)
            }
            Ok(CommandVerb::Cordon { node, unschedulable }) => format!("cordon {node} {unschedulable}"),
            Ok(CommandVerb::Drain { node, options: o }) => format!(
                "drain {node} {} {} {} {} {:?} {:?} {:?}",
                o.force,
                o.ignore_daemonsets,
                o.delete_emptydir_data,
                o.disable_eviction,
                o.grace_seconds,
                o.timeout.map(|timeout| timeout.to_string()),
                o.pod_selector
            ),
            Err(error) => match error.help {
                Some(help) => format!("error: {} ({help})", error.message),
                None => format!("error: {}", error.message),
            },
        };
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn deletes() {
        check("delete pod a b", r#"delete Pod default ["a", "b"] None None"#);
        check("kubectl delete po/a pods/b -n shop", r#"delete Pod shop ["a", "b"] None None"#);
        check("delete pod -l 'app in (a, b)' --force", r#"delete Pod default [] Some("app in (a, b)") Some(0)"#);
        check("delete pod -lapp=api --grace-period=0", r#"delete Pod default [] Some("app=api") Some(1)"#);
        check("delete pod a --grace-period 0 --force", r#"delete Pod default ["a"] None Some(0)"#);
        check("delete node --all --now", r#"delete Node  [] Some("") Some(1)"#);
        check(
            "delete pod a --force --grace-period=5",
            "error: --force and --grace-period greater than 0 exclude each other",
        );
        check("delete pod", "error: no names given (give names, -l SELECTOR or --all)");
        check("delete pod a -l app=b", "error: names exclude -l and --all");
        check("delete pod -l 'app in'", "error: the selector cannot be read: found no list of values, expected: '('");
        check("delete pod/a deploy/b", "error: one type a command (write one timeline entry a type)");
        check("delete shop/pod/a", "error: `shop/pod/a` is not TYPE/NAME (the namespace is given with -n)");
        check("delete podz a", "error: unknown resource type `podz` (did you mean `pods`?)");
        check(
            "delete pod a --grace-perod=3",
            "error: unknown flag `--grace-perod` of kubectl delete (did you mean `--grace-period`?)",
        );
        check("delete pod a --grace-period=soon", "error: --grace-period must be a whole number, not `soon`");
    }

    #[test]
    fn scales_and_cordons() {
        check("scale deployment/web --replicas=5", r#"scale Deployment default ["web"] 5"#);
        check("scale --replicas 5 deployment web", r#"scale Deployment default ["web"] 5"#);
        check("scale rs/web --replicas=-1", "error: --replicas must be a whole number from 0 to 2147483647");
        check("scale pod/web --replicas=1", "error: a Pod cannot be scaled");
        check("scale deployment web", "error: --replicas=N must be given");
        check("cordon node-1", "cordon node-1 true");
        check("uncordon node/node-1", "cordon node-1 false");
        check("cordon a b", "error: one node a command (write one timeline entry a node)");
    }

    #[test]
    fn drains() {
        check("drain node-1", "drain node-1 false false false false None None None");
        check(
            "drain node/n --force --ignore-daemonsets --delete-emptydir-data --disable-eviction --grace-period=5 --timeout 1m30s --pod-selector app=a",
            r#"drain n true true true true Some(5) Some("1m30s") Some("app=a")"#,
        );
        check("drain n --grace-period=-1 --timeout=0s", "drain n false false false false None None None");
        check("drain n --timeout=5", "error: --timeout cannot be read: missing unit in duration");
        check("drain", "error: the name of a node must be given");
        check(
            "drain n --ignore-daemonset",
            "error: unknown flag `--ignore-daemonset` of kubectl drain (did you mean `--ignore-daemonsets`?)",
        );
    }

    #[test]
    fn patches_and_files() {
        check(
            r#"patch deploy web -p '{"spec":{"replicas":2}}'"#,
            r#"patch Deployment ["web"] {"spec":{"replicas":2}} true"#,
        );
        check(r#"patch deploy/web --type=merge --patch "{\"a\":1}""#, r#"patch Deployment ["web"] {"a":1} false"#);
        check("patch deploy web -p 3", "error: the patch must be a JSON object");
        check(
            "set image deployment/web app=nginx:2 side=busybox",
            r#"patch Deployment ["web"] {"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:2"},{"name":"side","image":"busybox"}]}}}} true"#,
        );
        check(
            "rollout restart deploy/web",
            r#"patch Deployment ["web"] {"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"1970-01-01T00:00:00Z"}}}}} true"#,
        );
        check("rollout pause deploy web", r#"patch Deployment ["web"] {"spec":{"paused":true}} true"#);
        check("rollout resume deploy web", r#"patch Deployment ["web"] {"spec":{"paused":null}} true"#);
        check("rollout restrat deploy web", "error: unknown command `rollout restrat` (did you mean `restart`?)");
        check("apply -f a.yaml", "apply 1");
        check("create -f a.yaml", "create 1");
        check("create -f b.yaml", "error: no such file: b.yaml");
        check("apply", "error: -f FILE must be given");
    }

    #[test]
    fn wait_takes_an_object_a_condition_and_a_time_out() {
        check(
            "wait pod/web --for=condition=Ready",
            "wait Pod [\"web\"] Condition { condition: \"Ready\", status: \"true\" } 30s",
        );
        check(
            "wait deploy/api --for=jsonpath='{.status.readyReplicas}'=3 --timeout=1m",
            "wait Deployment [\"api\"] Field { path: [\"status\", \"readyReplicas\"], value: Some(\"3\") } 1m0s",
        );
        check("wait pod/web --for=delete --timeout=-1s", "wait Pod [\"web\"] Deleted 168h0m0s");
        check("wait pod/web", "error: --for=... must be given");
        check(
            "wait pod/web --for=Running",
            "error: unrecognized condition: \"Running\" (for example --for=condition=Ready, --for=jsonpath='{.status.phase}'=Running, --for=delete)",
        );
    }

    #[test]
    fn unknown_commands_are_named() {
        check("", "error: the command line is empty");
        check("scael deploy/web", "error: unknown command `scael` (did you mean `scale`?)");
        check(
            "get pods",
            "error: `kubectl get` cannot stand in a timeline (a timeline changes things; ask with `expect`, or with `kubesim get` after the run)",
        );
        check("delete pod 'a", "error: a quote is not closed");
        check("taint node-1", "error: `kubectl taint` is not simulated yet (patch the node's spec.taints)");
        check("rollout undo deploy/web", "error: `kubectl rollout undo` is not simulated yet");
    }
}

//! Operators of scenarios, and every kind of mistake with the text that a person sees.

use crate::client::queue_settings::{HandlerAdd, LimiterSettings, QueueKind};
use crate::controllers::custom::{Afterwards, ChildNames, Count, OperatorSettings, RequestSpec};
use crate::model::{Distribution, Kind, Span};
use crate::scenario::tests::{Folder, HEAD};
use crate::scenario::{Loaded, Overrides};
use crate::sim::plan::{ComponentPlan, QueuePlan, RateLimit, ResyncPlan};

fn load(test: &str, operators: &str) -> Result<Loaded, String> {
    let text = format!("{HEAD}  operators:\n{operators}");
    let folder = Folder::new(test, &[("s.yaml", &text)]);
    folder.load("s.yaml", &Overrides::default()).map_err(|problems| problems.to_string())
}

fn operator(loaded: &Loaded) -> (&QueuePlan, &OperatorSettings) {
    let process = loaded.plans[0].processes.iter().find(|process| process.name == "op").expect("it has a process");
    let [ComponentPlan::Operator(queue, settings)] = &process.components[..] else { panic!("an operator alone") };
    (queue, settings)
}

#[test]
fn an_operator_says_little_and_has_defaults() {
    let loaded = load("operator-defaults", "  - {name: op, of: {kind: Database, count: 3}}\n").unwrap();
    let plan = &loaded.plans[0];
    let names: Vec<&str> = plan.objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect();
    assert!(names.ends_with(&["database-1", "database-2", "database-3"]), "{names:?}");
    let kind = plan.kinds.from_user("databases").unwrap();
    assert_eq!(kind.info().api_version, "example.com/v1");
    let (queue, settings) = operator(&loaded);
    assert_eq!((settings.kind, settings.name, settings.generation_changed), (kind, "op", false));
    assert!(matches!(settings.requests[..], [RequestSpec::Get, RequestSpec::UpdateStatus(_)]));
    assert_eq!((queue.workers, queue.kind, queue.handler_add), (1, QueueKind::Priority, HandlerAdd::Plain));
    assert_eq!(queue.limiter, LimiterSettings::default_controller_item());
    let process = plan.processes.last().unwrap();
    assert_eq!((process.client, &process.resync), (None, &ResyncPlan::Every(Span::from_seconds(36_000))));
}

#[test]
fn everything_an_operator_says_is_read() {
    let loaded = load(
        "operator-all",
        "  - name: op
    of: {kind: Database}
    reconcile:
      takes: {uniform: [1s, 2s]}
      requests: [list, update, {create: {count: spec.size, names: random, template: {kind: Shard}}}]
      fails: [{dependency: postgres, from: 1m, for: 30s}]
      requeueAfter: 5m
    maxConcurrentReconciles: 4
    queue: plain
    adds: rateLimited
    rateLimiter: {base: 1s}
    resync: 0s
    client: {qps: 7, timeout: 3s}
    replicas: 2
    expectations: true
---
apiVersion: shop.example.com/v1
kind: Database
metadata: {name: big}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shards.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Shard, plural: shardz, singular: shard}
  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
",
    )
    .unwrap();
    let plan = &loaded.plans[0];
    let database = plan.kinds.from_manifest("shop.example.com/v1", "Database").expect("the manifest names its version");
    let shard = plan.kinds.from_user("shardz").expect("the definition names the plural");
    assert_eq!(shard.info().api_version, "shop.example.com/v2");
    let (queue, settings) = operator(&loaded);
    assert_eq!(queue.reconcile_time, Distribution::Uniform { low_ns: 1_000_000_000, high_ns: 2_000_000_000 });
    assert_eq!((queue.workers, queue.kind, queue.handler_add), (4, QueueKind::WorkQueue, HandlerAdd::RateLimited));
    let LimiterSettings::MaxOf(members) = &queue.limiter else { panic!("a plain queue has a bucket") };
    assert_eq!(
        members[0],
        LimiterSettings::ItemExponential { base: Span::from_seconds(1), max: Span::from_seconds(1000) }
    );
    assert_eq!(members[1], LimiterSettings::Bucket { qps: 10.0, burst: 100 });
    let [RequestSpec::List(listed), RequestSpec::Update, RequestSpec::Children(children)] = &settings.requests[..]
    else {
        panic!("three requests")
    };
    assert_eq!((*listed, children.kind, children.names), (database, shard, ChildNames::Random));
    assert_eq!(children.count, Count::SpecField("size".into()));
    assert_eq!(settings.afterwards, Afterwards::After(Distribution::Constant(Span::from_seconds(300).0)));
    let [rule] = &settings.fails[..] else { panic!("one rule") };
    assert_eq!((rule.from, rule.until), (Span::from_seconds(60), Some(Span::from_seconds(90))));
    assert_eq!(rule.error, "postgres is down");
    let processes: Vec<_> = plan.processes.iter().filter(|process| process.name == "op").collect();
    assert_eq!(processes.len(), 2);
    assert_eq!(processes[1].replica, 1);
    assert_eq!(processes[0].client, Some(RateLimit { qps: 7.0, burst: 10 }));
    assert_eq!(processes[0].request_timeout, Some(Span::from_seconds(3)));
    assert_eq!(processes[0].resync, ResyncPlan::Never);
    assert!(plan.kinds.iter().all(|kind| kind != Kind::Pod || !kind.is_custom()));
}

#[test]
fn references_and_commands_know_the_kinds_of_operators() {
    let text = "  - {name: op, of: {kind: Database, count: 2}}
  timeline:
  - {at: 1m, kubectl: delete database database-1}
  - {at: 2m, kubectl: \"patch databases/database-2 --type=merge -p '{\\\"spec\\\":{\\\"size\\\":4}}'\"}
  expect:
  - {at: 3m, that: 'object(\"database/database-2\").spec.size == 4 && count(\"databases\") == 1'}
";
    load("operator-references", text).unwrap();
}

#[test]
fn mistakes_in_operators_are_named() {
    for (number, (text, wanted)) in [
        ("  - {of: {kind: Database}}\n", "`name` must be given"),
        ("  - {name: op}\n", "`of` must be given"),
        ("  - {name: op, of: {count: 3}}\n", "`kind` must be given"),
        ("  - {name: op, of: {kind: Pod}}\n", "`Pod` is a kind of Kubernetes"),
        ("  - {name: op, of: {kind: data-base}}\n", "`data-base` is not the name of a kind"),
        ("  - {name: op, of: {kind: Database, apiVersion: v1}}\n", "`v1` is not GROUP/VERSION of a custom resource"),
        ("  - {name: op, of: {kind: Database, count: -1}}\n", "must be a whole number from 0"),
        ("  - {name: kubelet, of: {kind: Database}}\n", "the name `kubelet` is taken"),
        (
            "  - {name: op, of: {kind: Database}}\n  - {name: op, of: {kind: Shard}}\n",
            "the name `op` is taken",
        ),
        ("  - {name: op, of: {kind: Database}, maxConcurrentReconciles: 0}\n", "must be a whole number from 1"),
        ("  - {name: op, of: {kind: Database}, reconcile: {requests: [upate]}}\n", "did you mean `update`?"),
        ("  - {name: op, of: {kind: Database}, reconcile: {requests: [{list: podz}]}}\n", "unknown kind `podz`"),
        ("  - {name: op, of: {kind: Database}, reconcile: {fails: [{probability: 1.5}]}}\n", "must be a number from 0 to 1"),
        ("  - {name: op, of: {kind: Database}, reconcile: {fails: [{from: 2m, until: 1m}]}}\n", "it ends before it begins"),
        (
            "  - {name: op, of: {kind: Database}, reconcile: {fails: [{until: 2m, for: 1m}]}}\n",
            "`until` and `for` exclude each other",
        ),
        (
            "  - {name: op, of: {kind: Database}, reconcile: {requeue: true, requeueAfter: 1m}}\n",
            "requeueAfter and requeue exclude each other",
        ),
        ("  - {name: op, of: {kind: Database}, rateLimiter: {base: 0s}}\n", "must be longer than 0s"),
        ("  - {name: op, of: {kind: Database}, rateLimiter: {base: 10s, max: 5s}}\n", "max (5s) is below base (10s)"),
        ("  - {name: op, of: {kind: Database}, rateLimiter: {qps: -1}}\n", "must be above 0"),
        ("  - {name: op, of: {kind: Database}, errorBackoff: {base: 10m}}\n", "max (5m0s) is below base (10m0s)"),
        ("  - {name: op, of: {kind: Database}, queue: fifo}\n", "unknown value \"fifo\""),
        ("  - {name: op, of: {kind: Database}, runsIn: deployment/none}\n", "no file describes deployment/none"),
        ("  - {name: op, of: {kind: Database}, runsIn: node/a}\n", "a Node has no pods"),
        (
            "  - {name: op, of: {kind: Database}, reconcile: {requests: [{create: {template: {kind: Pod}}}]}}\n",
            "spec.operators[0].reconcile.requests[0].create.template.spec",
        ),
        (
            "  - {name: op, of: {kind: Database}, reconcile: {requests: [{create: {template: {kind: Database, metadata: {name: a}}}}]}}\n",
            "`metadata.name` cannot be given in a template",
        ),
        (
            "  - {name: op, of: {kind: Database, count: 1}}\n---\napiVersion: example.com/v1\nkind: Database\nmetadata: {name: database-1}\n",
            "database/database-1 is given twice",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let said = load(&format!("operator-mistake-{number}"), text).err().unwrap_or("no problem".into());
        assert!(said.contains(wanted), "{text}says\n{said}and not {wanted}");
    }
}

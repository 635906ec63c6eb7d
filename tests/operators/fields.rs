//! Each field of an operator changes what a scenario does: the same scenario with another value, or without it, fails.

use kubesim::model::{Action, Kind, Object, Record, Time};

use crate::common::{Ran, plan_of, run};

const NS: i64 = 1_000_000_000;

/// A scenario with one operator, `op`.
struct Tried {
    ran: Ran,
    start: Time,
}

impl Tried {
    /// The operator's fields, the scenario's other ones, and documents behind it.
    fn with(test: &str, fields: &str, spec: &str, documents: &str) -> Tried {
        let text = format!(
            "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  nodes: [{{count: 2}}]\n  operators: [{{name: op, \
             {fields}}}]\n  {spec}\n{documents}"
        );
        let plan = plan_of(&format!("operator-fields-{test}"), &text);
        Tried { start: plan.start_at, ran: run(&plan) }
    }

    fn new(test: &str, seconds: i64, fields: &str) -> Tried {
        Tried::with(test, fields, &format!("duration: {seconds}s"), "")
    }

    /// What the operator itself did.
    fn acts(&self, action: Action) -> impl Iterator<Item = &Record> {
        self.ran.records.iter().filter(move |record| record.component == "op" && record.action == action)
    }

    fn count(&self, action: Action) -> usize {
        self.acts(action).count()
    }

    fn ms(&self, record: &Record) -> i64 {
        (record.time - self.start).0 / 1_000_000
    }

    /// When it began to look at an object, in ms.
    fn reconciles(&self, name: &str) -> Vec<i64> {
        let of = |record: &&Record| record.key.as_ref().is_some_and(|key| key.name == name);
        self.acts(Action::Reconcile).filter(of).map(|record| self.ms(record)).collect()
    }

    /// Time between looks at an object, in ms.
    fn gaps(&self, name: &str) -> Vec<i64> {
        self.reconciles(name).windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// When the operator sent its last request, in ms.
    fn last(&self, action: Action) -> i64 {
        self.acts(action).last().map_or(0, |record| self.ms(record))
    }

    fn objects(&self, kind: &str) -> usize {
        let truth = self.ran.world.api().truth();
        let kind = truth.kinds().find(|known| known.as_str() == kind);
        kind.map_or(0, |kind| truth.iter(kind).count())
    }

    /// Errors: the object, when in seconds, and what they said.
    fn errors(&self) -> Vec<(String, i64, String)> {
        let error = |record: &Record| {
            let name = record.key.as_ref().map(|key| key.name.to_string()).unwrap_or_default();
            (name, self.ms(record) / 1000, record.detail.to_string())
        };
        self.acts(Action::ReconcileError).map(error).collect()
    }
}

/// Within some ms of what it should be: requests take time.
fn near(found: i64, expected: i64) -> bool {
    (expected..expected + 200).contains(&found)
}

#[test]
fn as_many_custom_resources_as_it_says_and_those_of_manifests() {
    let mine = "---\napiVersion: example.com/v1\nkind: Database\nmetadata: {name: mine}\n";
    for (test, count, documents, expected) in [("count-7", 7, "", 7), ("count-0", 0, mine, 1), ("count-2", 2, mine, 3)]
    {
        let fields = format!("of: {{kind: Database, count: {count}}}, generationChangedPredicate: true");
        let tried = Tried::with(test, &fields, "duration: 10s", documents);
        assert_eq!((tried.objects("Database"), tried.count(Action::Reconcile)), (expected, expected), "{test}");
        assert_eq!(tried.reconciles("mine").len(), usize::from(!documents.is_empty()), "{test}");
    }
}

#[test]
fn a_reconcile_takes_as_long_as_it_says() {
    let took = |test: &str, takes: &str| -> Vec<i64> {
        let fields = format!(
            "of: {{kind: Database, count: 20}}, generationChangedPredicate: true, reconcile: {{takes: {takes}, requests: []}}"
        );
        let tried = Tried::new(test, 100, &fields);
        let begun: Vec<i64> = tried.acts(Action::Reconcile).map(|record| tried.ms(record)).collect();
        assert_eq!(begun.len(), 20);
        // One worker: the next begins when one is over.
        begun.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    assert!(took("takes-constant", "2s").iter().all(|ms| *ms == 2_000));
    let drawn = took("takes-uniform", "{uniform: [1s, 3s]}");
    assert!(drawn.iter().all(|ms| (1_000..=3_000).contains(ms)), "{drawn:?}");
    assert!(drawn.iter().any(|ms| *ms < 1_500) && drawn.iter().any(|ms| *ms > 2_500), "{drawn:?}");
}

#[test]
fn a_reconcile_sends_the_requests_it_lists_in_their_order() {
    let create = "{create: {count: 2, template: {kind: Pod, spec: {containers: [{name: c, image: i}]}}}}";
    let all = format!("[get, list, {{list: pods}}, update, {{update-status: {{phase: Done}}}}, {create}]");
    use Action::{Create, Get, List, Update, UpdateStatus};
    for (test, requests, expected) in [
        ("requests-none", "[]", vec![]),
        ("requests-get", "[get]", vec![Get]),
        ("requests-reversed", "[update-status, get]", vec![UpdateStatus, Get]),
        ("requests-all", all.as_str(), vec![Get, List, List, Update, UpdateStatus, Create, Create]),
    ] {
        let fields = format!(
            "of: {{kind: Database, count: 1}}, generationChangedPredicate: true, reconcile: {{requests: {requests}}}"
        );
        let tried = Tried::new(test, 3, &fields);
        let is_request = |action: Action| [Get, List, Update, UpdateStatus, Create].contains(&action);
        let own = tried.ran.records.iter().filter(|record| record.component == "op" && is_request(record.action));
        let of_objects = own.filter(|record| record.key.as_ref().is_none_or(|key| key.kind != Kind::Event));
        let found: Vec<Action> = of_objects.map(|record| record.action).take(expected.len().max(1)).collect();
        assert_eq!(found, expected, "{test}");
        assert_eq!(tried.objects("Pod"), if test == "requests-all" { 2 } else { 0 }, "{test}");
    }
}

#[test]
fn reconciles_fail_with_a_probability() {
    let failed = |test: &str, probability: &str| {
        let fields = format!(
            "of: {{kind: Database, count: 200}}, generationChangedPredicate: true, maxConcurrentReconciles: 10, \
             rateLimiter: {{base: 500s}}, reconcile: {{requests: [get], fails: [{{probability: {probability}, error: bad luck}}]}}"
        );
        let tried = Tried::new(test, 60, &fields);
        assert_eq!(tried.count(Action::Reconcile), 200);
        assert!(tried.errors().iter().all(|(_, _, text)| text == "bad luck"));
        tried.errors().len()
    };
    assert_eq!((failed("fails-never", "0"), failed("fails-always", "1")), (0, 200));
    // 200 x 0.3 = 60, with a deviation of 6.5: four of them are 26.
    let some = failed("fails-some", "0.3");
    assert!((34..=86).contains(&some), "{some}");
}

#[test]
fn one_object_fails_until_a_time() {
    let fields = "of: {kind: Database, count: 3}, rateLimiter: {base: 1s, max: 1s}, generationChangedPredicate: true, \
                  reconcile: {fails: [{object: database-2, error: connection refused, until: 20s}]}";
    let errors = Tried::new("until", 60, fields).errors();
    assert!(errors.len() > 10, "one a second for 20 s: {errors:?}");
    let is_right = |(name, second, text): &(String, i64, String)| {
        name == "database-2" && *second < 20 && text == "connection refused"
    };
    assert!(errors.iter().all(is_right), "{errors:?}");
}

#[test]
fn all_fail_while_a_dependency_is_down() {
    let fields = "of: {kind: Database, count: 3}, rateLimiter: {base: 1s, max: 1s}, generationChangedPredicate: true, \
                  reconcile: {requests: [get], requeueAfter: 1s, fails: [{dependency: postgres, from: 10s, for: 10s}]}";
    let errors = Tried::new("dependency", 40, fields).errors();
    assert!(
        errors.iter().all(|(_, second, text)| (10..20).contains(second) && text == "postgres is down"),
        "{errors:?}"
    );
    for name in ["database-1", "database-2", "database-3"] {
        assert!(errors.iter().filter(|(of, ..)| of == name).count() >= 8, "{errors:?}");
    }
}

#[test]
fn an_object_comes_back_after_requeue_after_or_at_once_through_the_limiter() {
    let gaps = |test: &str, after: &str| {
        let fields = format!(
            "of: {{kind: Database, count: 1}}, generationChangedPredicate: true, rateLimiter: {{base: 1s, max: 8s}}, \
             reconcile: {{requests: [get]{after}}}"
        );
        Tried::new(test, 35, &fields).gaps("database-1")
    };
    assert!(gaps("requeue-none", "").is_empty());
    let after = gaps("requeue-after", ", requeueAfter: 10s");
    assert!(after.len() == 3 && after.iter().all(|gap| near(*gap, 10_000)), "{after:?}");
    // The limiter forgets nothing: 1, 2, 4, 8, 8 s.
    let requeued = gaps("requeue", ", requeue: true");
    assert_eq!(requeued.len(), 6, "{requeued:?}");
    assert!(requeued.iter().zip([1_000, 2_000, 4_000, 8_000, 8_000]).all(|(gap, s)| near(*gap, s)), "{requeued:?}");
}

#[test]
fn expectations_wait_for_children_that_the_cache_has_not_seen() {
    let pods = |test: &str, expectations: bool| {
        let fields = format!(
            "of: {{kind: Database, count: 1}}, expectations: {expectations}, reconcile: {{requeueAfter: 500ms, requests: \
             [{{create: {{count: 1, names: random, template: {{kind: Pod, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}]}}"
        );
        let late = "duration: 10s\n  faults: [{at: 0s, delayWatch: {to: op, kind: Pod, by: 3s}}]";
        Tried::with(test, &fields, late, "").count(Action::Create)
    };
    assert_eq!(pods("expectations", true), 1);
    let without = pods("no-expectations", false);
    assert!((5..=7).contains(&without), "each 500 ms for 3 s: {without}");
}

#[test]
fn failures_wait_as_its_own_limiter_says() {
    let failing =
        "of: {kind: Database, count: 1}, generationChangedPredicate: true, reconcile: {fails: [{error: refused}]}";
    let gaps = Tried::new("limiter", 20, &format!("{failing}, rateLimiter: {{base: 1s, max: 4s}}")).gaps("database-1");
    assert!(gaps.iter().zip([1_000, 2_000, 4_000, 4_000, 4_000, 4_000]).all(|(gap, s)| near(*gap, s)), "{gaps:?}");
    // At 1, 3, 7, 11, 15 and 19 s.
    assert_eq!(gaps.len(), 6, "{gaps:?}");
    // 5, 10, 20 ... 20 x 2^10 = 5.12 s; the sum of the first eleven is 10.2 s.
    let default = Tried::new("limiter-default", 20, failing).gaps("database-1");
    assert!(near(default[0], 5) && near(default[10], 5_120) && default.len() == 11, "{default:?}");
    // A bucket for all: of 10 that fail at once, each waits for a token of its own, one a second.
    let many =
        "of: {kind: Database, count: 10}, generationChangedPredicate: true, reconcile: {fails: [{error: refused}]}";
    let bucket = Tried::new("bucket", 8, &format!("{many}, rateLimiter: {{base: 1ms, max: 1ms, qps: 1, burst: 1}}"));
    // The first look at each, and a token at 0 s, 1 s ... 7 s.
    assert_eq!(bucket.count(Action::Reconcile), 10 + 8);
    let free = Tried::new("no-bucket", 8, &format!("{many}, rateLimiter: {{base: 1s, max: 1s}}"));
    assert!(free.count(Action::Reconcile) > 10 * 7);
}

#[test]
fn its_client_waits_for_tokens() {
    let fields = "of: {kind: Database, count: 10}, generationChangedPredicate: true, maxConcurrentReconciles: 10, reconcile: {requests: [get]}";
    assert!(Tried::new("no-client", 30, fields).last(Action::Get) < 1_000);
    let limited = Tried::new("client", 30, &format!("{fields}, client: {{qps: 1, burst: 1}}"));
    assert!(near(limited.last(Action::Get), 9_000), "{}", limited.last(Action::Get));
}

#[test]
fn as_many_reconciles_at_once_as_it_has_workers() {
    let last = |test: &str, workers: u32| {
        let fields = format!(
            "of: {{kind: Database, count: 10}}, generationChangedPredicate: true, maxConcurrentReconciles: {workers}, \
             reconcile: {{takes: 1s, requests: [get]}}"
        );
        Tried::new(test, 30, &fields).last(Action::Get) / 1000
    };
    assert_eq!((last("workers-1", 1), last("workers-5", 5), last("workers-10", 10)), (10, 2, 1));
}

#[test]
fn a_resync_queues_all_objects_unless_the_predicate_drops_it() {
    let looks = |test: &str, resync: &str, predicate: bool| {
        let fields = format!(
            "of: {{kind: Database, count: 1}}, resync: {resync}, generationChangedPredicate: {predicate}, \
             reconcile: {{requests: [get]}}"
        );
        Tried::new(test, 100, &fields).reconciles("database-1").len()
    };
    assert_eq!(
        (looks("resync", "30s", false), looks("no-resync", "0s", false), looks("resync-dropped", "30s", true)),
        (4, 1, 1)
    );
}

#[test]
fn its_own_status_writes_wake_it_without_the_predicate() {
    let looks = |test: &str, predicate: bool| {
        let fields = format!(
            "of: {{kind: Database, count: 1}}, generationChangedPredicate: {predicate}, \
             reconcile: {{takes: 1s, requests: [{{update-status: {{at: $(NOW)}}}}]}}"
        );
        Tried::new(test, 20, &fields).reconciles("database-1").len()
    };
    assert_eq!(looks("predicate", true), 1);
    assert!(looks("no-predicate", false) > 15);
}

#[test]
fn replicas_elect_one_of_them_unless_told_otherwise() {
    let who = |test: &str, replicas: &str| {
        let fields =
            format!("of: {{kind: Database, count: 1}}, {replicas}, reconcile: {{requests: [get], requeueAfter: 1s}}");
        let tried = Tried::new(test, 30, &fields);
        let mut names: Vec<String> = tried.acts(Action::Reconcile).map(|record| record.process.to_string()).collect();
        names.sort();
        names.dedup();
        (names.len(), tried.objects("Lease"))
    };
    // Nodes have a lease each.
    assert_eq!(who("replicas-elect", "replicas: 3"), (1, 3));
    assert_eq!(who("replicas-all", "replicas: 3, leaderElection: {leaderElect: false}"), (3, 2));
    assert_eq!(who("replicas-one", "replicas: 1"), (1, 2));
}

#[test]
fn the_queue_by_priority_takes_what_changed_before_what_was_there() {
    let looked_at = |test: &str, queue: &str| {
        let fields = format!(
            "of: {{kind: Database, count: 30}}, generationChangedPredicate: true, queue: {queue}, \
             reconcile: {{takes: 1s, requests: [get]}}"
        );
        let patch = "duration: 40s\n  timeline: [{at: 4500ms, kubectl: 'patch database database-30 --type=merge -p \
                     {\"spec\":{\"size\":2}}'}]";
        let quoted = patch.replace("-p {", "-p \"{").replace("}}'", "}}\"'").replace("\"spec\"", "\\\"spec\\\"");
        let quoted = quoted.replace("\"size\"", "\\\"size\\\"");
        Tried::with(test, &fields, &quoted, "").reconciles("database-30")[0] / 1000
    };
    let plain = looked_at("queue-plain", "plain");
    let priority = looked_at("queue-priority", "priority");
    assert_eq!(priority, 5, "the next after the patch");
    assert!(plain > 8, "first in, first out: {plain}");
}

#[test]
fn children_belong_to_their_owner() {
    let create = "{create: {count: spec.replicas, template: {kind: Pod, spec: {containers: [{name: c, image: i}]}}}}";
    let fields =
        format!("of: {{kind: Database, count: 2, spec: {{replicas: 3}}}}, reconcile: {{requests: [{create}]}}");
    let tried = Tried::with(
        "children",
        &fields,
        "duration: 60s\n  timeline: [{at: 30s, kubectl: delete database database-1}]",
        "",
    );
    let truth = tried.ran.world.api().truth();
    let owners: Vec<String> = truth
        .iter(Kind::Pod)
        .filter_map(Object::as_pod)
        .filter_map(|pod| pod.meta.controller().map(|owner| owner.name.to_string()))
        .collect();
    assert_eq!(owners, ["database-2"; 3], "those of database-1 went with it");
    assert!(tried.acts(Action::Create).all(|record| record.time < tried.start + kubesim::model::Span(29 * NS)));
}

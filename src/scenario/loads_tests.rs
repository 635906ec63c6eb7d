//! Load, queues and demand as scenarios write them.

use super::load::{Overrides, load};
use super::tests::Folder;
use crate::model::time::SECOND_NS;
use crate::model::{Distribution, Kind, Span};
use crate::plant::requests::Routing;
use crate::plant::usage::{CpuDemand, Growth, MemoryDemand, StartBurst};
use crate::sim::load_plan::{ConsumePlan, LoadPlan, LoadPlans, QueueKind};
use crate::workload::arrivals::Arrivals;
use crate::workload::formula::Formula;
use crate::workload::points::{After, Between, Points};
use crate::workload::rate::Rate;

const S: i64 = SECOND_NS;

const WEB: &str = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: \
                   web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: web}]}\n";

fn text(spec: &str) -> String {
    format!("apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n{spec}{WEB}")
}

/// What is read of a spec beside these files, and the notices; or what is wrong, as `CODE LINE:COLUMN PATH: MESSAGE`.
fn read(name: &str, spec: &str, files: &[(&str, &str)]) -> Result<(LoadPlans, Vec<String>), Vec<String>> {
    let text = text(spec);
    let mut all = vec![("app.yaml", text.as_str())];
    all.extend_from_slice(files);
    let folder = Folder::new(&format!("loads-{name}"), &all);
    match load(&[folder.path().join("app.yaml")], &Overrides::default()) {
        Ok(loaded) => Ok((loaded.plans[0].load.clone(), loaded.notices)),
        Err(problems) => Err(problems
            .iter()
            .map(|problem| {
                let location = problem.location();
                let place = location.rsplit('/').next().unwrap_or_default();
                format!("{} {place} {}: {}", problem.code, problem.path, problem.message)
            })
            .collect()),
    }
}

fn rate(name: &str, text: &str, files: &[(&str, &str)]) -> Rate {
    let spec = format!("  load:\n  - {{to: deployment/web, rate: {text}}}\n");
    let (plans, _) = read(name, &spec, files).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    plans.loads[0].rate.clone()
}

fn points(points: &[(i64, f64)], between: Between, after: After) -> Rate {
    Rate::Points(Points::new(points.to_vec(), between, after).unwrap())
}

#[test]
fn a_spike_is_read_with_what_it_costs() {
    let spec = "  duration: 20m\n  containers:\n  - of: deployment/web\n    cpu: {perRequest: 80ms, idle: 5m, atStart: {use: \
                \"1\", duration: 20s}}\n    memory: {base: 120Mi, perRequest: 2Mi, leak: {by: 1Ki, every: 1h}}\n    requests: \
                {takes: {exponential: 90ms}, concurrency: 4, queue: 10}\n  load:\n  - to: deployment/web\n    rate: {gaussian: \
                {base: 20, peak: 100, at: 5m, sigma: 60s}}\n    arrivals: poisson\n    timeout: 1s\n    retries: 2\n    \
                routing: powerOfTwoChoices\n";
    let (plans, _) = read("spike", spec, &[]).unwrap();
    let expected = LoadPlan {
        name: "deployment-web".into(),
        to: (Kind::Deployment, "default".into(), "web".into()),
        rate: Rate::Pulse { base: 20.0, peak: 100.0, at_ns: 300 * S, sigma_ns: 60 * S },
        arrivals: Some(Arrivals::Poisson),
        timeout: Some(Span::from_seconds(1)),
        retries: 2,
        routing: Routing::PowerOfTwoChoices,
    };
    assert_eq!(plans.loads, [expected]);
    let demand = &plans.demands[0];
    let at_start = Some(StartBurst { milli: 1_000, duration_ns: 20 * S });
    assert_eq!(demand.cpu, CpuDemand { per_request_ns: 80_000_000, idle_milli: 5, at_start });
    let leak = Some(Growth { bytes: 1_024, every_ns: 3_600 * S });
    let memory = MemoryDemand { base_bytes: 120 << 20, per_request_bytes: 2 << 20, leak, sawtooth: None };
    assert_eq!(demand.memory, memory);
    assert_eq!(demand.takes, Some(Distribution::Exponential { mean_ns: 90_000_000 }));
    assert_eq!((demand.concurrency, demand.queue), (Some(4), Some(10)));
}

#[test]
fn every_shape_is_a_rate() {
    for (index, (text, expected)) in [
        ("20", Rate::Constant(20.0)),
        ("{constant: 0.5}", Rate::Constant(0.5)),
        ("10 + t / 60", Rate::Formula(Formula::parse("10 + t / 60").unwrap())),
        ("{step: {from: 1, to: 5, at: 1m}}", points(&[(0, 1.0), (60 * S, 5.0)], Between::Steps, After::Hold)),
        (
            "{ramp: {from: 1, to: 5, at: 1m, duration: 2m}}",
            points(&[(60 * S, 1.0), (180 * S, 5.0)], Between::Lines, After::Hold),
        ),
        (
            "{points: [{at: 0s, rate: 1}, {at: 1m, rate: 2}]}",
            points(&[(0, 1.0), (60 * S, 2.0)], Between::Lines, After::Hold),
        ),
        (
            // From 2 to 10: 6 with an amplitude of 4.
            "{daily: {low: 2, high: 10, peakAt: 14h}}",
            Rate::Sine { mean: 6.0, amplitude: 4.0, period_ns: 86_400 * S, peak_at_ns: 50_400 * S },
        ),
        (
            "{burst: {on: 60s, off: 240s, rate: 30}}",
            Rate::Burst { rate: 30.0, base: 0.0, on_ns: 60 * S, off_ns: 240 * S, from_ns: 0 },
        ),
        (
            "{sum: [1, {noise: {of: 2, sd: 0.1, every: 10s}}, {noise: {of: 3, sd: 0.2, every: 5s}}]}",
            Rate::Sum(vec![
                Rate::Constant(1.0),
                Rate::Noise { of: Box::new(Rate::Constant(2.0)), sd: 0.1, every_ns: 10 * S, stream: 0 },
                Rate::Noise { of: Box::new(Rate::Constant(3.0)), sd: 0.2, every_ns: 5 * S, stream: 1 },
            ]),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(rate(&format!("shape-{index}"), text, &[]), expected, "{text}");
    }
}

#[test]
fn files_are_rates_and_arrivals() {
    let series = ("cup.csv", "period,count\n1998-07-01 00:00:00,60\n1998-07-01 00:01:00,120\n");
    // Counts a minute: 1 and 2 a second, halved; the last minute counts, then it begins again.
    let text = "{file: {name: cup.csv, per: 1m, times: 0.5, after: repeat}}";
    let expected = points(&[(0, 0.5), (60 * S, 1.0)], Between::Steps, After::Repeat(120 * S));
    assert_eq!(rate("file", text, &[series]), expected);
    let expected = points(&[(0, 60.0), (60 * S, 120.0)], Between::Steps, After::Hold);
    assert_eq!(rate("file-plain", "{file: cup.csv}", &[series]), expected);
    let spec = "  load:\n  - {to: deployment/web, arrivals: {log: log.csv}}\n";
    let (plans, _) = read("log", spec, &[("log.csv", "t,size\n0.5,1\n0.5,2\n2,9\n")]).unwrap();
    let half = S / 2;
    assert_eq!(plans.loads[0].arrivals, Some(Arrivals::Recorded([half, half, 2 * S].into())));
}

#[test]
fn queues_are_read() {
    let spec = "  queues:\n  - {name: tasks, kind: rabbitmq, messages: 7, publish: {rate: 4, arrivals: even}, consume: {by: \
                deployment/web, each: {exponential: 2s}, prefetch: 3, visibility: 1m, deliveries: 5}}\n  - {name: events, \
                kind: kafka, partitions: 4}\n";
    let (plans, notices) = read("queues", spec, &[]).unwrap();
    let tasks = &plans.queues[0];
    assert_eq!((tasks.name.as_str(), tasks.kind, tasks.messages), ("tasks", QueueKind::RabbitMq, 7));
    assert_eq!((&tasks.publish, &tasks.arrivals), (&Some(Rate::Constant(4.0)), &Some(Arrivals::Even)));
    let expected = ConsumePlan {
        by: (Kind::Deployment, "default".into(), "web".into()),
        each: Distribution::Exponential { mean_ns: 2 * S },
        prefetch: 3,
        visibility: Some(Span::from_seconds(60)),
        deliveries: Some(5),
    };
    assert_eq!(tasks.consume, Some(expected));
    assert_eq!(plans.queues[1].kind, QueueKind::Kafka { partitions: 4 });
    assert!(notices.iter().any(|notice| notice.contains("queues are read and checked")), "{notices:?}");
}

#[test]
fn mistakes_are_named_at_their_place() {
    let bad = [("bad.csv", "time,requests\n0,10\n60,-5\n")];
    for (index, (item, files, expected)) in [
        ("{to: deployment/web}", &[][..], "E0006 app.yaml:5:5 spec.load[0].rate: `rate` must be given"),
        (
            "{to: deployment/wbe, rate: 1}",
            &[],
            "E0012 app.yaml:5:10 spec.load[0].to: no file describes deployment/wbe",
        ),
        ("{to: pod/web, rate: 1}", &[], "E0005 app.yaml:5:10 spec.load[0].to: a Pod serves no requests"),
        (
            "{to: deployment/web, rate: -1}",
            &[],
            "E0005 app.yaml:5:32 spec.load[0].rate: must not be negative: -1",
        ),
        (
            "{to: deployment/web, rate: 10 + x}",
            &[],
            "E0005 app.yaml:5:32 spec.load[0].rate: unknown name `x` (at character 6)",
        ),
        (
            "{to: deployment/web, rate: {gausian: {peak: 3}}}",
            &[],
            "E0004 app.yaml:5:33 spec.load[0].rate.gausian: unknown field `gausian`",
        ),
        (
            "{to: deployment/web, rate: {steps: [{at: 1m, rate: 1}, {at: 1m, rate: 2}]}}",
            &[],
            "E0005 app.yaml:5:40 spec.load[0].rate.steps: point 2: the same time twice",
        ),
        (
            "{to: deployment/web, rate: {noise: {of: 1, sd: 1, every: 0s}}}",
            &[],
            "E0005 app.yaml:5:62 spec.load[0].rate.noise.every: must be longer than 0s",
        ),
        (
            "{to: deployment/web, rate: 1, arrivals: {modulated: {calm: 1s, busy: 1s, factor: 3}}}",
            &[],
            "E0005 app.yaml:5:57 spec.load[0].arrivals.modulated: factor must lie between 1 and (calm + busy) / busy = 2",
        ),
        (
            "{to: deployment/web, rate: {file: bad.csv}}",
            &bad,
            "E0025 bad.csv:3:4 : requests: `-5` is no rate: it is negative",
        ),
        (
            "{to: deployment/web, rate: {file: ../bad.csv}}",
            &bad,
            "E0021 app.yaml:5:39 spec.load[0].rate.file: `../bad.csv` lies outside the scenario's folder",
        ),
        (
            "{to: deployment/web, rate: 1, arrivals: {log: bad.csv}}",
            &bad,
            "E0019 app.yaml:5:32 spec.load[0].rate: recorded requests have no rate of their own",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let problems = read(&format!("mistake-{index}"), &format!("  load:\n  - {item}\n"), files).unwrap_err();
        assert_eq!(problems, [expected], "{item}");
    }
    let twice = "  load:\n  - {to: deployment/web, rate: 1}\n  - {to: deployment/web, rate: 2}\n";
    let problems = read("twice", twice, &[]).unwrap_err();
    assert_eq!(problems, ["E0023 app.yaml:6:5 spec.load[1]: the name `deployment-web` is taken"]);
}

/// The world at the end of a minute or more of this spec, with one web pod of half a core unless the text says otherwise.
fn ran(name: &str, spec: &str) -> crate::sim::World {
    let manifest = WEB.replace("image: web", "image: web, resources: {limits: {cpu: 500m}}");
    let text = format!("apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n{spec}{manifest}");
    let folder = Folder::new(&format!("loads-{name}"), &[("app.yaml", &text)]);
    let loaded = load(&[folder.path().join("app.yaml")], &Overrides::default()).unwrap_or_else(|why| panic!("{why}"));
    let mut world = crate::sim::World::new(std::sync::Arc::new(loaded.plans[0].clone())).expect("a world");
    world.run(&mut crate::sim::NoObserver);
    world
}

/// CPU of the one pod in core-seconds.
fn cpu_seconds(world: &crate::sim::World) -> f64 {
    let pod = world.api().truth().iter(Kind::Pod).find_map(|object| object.as_pod()).expect("a pod");
    world.container_usage(&pod.meta.uid, 0).expect("it runs").cpu_ns as f64 / 1e9
}

#[test]
fn a_rate_is_served_by_ready_pods() {
    // 2 requests a second of 100 ms for 10 minutes. The pod is ready within seconds; until then requests fail. 200 m of
    // 500 m: nothing waits. CPU: 0.2 x served/2 + 10 m idle for at most 600 s.
    let spec = "  duration: 10m\n  containers: [{of: deployment/web, cpu: {perRequest: 100ms, idle: 10m}}]\n  load: [{to: \
                deployment/web, rate: 2}]\n";
    let world = ran("served", spec);
    let (name, counts, latencies) = world.load_results().next().unwrap();
    assert_eq!((name, latencies.is_none()), ("deployment-web", true));
    assert!((counts.arrived - 1_200.0).abs() < 2.1, "{counts:?}");
    assert!(counts.failed > 0.0 && counts.failed < 30.0, "{counts:?}");
    assert!((counts.served + counts.failed - counts.arrived).abs() < 1e-6, "{counts:?}");
    let cpu = cpu_seconds(&world);
    assert!((cpu - counts.served * 0.1 - 6.0).abs() < 0.2, "{cpu}");
}

#[test]
fn an_overload_waits_and_fails() {
    // 10 a second of 100 ms on half a core: 5 are served; clients wait 2 s, so 10 wait and the rest fails.
    let spec = "  duration: 10m\n  containers: [{of: deployment/web, cpu: {perRequest: 100ms}}]\n  load: [{to: deployment/web, \
                rate: 10, timeout: 2s}]\n";
    let world = ran("overload", spec);
    let counts = world.load_results().next().unwrap().1;
    let waiting = counts.arrived - counts.served - counts.failed;
    assert!((waiting - 10.0).abs() < 1e-6, "{counts:?}");
    // Half a core for nearly 600 s.
    assert!((cpu_seconds(&world) - 300.0).abs() < 6.0 && (counts.served / 5.0 - 600.0).abs() < 12.0, "{counts:?}");
}

#[test]
fn both_grains_of_a_load_agree_in_a_run() {
    let spec = |arrivals: &str| {
        format!(
            "  duration: 20m\n  containers: [{{of: deployment/web, cpu: {{perRequest: 50ms, idle: 10m}}}}]\n  load: [{{to: \
             deployment/web, rate: 4{arrivals}}}]\n"
        )
    };
    let (fluid, single) = (ran("fluid", &spec("")), ran("single", &spec(", arrivals: poisson")));
    let [one, other] = [&fluid, &single].map(|world| world.load_results().next().unwrap().1);
    // 4,800 requests: a Poisson count has a deviation of 69, and so has its CPU by 1.4 %.
    assert!((one.arrived - other.arrived).abs() < 280.0, "{one:?} {other:?}");
    let (fluid_cpu, single_cpu) = (cpu_seconds(&fluid), cpu_seconds(&single));
    assert!((single_cpu - 12.0) / other.served < 0.0502 && (single_cpu - 12.0) / other.served > 0.0498);
    assert!((fluid_cpu - 12.0 - one.served * 0.05).abs() < 0.2, "{fluid_cpu}");
    // Half a core: a request takes 100 ms and more, when others are before it.
    let latencies = single.load_results().next().unwrap().2.unwrap().clone();
    assert!(latencies.quantile_ns(0.01).unwrap() >= 99_000_000 && latencies.quantile_ns(0.99).unwrap() > 150_000_000);
}

#[test]
fn load_changes_no_other_luck_and_repeats() {
    let with = "  duration: 2m\n  load: [{to: deployment/web, rate: {noise: {of: 5, sd: 0.3, every: 5s}}, arrivals: poisson}]\n";
    let (one, other, without) = (ran("same-1", with), ran("same-2", with), ran("same-3", "  duration: 2m\n"));
    assert_eq!(one.load_results().next().unwrap().1, other.load_results().next().unwrap().1);
    let written = |world: &crate::sim::World| (world.api().truth().revision(), world.api().truth().last_write());
    assert_eq!(written(&one), written(&without));
}

#[test]
fn requests_that_take_no_time_are_named() {
    let notices = |name: &str, of: &str, arrivals: &str| {
        let spec = format!(
            "  containers:\n  - of: {of}\n    cpu: {{perRequest: 80ms}}\n  load:\n  - {{to: deployment/web, rate: 5{arrivals}}}\n"
        );
        let (_, notices) = read(name, &spec, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
        notices.iter().filter(|notice| notice.contains("these requests take no time")).count()
    };
    // The same object in both places; and requests as a rate, whose cost is the pod's own.
    assert_eq!(notices("known", "deployment/web", ", arrivals: poisson"), 0);
    assert_eq!(notices("fluid", "deployment/web", ""), 0);
    let nothing = "  load:\n  - {to: deployment/web, rate: 5, arrivals: even}\n";
    let (_, found) = read("unknown", nothing, &[]).unwrap();
    assert!(found.iter().any(|notice| notice.contains("these requests take no time")), "{found:?}");
}

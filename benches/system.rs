//! The whole-system recordings as a benchmark: CPU seconds for the simulated seconds of the cases that can be replayed, only
//! the runs timed, every record taken.
//!
//! Aim: 160,000 times real time over all of them (the real code: 1,600). `cargo bench --bench system`.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use kubesim::model::Record;
use kubesim::sim::{Observer, Plan, World, lockstep};

/// Families of which some cases can be replayed.
const FAMILIES: [&str; 7] = ["deployment", "rollout", "conflicts", "crash", "watch-faults", "api-errors", "mixed"];
/// How often all cases are run; the fastest round counts.
const ROUNDS: usize = 10;

/// Takes every record.
#[derive(Default)]
struct Counter {
    records: u64,
}

impl Observer for Counter {
    fn record(&mut self, record: &Record) {
        self.records += 1;
        std::hint::black_box(record);
    }
}

fn plans() -> Vec<(String, f64, Arc<Plan>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/e2e");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let mut plans = Vec::new();
    for line in files.flat_map(|path| fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
    {
        let case: serde_json::Value = serde_json::from_str(&line).unwrap();
        // What has components, actions or faults that are not there yet is left out.
        let family = case["family"].as_str().unwrap_or_default().to_string();
        if !FAMILIES.contains(&family.as_str()) {
            continue;
        }
        if let Ok(plan) = lockstep::plan_of_system_case(&case) {
            plans.push((family, case["input"]["until"].as_f64().unwrap_or_default(), Arc::new(plan)));
        }
    }
    plans
}

fn main() {
    // `cargo test` runs every bench once with this argument.
    let rounds = if std::env::args().any(|argument| argument == "--test") { 1 } else { ROUNDS };
    let plans = plans();
    let simulated: f64 = plans.iter().map(|(_, until, _)| until).sum();
    let mut fastest = f64::INFINITY;
    let (mut events, mut records) = (0, 0);
    let mut by_family: Vec<(String, f64, f64)> = Vec::new();
    for _ in 0..rounds {
        let mut total = 0.0;
        (events, records) = (0, 0);
        by_family.clear();
        for (family, until, plan) in &plans {
            let mut world = World::new(plan.clone()).unwrap();
            let mut counter = Counter::default();
            let begun = Instant::now();
            world.run(&mut counter);
            let seconds = begun.elapsed().as_secs_f64();
            total += seconds;
            events += world.counters().events;
            records += counter.records;
            match by_family.iter_mut().find(|(known, ..)| known == family) {
                Some((_, simulated, spent)) => (*simulated, *spent) = (*simulated + until, *spent + seconds),
                None => by_family.push((family.clone(), *until, seconds)),
            }
        }
        fastest = fastest.min(total);
    }
    for (family, simulated, spent) in &by_family {
        println!("{family}: {simulated} s in {:.2} ms: {:.0} times real time", spent * 1e3, simulated / spent);
    }
    println!(
        "system: {} cases, {simulated} simulated s, {events} events, {records} records in {:.2} ms: {:.0} times real time",
        plans.len(),
        fastest * 1e3,
        simulated / fastest,
    );
}

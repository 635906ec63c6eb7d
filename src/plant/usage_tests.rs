use super::*;

const MS: i64 = 1_000_000;
const MIB: i64 = 1 << 20;

fn at(seconds: i64) -> Time {
    Time(seconds * SECOND_NS)
}

/// 80 ms of CPU a request, idling at 5 m, a whole core in the first 20 s.
fn web() -> Demand {
    let at_start = Some(StartBurst { milli: 1_000, duration_ns: 20 * SECOND_NS });
    let cpu = CpuDemand { per_request_ns: 80 * MS, idle_milli: 5, at_start };
    let memory = MemoryDemand { base_bytes: 120 * MIB, per_request_bytes: 2 * MIB, leak: None, sawtooth: None };
    Demand { cpu, memory, ..Demand::default() }
}

fn cpu(milli: i64) -> Limits {
    Limits { cpu_milli: Some(milli), memory_bytes: None }
}

#[test]
fn cpu_is_the_sum_of_idling_starting_and_requests() {
    // 30 s: idle 0.005 x 30 = 0.15 core-s, start 1 x 20 = 20, 60 requests x 0.08 = 4.8: 24.95.
    let mut meter = Meter::new(web(), Limits::default(), at(100));
    let outcome = meter.advance(at(130), 60.0, None);
    assert!((outcome.served - 60.0).abs() < 1e-9);
    assert_eq!((meter.reading().cpu_ns + 500) / 1_000, 24_950_000);
    // Looking more often changes nothing.
    let mut often = Meter::new(web(), Limits::default(), at(100));
    for second in 1..=30 {
        often.advance(at(100 + second), 2.0, None);
    }
    assert!((often.cpu_ns - meter.cpu_ns).abs() < 10.0);
}

#[test]
fn a_limit_throttles_and_what_is_held_back_waits_or_fails() {
    // After the start a limit of 405 m leaves 400 m: 5 requests a second. 8 a second come for 10 s: 50 served, 30 wait.
    let plain = Demand { cpu: CpuDemand { at_start: None, ..web().cpu }, ..web() };
    let mut meter = Meter::new(plain.clone(), cpu(405), at(0));
    let outcome = meter.advance(at(10), 80.0, None);
    assert!((outcome.served - 50.0).abs() < 1e-9 && (outcome.waiting - 30.0).abs() < 1e-9, "{outcome:?}");
    assert_eq!(meter.reading().cpu_ns, 4_050_000_000);
    assert_eq!(outcome.throttled_ns, 1e10);
    // Nothing comes any more: 30 are worked off in 6 s of the next 10.
    let outcome = meter.advance(at(20), 0.0, None);
    assert!((outcome.served - 30.0).abs() < 1e-9 && outcome.waiting < 1e-9, "{outcome:?}");
    // Clients who wait 2 s leave 10 waiting: 20 have failed.
    let mut meter = Meter::new(plain, cpu(405), at(0));
    let outcome = meter.advance(at(10), 80.0, Some(Span::from_seconds(2)));
    assert!((outcome.waiting - 10.0).abs() < 1e-9 && (outcome.failed - 20.0).abs() < 1e-9, "{outcome:?}");
}

#[test]
fn starting_takes_the_cpu_that_requests_would_need() {
    // Limit 1 core: the start takes all of it for 20 s (1.005 are wanted), then 995 m serve 12.4375 a second.
    let mut meter = Meter::new(web(), cpu(1_000), at(0));
    let outcome = meter.advance(at(20), 100.0, None);
    assert_eq!((outcome.served, outcome.waiting, outcome.cpu_ns), (0.0, 100.0, 2e10));
    let outcome = meter.advance(at(24), 0.0, None);
    assert!((outcome.served - 4.0 * 12.4375).abs() < 1e-9);
}

#[test]
fn concurrency_bounds_requests_that_mostly_wait() {
    // 2 at once, 500 ms each (80 ms of it CPU): 4 a second; 0.32 core + idle.
    let demand = Demand { takes_ns: 500 * MS, concurrency: Some(2), ..web() };
    assert_eq!(capacity_per_second(&demand, &Limits::default(), 5), 4.0);
    assert_eq!(capacity_per_second(&demand, &cpu(165), 5), 2.0);
    assert_eq!(capacity_per_second(&web(), &Limits::default(), 5), f64::INFINITY);
}

#[test]
fn memory_follows_its_models() {
    let growth = |bytes, seconds| Some(Growth { bytes, every_ns: seconds * SECOND_NS });
    let base = MemoryDemand { base_bytes: 100, ..MemoryDemand::default() };
    for (memory, in_flight, age_s, bytes) in [
        (base, 5.0, 1_000, 100),
        (MemoryDemand { per_request_bytes: 10, ..base }, 2.5, 1_000, 125),
        // A leak of 60 an hour: 90 minutes are 90.
        (MemoryDemand { leak: growth(60, 3_600), ..base }, 0.0, 5_400, 190),
        // A tooth of 40 every 20 s: at 35 s 15 s into the second: 30.
        (MemoryDemand { sawtooth: growth(40, 20), ..base }, 0.0, 35, 130),
        (MemoryDemand { sawtooth: growth(40, 20), ..base }, 0.0, 40, 100),
    ] {
        assert_eq!(memory_bytes(&memory, in_flight, age_s * SECOND_NS), bytes, "{memory:?}");
    }
    // 10 a second for 80 ms each are 0.8 in flight: 120 + 1.6 MiB. A limit of 121 MiB is too little.
    let limits = Limits { cpu_milli: None, memory_bytes: Some(121 * MIB) };
    let mut meter = Meter::new(web(), limits, at(0));
    assert!(!meter.is_out_of_memory());
    meter.advance(at(30), 300.0, None);
    assert_eq!(meter.reading().memory_bytes, 120 * MIB + (1.6 * MIB as f64) as i64);
    assert!(meter.is_out_of_memory());
}

#[test]
fn requests_are_shared_out_among_ready_pods() {
    let mut usage = Usage::default();
    let pods = ["a", "b"].map(Uid::from);
    pods.iter().for_each(|uid| usage.start(uid, 0, web(), Limits::default(), at(0)));
    let outcome = usage.share_out(&pods[..1], at(60), 10.0, None);
    assert!((outcome.served - 10.0).abs() < 1e-9);
    let outcome = usage.share_out(&pods, at(120), 10.0, None);
    assert!((outcome.served - 10.0).abs() < 1e-9);
    // a: 120 s idle 0.6, start 20, 15 requests 1.2. b was not looked at before; its 5 requests came in 120 s: 0.4.
    let read = |uid| usage.read(uid, 0).map(|reading| (reading.cpu_ns + 500) / 1_000);
    assert_eq!([read(&pods[0]), read(&pods[1])], [Some(21_800_000), Some(21_000_000)]);
    assert_eq!(usage.share_out(&[], at(180), 7.0, None).failed, 7.0);
    assert_eq!((usage.stop(&pods[0], 0), usage.read(&pods[0], 0)), (0.0, None));
    // A pod that does not run serves nobody.
    assert_eq!(usage.share_out(&pods[..1], at(180), 7.0, None).failed, 7.0);
}

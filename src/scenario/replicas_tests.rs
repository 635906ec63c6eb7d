//! Mistakes in replicas, elections, clocks and faults of hosts, each with its place and a way out.

use super::tests::check;

#[test]
fn mistakes_in_replicas_and_clocks() {
    check(
        "replicas",
        "  controlPlane:\n    scheduler: {replicas: 0, clocks: [{offset: 1, rate: 0, monotonic: 1}, {rat: 2}]}\n    controllerManager: {replicas: two}\n",
        &[
            "E0005 5:27 spec.controlPlane.scheduler.replicas: must be a whole number from 1 to 100, not 0",
            "E0005 5:48 spec.controlPlane.scheduler.clocks[0].offset: must be a duration, not 1 (durations are written as Go writes them: 250ms, 1h30m, -30s)",
            "E0005 5:57 spec.controlPlane.scheduler.clocks[0].rate: must be a rate between 0.001 and 1000, not 0 (1 is the true rate, 1.1 gains 6 s a minute)",
            "E0005 5:71 spec.controlPlane.scheduler.clocks[0].monotonic: must be true or false, not 1",
            "E0004 5:76 spec.controlPlane.scheduler.clocks[1].rat: unknown field `rat` (did you mean `rate`?)",
            "E0005 6:35 spec.controlPlane.controllerManager.replicas: must be a whole number from 1 to 100, not \"two\"",
        ],
    );
    check(
        "clocks",
        "  controlPlane:\n    scheduler: {clocks: [{}, {}]}\n    controllerManager: {replicas: 2, clocks: [{}, {}, {}]}\n",
        &[
            "E0019 5:25 spec.controlPlane.scheduler.clocks: 2 clocks for 1 replica (give one for each replica, in order, or fewer)",
            "E0019 6:46 spec.controlPlane.controllerManager.clocks: 3 clocks for 2 replicas (give one for each replica, in order, or fewer)",
        ],
    );
}

#[test]
fn mistakes_in_elections() {
    check(
        "election",
        "  controlPlane:\n    scheduler:\n      leaderElection: {leaseDuration: 10s, caches: hot, stopHook: -1s, leaseDuratoin: 1s, resourceName: A_b, leaderElect: 1}\n",
        &[
            "E0019 6:39 spec.controlPlane.scheduler.leaderElection.leaseDuration: leaseDuration must be greater than renewDeadline (leaseDuration, renewDeadline and retryPeriod are 10s, 10s and 2s)",
            "E0005 6:52 spec.controlPlane.scheduler.leaderElection.caches: unknown value \"hot\" (known here: cold, warm)",
            "E0005 6:67 spec.controlPlane.scheduler.leaderElection.stopHook: must not be negative: \"-1s\"",
            "E0004 6:72 spec.controlPlane.scheduler.leaderElection.leaseDuratoin: unknown field `leaseDuratoin` (did you mean `leaseDuration`?)",
            "E0023 6:105 spec.controlPlane.scheduler.leaderElection.resourceName: `A_b` is not a name (names have lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit)",
            "E0005 6:123 spec.controlPlane.scheduler.leaderElection.leaderElect: must be true or false, not 1",
        ],
    );
    let help = "(leaseDuration, renewDeadline and retryPeriod are 15s, 10s and";
    for (period, told) in [
        // 1.2 x 9 s = 10.8 s is above the default renew deadline of 10 s.
        ("9s", format!("renewDeadline must be greater than retryPeriod*JitterFactor (1.2) {help} 9s)")),
        ("0s", format!("retryPeriod must be greater than zero {help} 0s)")),
    ] {
        let text = format!("  controlPlane:\n    scheduler: {{leaderElection: {{retryPeriod: {period}}}}}\n");
        let told = format!("E0019 5:47 spec.controlPlane.scheduler.leaderElection.retryPeriod: {told}");
        check("times", &text, &[&told]);
    }
    // Replicas that do not elect may say what they like.
    let off =
        "  controlPlane:\n    scheduler: {replicas: 2, leaderElection: {leaderElect: false, leaseDuration: 1s}}\n";
    check("off", off, &[]);
}

#[test]
fn mistakes_in_faults_of_hosts() {
    check(
        "pause",
        "  controlPlane: {scheduler: {replicas: 2}}\n  faults:\n    - {at: 1m, pause: kube-scheduler}\n    - {at: 1m, duration: 5s, pause: kube-controller-manager/replicaset}\n    - {at: 1m, duration: 5s, pause: kube-shceduler/leader}\n    - {at: 1m, duration: 5s, pause: kube-scheduler/laeder}\n",
        &[
            "E0006 6:23 spec.faults[0].pause: a pause needs a `duration` (give the fault a `duration`; a process that never comes back is one that is killed)",
            "E0013 7:37 spec.faults[1].pause: `replicaset` shares the host of its process (write `kube-controller-manager`)",
            "E0013 8:37 spec.faults[2].pause: no process `kube-shceduler` runs in this scenario (did you mean `kube-scheduler`?)",
            "E0013 9:37 spec.faults[3].pause: `kube-scheduler` has no component `laeder` (did you mean `leader`?)",
        ],
    );
    check(
        "clock",
        "  controlPlane: {scheduler: {replicas: 2}}\n  faults:\n    - {at: 1m, clock: {of: kube-scheduler#1}}\n    - {at: 1m, clock: {step: soon}}\n    - {at: 1m, clock: {of: kube-scheduler, rate: 2000}}\n    - {at: 1m, clock: {of: kube-scheduler/scheduler, stpe: 1s, step: 1s}}\n",
        &[
            "E0006 6:23 spec.faults[0].clock: `step` or `rate` must be given (for example `step: 1h`, or `rate: 1.1` with a `duration`)",
            "E0006 7:16 spec.faults[1].clock.of: `of` must be given",
            "E0005 7:30 spec.faults[1].clock.step: must be a duration, not \"soon\" (durations are written as Go writes them: 250ms, 1h30m, -30s)",
            "E0005 8:50 spec.faults[2].clock.rate: must be a rate between 0.001 and 1000, not 2000 (1 is the true rate, 1.1 gains 6 s a minute)",
            "E0013 9:28 spec.faults[3].clock.of: `scheduler` shares the host of its process (write `kube-scheduler`)",
            "E0004 9:54 spec.faults[3].clock.stpe: unknown field `stpe` (did you mean `step`?)",
        ],
    );
    check(
        "number",
        "  controlPlane: {scheduler: {replicas: 2}}\n  faults: [{at: 1m, duration: 5s, pause: kube-scheduler#2}]\n",
        &["E0013 5:12 spec.faults[0]: `kube-scheduler` has 2 replicas: there is no #2 (replicas are numbered from 0)"],
    );
}

#[test]
fn mistakes_in_histograms() {
    check(
        "histograms",
        "  sweep:\n    histograms:\n      - {of: leader_overlap}\n      - {lines: []}\n      - {of: leader_overlap_seconds_max, lines: [{at: 1s, label: x}, {at: 1}]}\n      - {of: requests_total, line: 1}\n",
        &[
            "E0005 6:14 spec.sweep.histograms[0].of: unknown value \"leader_overlap\" (did you mean `leader_overlap_seconds`?)",
            "E0006 7:9 spec.sweep.histograms[1].of: `of` must be given",
            "E0005 8:55 spec.sweep.histograms[2].lines[0].at: must be a number, not \"1s\"",
            "E0006 8:70 spec.sweep.histograms[2].lines[1].label: `label` must be given",
            "E0004 9:30 spec.sweep.histograms[3].line: unknown field `line` (did you mean `lines`?)",
        ],
    );
}

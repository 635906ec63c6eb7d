//! Documents that, together, use every word of the format: readers are led over them to learn what they ask for.
//!
//! A word that no document here uses has no type in the schema; a test names it.

/// The documents. They need not make sense as a whole: references are not followed.
pub const SAMPLES: &[&str] = &[
    r#"
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: sample, labels: {a: b}, annotations: {a: b}}
spec:
  kubernetesVersion: "1.36"
  startAt: 2026-01-01T00:00:00Z
  seed: 7
  replication: 3
  eventBudget: 1000
  duration: 30m
  until: 20m
  files: {more.yaml: []}
  include: [more.yaml]
  nodes:
  - count: 3
    name: node
    cpu: 4
    memory: 16Gi
    pods: 110
    labels: {topology.kubernetes.io/zone: a}
    taints: ["gpu=true:NoSchedule", {key: gpu, value: "true", effect: NoSchedule}]
    conditions: {Ready: "False", MemoryPressure: true, DiskPressure: "True", PIDPressure: "True", NetworkUnavailable: "True"}
  - conditions: {Ready: true, MemoryPressure: "False", DiskPressure: true, PIDPressure: true, NetworkUnavailable: true}
  controlPlane:
    controllerManager:
      flags: ["--min-resync-period=5m"]
      client: {timeout: 10s}
      reconcileTime: {replicaset: 1ms, deployment: 1ms}
      replicas: 3
      leaderElection: &election
        leaderElect: true
        leaseDuration: 15s
        renewDeadline: 10s
        retryPeriod: 2s
        resourceName: lock
        resourceNamespace: kube-system
        releaseOnCancel: true
        caches: warm
        stopHook: 3s
        restartAfter: 5s
      clocks: &clocks
      - {offset: -1h, rate: 1.5, monotonic: false}
    scheduler:
      flags: ["--kube-api-qps=5"]
      client: {timeout: 10s}
      cycleTime: {base: 1ms, perNodeFiltered: 1us, perNodeScored: 1us}
      replicas: 3
      leaderElection: *election
      clocks: *clocks
    apiServer:
      request: 2ms
      latencyByVerb: {get: 1ms, list: 1ms, watch: 1ms, create: 1ms, update: 1ms, patch: 1ms, delete: 1ms}
      commit: 5ms
      reply: 2ms
      watch: 5ms
      flags: ["--max-requests-inflight=400"]
      replicas: 2
      capacity:
        work: 1ms
        workByVerb: {get: 1ms, list: 1ms, watch: 1ms, create: 1ms, update: 1ms, patch: 1ms, delete: 1ms}
        executors: 4
        contention: 0.1
      lag: [0s, 1s]
  containers:
  - {of: deployment/api, pull: {uniform: [2s, 5s]}, start: {lognormal: {p50: 3s, p99: 12s}}, ready: {exponential: 1s}}
  - {of: deployment/api, start: {normal: {mean: 1s, sd: 100ms}}, stop: {choice: [1s, {weight: 3, of: 2s}]}}
  - of: deployment/api
    cpu: {perRequest: 80ms, idle: 5m, atStart: {use: "1", duration: 20s}}
    memory: {base: 120Mi, perRequest: 2Mi, leak: {by: 1Mi, every: 1h}, sawtooth: {by: 50Mi, every: 1m}}
    requests: {takes: {exponential: 80ms}, concurrency: 4, queue: 100}
  load:
  - name: visitors
    to: service/api
    rate: {gaussian: {base: 20, peak: 100, at: 5m, sigma: 60s}}
    arrivals: poisson
    timeout: 1s
    retries: 2
    routing: leastConnections
  - {to: deployment/api, rate: 20, arrivals: {modulated: {calm: 1m, busy: 10s, factor: 3}}}
  - {to: deployment/api, name: log, arrivals: {log: {name: requests.csv, time: TIMESTAMP}}}
  - {to: deployment/api, name: other, arrivals: {log: requests.csv}}
  - to: deployment/api
    name: sums
    rate:
      sum:
      - constant: 3
      - 10 + 5 * sin(t / 60)
      - step: {from: 1, to: 5, at: 1m}
      - ramp: {from: 1, to: 5, at: 1m, duration: 2m}
      - steps: [{at: 0s, rate: 1}, {at: 1m, rate: 2}]
      - points: [{at: 0s, rate: 1}, {at: 1m, rate: 2}]
      - sine: {mean: 10, amplitude: 5, period: 10m, peakAt: 1m}
      - daily: {low: 1, high: 9, peakAt: 14h}
      - burst: {rate: 30, base: 1, "on": 60s, "off": 240s, from: 1m}
      - noise: {of: 5, sd: 0.1, every: 10s}
      - file: cup.csv
      - file: {name: cup.csv, time: period, column: count, per: 1m, between: lines, after: repeat, times: 0.5}
  queues:
  - {name: tasks, kind: rabbitmq, messages: 3, publish: {rate: 4, arrivals: even}, consume: {by: deployment/api, each: {exponential: 2s}, prefetch: 1, visibility: 1m, deliveries: 3}}
  - {name: events, kind: kafka, partitions: 4}
  operators:
  - name: database-operator
    of: {kind: Database, apiVersion: example.com/v1, plural: databases, namespaced: true, count: 5, namespace: shop, spec: {size: 3}}
    reconcile:
      takes: 200ms
      requests:
      - get
      - {list: pods}
      - {update-status: {phase: Ready}}
      - create: {count: 3, names: random, waitForDeletion: true, waitForCache: {timeout: 6s}, template: {kind: Pod, spec: {containers: [{name: a, image: b}]}}}
      - create: {count: spec.replicas, template: {kind: Database}}
      fails:
      - {object: database-4, probability: 0.5, from: 1m, until: 2m, error: connection refused, terminal: true}
      - {dependency: postgres, from: 1m, for: 2m}
      requeueAfter: 1m
      withoutCancel: true
    maxConcurrentReconciles: 5
    queue: priority
    rateLimiter: {base: 5ms, max: 1000s, qps: 10, burst: 100}
    adds: plain
    errorBackoff: {base: 500ms, max: 5m}
    generationChangedPredicate: true
    expectations: true
    resync: 10h
    gracefulShutdownTimeout: 30s
    client: {qps: 20, burst: 30, timeout: 10s}
    replicas: 2
    leaderElection: *election
    clocks: *clocks
  - {name: other, of: {kind: Database}, runsIn: deployment/api, reconcile: {requeue: true}}
  timeline:
  - {name: loss, at: 2m, kubectl: delete pod -l app=api, pick: 1}
  faults:
  - name: loss
    at: 1m
    duration: 2m
    dropWatchEvents:
      {to: kube-controller-manager, kind: Pod, type: DELETED, namespace: shop, name: p, selector: a=b, stage: handler, nth: 1, every: 1, count: 1, probability: 0.5}
  - {at: 1m, duplicateWatchEvents: {to: kube-scheduler, kind: Pod, type: ADDED, namespace: shop, name: p, selector: a=b, copies: 1, nth: 1, every: 1, count: 1, probability: 0.5}}
  - when: "true"
    every: 5m
    times: 3
    probability: 0.5
    delayWatch: {to: kube-scheduler, kind: Pod, type: ADDED, namespace: shop, name: p, selector: a=b, stage: handler, nth: 1, every: 1, count: 1, probability: 0.5, by: 1s}
  - at: 1m
    after: {watchEvent: {to: kube-scheduler, kind: Pod, type: ADDED, namespace: shop, name: p, selector: a=b}, nth: 1, every: 1, count: 1, probability: 0.5}
    reorderWatches: {to: kube-scheduler, kinds: [Pod], by: 1s, nth: 1, every: 1, count: 1, probability: 0.5}
  - after: {request: {from: kubelet, verb: get, kind: Pod, namespace: shop, name: p, selector: a=b}}
    cutWatch: {to: kube-scheduler}
  - {after: {request: {subresource: status}}, cutWatch: {to: kube-scheduler}}
  - {at: 1m, cutWatch: {to: kube-scheduler, kind: Pod, end: gone}}
  - {at: 1m, stallWatch: {to: kube-scheduler, kind: Pod, idleTimeout: 45s}}
  - {at: 1m, reconnect: {of: kubelet, lag: 30s, resume: true}}
  - {at: 1m, respond: {from: kubelet, verb: get, kind: Pod, namespace: shop, name: p, selector: a=b, nth: 1, every: 1, count: 1, probability: 0.5, code: 429, retryAfter: 1s, message: m}}
  - {at: 1m, respond: {subresource: status, code: 500}}
  - {at: 1m, refuseConnections: {from: kubelet, verb: get, kind: Pod, namespace: shop, name: p, selector: a=b, nth: 1, every: 1, count: 1, probability: 0.5}}
  - {at: 1m, refuseConnections: {subresource: status}}
  - {at: 1m, loseReplies: {from: kubelet, verb: get, kind: Pod, namespace: shop, name: p, selector: a=b, nth: 1, every: 1, count: 1, probability: 0.5, timeout: 1s}}
  - {at: 1m, loseReplies: {subresource: status}}
  - {at: 1m, delayReplies: {from: kubelet, verb: get, kind: Pod, namespace: shop, name: p, selector: a=b, nth: 1, every: 1, count: 1, probability: 0.5, by: 1s}}
  - {at: 1m, delayReplies: {subresource: status, by: 1s}}
  - {at: 1m, slowRequests: {from: kubelet, verb: get, kind: Pod, namespace: shop, name: p, selector: a=b, nth: 1, every: 1, count: 1, probability: 0.5, by: 1s}}
  - {at: 1m, slowRequests: {subresource: status, by: 10x}}
  - {at: 1m, partition: {of: kubelet, timeout: 1s}}
  - {at: 1m, apiServer: {down: true}}
  - {at: 1m, apiServer: {unreachable: true}}
  - {at: 1m, apiServer: {slow: 10x}}
  - {at: 1m, apiServer: {slow: 1s}}
  - {at: 1m, crash: {of: kube-scheduler, point: {before: request, nth: 1, verb: create, kind: Pod, subresource: binding, namespace: shop, name: p, selector: a=b}, nth: 1, every: 1, count: 1, probability: 0.5, restartAfter: 1s}}
  - {at: 1m, crash: {of: kube-scheduler, point: {after: request}}}
  - {at: 1m, kill: kubelet}
  - {at: 1m, kill: {of: kubelet, restartAfter: 1s}}
  - {at: 1m, kill: {of: polling-tasks, task: {namespace: default, name: a, selector: a=b, count: 1}}}
  - {at: 1m, restart: kubelet}
  - {at: 1m, restart: {of: kubelet, restartAfter: 1s}}
  - {at: 1m, oomKill: deployment/api}
  - {at: 1m, duration: 1m, pause: kube-scheduler/leader}
  - {at: 1m, clock: {of: kube-scheduler/leader, step: -1h, rate: 1.5, monotonic: false}}
  expect:
  - {name: down, in: relist, at: 3m, that: "true"}
  - {in: [base, relist], at: 4m, that: "true"}
  - {from: 3m, within: 8m, that: "true"}
  - {until: 3m, that: "true"}
  - {always: "true"}
  - {never: "false"}
  - {eventually: "true"}
  model: {resync: relist, resyncDraw: perController, assume: false, rejectedPods: pending, ties: name, controlPlane: polling}
  polling:
    task: {fires: true, takes: 98ms, dies: 0.1}
    loop: {period: 2s, takes: 98ms}
    assignment: compareAndSet
    noRoom: told
    backoff: {initial: 1s, max: 1m}
    agent: {period: 3s, offset: 0s, start: 500ms, report: 100ms}
    answer: running
    workers: 10
    timeout: 30s
    requests: {rate: 5, count: 100, arrivals: regular, cpu: 100m, memory: 64Mi}
  variants:
  - {name: relist, set: {spec.model.resync: relist}}
  sweep:
    replications: 30
    grid: {spec.seed: [1, 2]}
    minimise: [convergence_seconds]
    maximise: pods_created_total
    histograms: [{of: convergence_seconds, lines: [{at: 17, label: expected}]}]
"#,
    r#"
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
spec:
  controlPlane: {apiServer: {capacity: {requestsPerSecond: 200}}}
"#,
    r#"
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
spec:
  controlPlane: {apiServer: {latency: 2ms, capacity: 200, lag: 1s}}
  sweep: {minimise: convergence_seconds, maximise: [pods_created_total]}
"#,
];

#!/bin/sh
# 150,000 pods on 5,000 nodes, the largest cluster that Kubernetes is said to support, as a scenario on standard output.
#
# 1,500 Deployments of 100 pods; nodes of 32 CPU with room for 110 pods. 30 pods a node ask for 30 x 500m = 15 of 32 CPU, so
# every pod finds a node. Clients send as much as they like: with the defaults of 20 and 50 requests a second the pods would
# take two hours of virtual time.
cat <<'END'
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: pods-150000}
spec:
  duration: 5m
  nodes: [{count: 5000, cpu: "32", memory: 128Gi, pods: 110}]
  controlPlane:
    controllerManager: {flags: [--kube-api-qps=-1]}
    scheduler: {flags: [--kube-api-qps=-1]}
  expect:
    - {at: 5m, that: 'count("pods", "", "status.phase=Running") == 150000'}
END
for number in $(seq 1500); do
    cat <<END
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-$number}
spec:
  replicas: 100
  selector: {matchLabels: {app: web-$number}}
  template:
    metadata: {labels: {app: web-$number}}
    spec:
      containers:
        - {name: main, image: "registry.example/web:1", resources: {requests: {cpu: 500m, memory: 512Mi}}}
END
done

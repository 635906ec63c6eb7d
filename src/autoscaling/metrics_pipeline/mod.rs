//! How late an autoscaler learns what pods use: three clocks in a row, each with its own phase.
//!
//! - [`cadvisor`]: the kubelet's look at each container, every 10 to 20 s.
//! - [`metrics_server`]: scrapes all kubelets, keeps two points a container, publishes the rate between them.
//! - [`prometheus`]: scrapes series, averages over a window, behind an adapter that knows a series only after a relist.
//! - [`clock`]: when the next look is due.
//!
//! These are data structures: who owns them looks at [`clock::Clock::due`], brings the readings, and hands the last
//! *published* value to an autoscaler, with its timestamp and window, never what is true at that moment.
//!
//! Not modelled: the stretching of quiet containers' housekeeping to 15 s, duration and failure of scrapes (the owner may
//! leave a node out of a scrape), summary API against `/metrics/resource`.
//!
//! Upstream: github.com/google/cadvisor manager/container.go; kubernetes-sigs/metrics-server pkg/storage;
//! prometheus/prometheus promql/functions.go; kubernetes-sigs/prometheus-adapter pkg/custom-provider.

pub mod cadvisor;
pub mod clock;
pub mod metrics_server;
pub mod prometheus;

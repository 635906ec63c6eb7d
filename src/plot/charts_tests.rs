//! Tests of the charts of a run, on made-up series of a lost watch event.

use super::*;
use crate::plot::{png, svg};

/// A Deployment of 3; a pod is deleted at 120 s, its event is lost, and the cache is healed at `healed` (or never).
fn lost_event(variant: &str, healed: Option<f64>) -> ChartData {
    let mut data = ChartData { variant: variant.to_string(), ..ChartData::default() };
    let mut add = |metric: &str, labels: &[(&str, &str)], points: &[(f64, f64)]| {
        data.series.insert(SeriesKey::new(metric, labels), points.to_vec());
    };
    let end = 1_800.0;
    let mut stored = vec![(0.0, 0.0), (0.1, 3.0), (120.0, 2.0)];
    let mut stale = vec![(0.0, 0.0), (120.0, 0.0)];
    match healed {
        Some(at) => {
            stored.push((at, 3.0));
            stale.extend([(at, at - 120.0), (at, 0.0), (end, 0.0)]);
        }
        None => stale.push((end, end - 120.0)),
    }
    for (kind, name) in [("deployment", "api"), ("replicaset", "api-7d4b9c8f6")] {
        let (desired, status, ready) = match kind {
            "deployment" => (DEPLOYMENT_DESIRED, DEPLOYMENT_STATUS, DEPLOYMENT_READY),
            _ => (REPLICASET_DESIRED, REPLICASET_STATUS, REPLICASET_READY),
        };
        add(desired, &[("namespace", "default"), (kind, name)], &[(0.0, 3.0), (end, 3.0)]);
        add(status, &[("namespace", "default"), (kind, name)], &[(0.0, 0.0), (3.5, 3.0), (end, 3.0)]);
        add(ready, &[("namespace", "default"), (kind, name)], &[(0.0, 0.0), (3.6, 3.0), (end, 3.0)]);
        let labels = [("kind", kind), ("namespace", "default"), ("name", name)];
        add(PODS_STORED, &labels, &stored);
        add(PODS_CACHED, &labels, &[(0.0, 0.0), (0.2, 3.0), (end, 3.0)]);
    }
    for (queue, depth) in [("deployment", 1.0), ("replicaset", 4.0), ("node_lifecycle", 0.0)] {
        let points = [(0.0, 0.0), (0.1, depth), (0.3, 0.0), (300.0, depth), (301.0, 0.0), (end, 0.0)];
        add(QUEUE_DEPTH, &[("name", queue)], &points);
    }
    for node in ["node-1", "node-2"] {
        add(RUNNING_PODS, &[("node", node)], &[(0.0, 0.0), (3.5, 2.0), (120.0, 1.0), (end, 1.0)]);
    }
    add(PENDING_PODS, &[("queue", "unschedulable")], &[(0.0, 0.0), (0.1, 1.0), (300.0, 0.0), (end, 0.0)]);
    add(PENDING_PODS, &[("queue", "gated")], &[(0.0, 0.0), (end, 0.0)]);
    for (process, kind) in [("kube-controller-manager", "ReplicaSet"), ("kube-scheduler", "Pod")] {
        add(STALENESS, &[("process", process), ("kind", kind)], &[(0.0, 0.0), (end, 0.0)]);
    }
    add(STALENESS, &[("process", "kube-controller-manager"), ("kind", "Pod")], &stale);
    let label = "dropWatchEvents Pod DELETED to kube-controller-manager/replicaset".to_string();
    data.spans.push(FaultSpan { from: 60.0, to: 180.0, label });
    let label = "kubectl delete pod -l app=api --grace-period=0 --force".to_string();
    data.marks.push(Mark { at: 120.0, label });
    data
}

/// With KUBESIM_CHART_DIR the charts are left there, to be looked at.
fn draw_all(stem: &str, data: &[ChartData]) {
    let renderer = png::Renderer::default();
    let charts = run_charts("dropped-watch-event, seed 0", data);
    assert_eq!(charts.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["replicas", "pods", "queues", "staleness"]);
    for (name, chart) in charts {
        let text = svg::draw(&chart);
        let image = renderer.png(&text).expect("our SVG renders");
        assert!(image.len() > 10_000, "{name} is not empty paper");
        if let Some(folder) = std::env::var_os("KUBESIM_CHART_DIR") {
            let file = std::path::Path::new(&folder).join(format!("{stem}-{name}"));
            std::fs::write(file.with_extension("svg"), &text).expect("writable");
            std::fs::write(file.with_extension("png"), &image).expect("writable");
        }
    }
}

#[test]
fn the_charts_of_one_run_draw() {
    draw_all("one", &[lost_event("", Some(300.0))]);
}

#[test]
fn the_charts_of_variants_draw() {
    let variants = [("handler", Some(300.0)), ("store", None), ("relist", Some(600.0))];
    draw_all("variants", &variants.map(|(variant, healed)| lost_event(variant, healed)));
}

#[test]
fn a_crowded_chart_draws() {
    let mut data = lost_event("", Some(300.0));
    data.marks.clear();
    for n in 0..9_u32 {
        let label = format!("kubectl scale deployment/checkout-service-{n} --replicas={n} -n production");
        data.marks.push(Mark { at: f64::from(n * n) * 25.0, label });
        let name = format!("a-controller-with-a-rather-long-name-{n}");
        let depth = |second: u32| f64::from((second * (n + 3)) % (700 * (n + 1)));
        let points = (0..1_800).map(|second| (f64::from(second), depth(second))).collect();
        data.series.insert(SeriesKey::new(QUEUE_DEPTH, &[("name", &name)]), points);
    }
    draw_all("crowded", &[data]);
}

#[test]
fn a_panel_shows_what_is_desired_stored_and_believed() {
    let chart = replicas("x", &[lost_event("", None)]);
    let titles: Vec<&str> = chart.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["deployment/api", "replicaset/api-7d4b9c8f6"]);
    let last: Vec<f64> = chart.panels[0].series.iter().map(|series| series.points.last().expect("points").1).collect();
    assert_eq!(last, [3.0, 2.0, 3.0, 3.0, 3.0]);
}

#[test]
fn the_time_axis_goes_on_while_anything_changes() {
    let mut data = lost_event("", Some(300.0));
    data.series.insert(SeriesKey::new("apiserver_request_total", &[]), vec![(0.0, 1.0), (3_000.0, 2.0)]);
    assert!(run_charts("x", &[data]).iter().all(|(_, chart)| chart.length_s == 3_000.0));
}

#[test]
fn lines_end_where_their_run_ends() {
    let run = |length_s| ChartData { length_s, ..lost_event("", Some(300.0)) };
    let charts = run_charts("x", &[run(2_000.0), run(2_500.0)]);
    for (_, chart) in &charts {
        assert_eq!(chart.length_s, 2_500.0);
        for (panel, end) in chart.panels.iter().zip([2_000.0, 2_500.0]) {
            for series in &panel.series {
                let (at, value) = series.points.last().expect("points");
                assert!(*at == end && value.is_nan(), "{}", series.name);
            }
        }
    }
}

#[test]
fn a_run_in_which_nothing_goes_on_happening_is_shown_to_its_last_change() {
    let mut data = lost_event("", Some(300.0));
    data.spans.clear();
    data.length_s = 1_800.0;
    // Keys wait until 301 s: charts end at 1.25 * 301 = 376.25 s.
    for (name, chart) in run_charts("x", &[data.clone()]) {
        assert_eq!(chart.window, Some((0.0, 377.0)), "{name}");
        assert!(chart.subtitle.ends_with("nothing changes after 301 s of 1800"), "{}", chart.subtitle);
    }
    data.marks.push(Mark { at: 1_000.0, label: "late".to_string() });
    assert!(run_charts("x", &[data]).iter().all(|(_, chart)| chart.window.is_none()));
}

#[test]
fn fresh_caches_and_workloads_without_pods_have_no_chart() {
    let mut data = lost_event("", Some(300.0));
    for (key, points) in &mut data.series {
        let is_behind = key.metric == STALENESS;
        points.iter_mut().for_each(|point| point.1 = if is_behind { 0.005 } else { 0.0 });
    }
    assert!(run_charts("x", &[data]).is_empty());
}

#[test]
fn what_is_left_out_is_said() {
    let variants: Vec<ChartData> = (0..10).map(|n| lost_event(&format!("v{n}"), None)).collect();
    let chart = replicas("x", &variants);
    assert_eq!(chart.panels.len(), MOST_PANELS);
    // Of several variants only Deployments are drawn: 1 Deployment * 10 variants = 10 panels, 6 shown.
    assert!(chart.panels.iter().all(|panel| panel.title.starts_with("deployment/api")));
    assert!(chart.note.contains("4 more"), "{}", chart.note);

    let mut many = ChartData::default();
    for n in 0..11 {
        let key = SeriesKey::new(QUEUE_DEPTH, &[("name", &format!("q{n:02}"))]);
        many.series.insert(key, vec![(0.0, f64::from(n)), (10.0, 0.0)]);
    }
    let chart = queues("x", &[many]);
    // Peaks 1 to 10 (the one that stays at 0 is not drawn): 3 to 10 are shown, the highest of the rest is 2.
    assert_eq!(chart.panels[0].series.len(), MOST_SERIES);
    assert_eq!(chart.panels[0].series[0].name, "q03");
    assert!(chart.note.contains("2 more, none ever above 2."), "{}", chart.note);
}

#[test]
fn pods_of_all_nodes_are_added_and_empty_queues_left_out() {
    let chart = pods("x", &[lost_event("", None)]);
    let names: Vec<&str> = chart.panels[0].series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["running", "in the scheduler: unschedulable"]);
    // Two nodes: 0 + 0, 2 + 2, 1 + 1; the last point ends the line.
    assert_eq!(chart.panels[0].series[0].points[..3], [(0.0, 0.0), (3.5, 4.0), (120.0, 2.0)]);
    // A node that goes takes its pods along: 2 + 2 becomes 2.
    let lines: [&[(f64, f64)]; 2] = [&[(0.0, 2.0)], &[(0.0, 2.0), (9.0, f64::NAN)]];
    assert_eq!(sum(lines.into_iter()), [(0.0, 4.0), (9.0, 2.0)]);
}

#[test]
fn keys_read_as_prometheus_writes_them() {
    let key = SeriesKey::new(QUEUE_DEPTH, &[("name", "a\"b")]);
    assert_eq!(key.to_string(), "workqueue_depth{name=\"a\\\"b\"}");
    assert_eq!((key.label("name"), key.label("kind")), ("a\"b", ""));
    assert!(run_charts("x", &[ChartData::default()]).is_empty());
}

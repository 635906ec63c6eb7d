//! `kubesim explain`: why a pod is on its node, or on none.

use super::table::Table;
use crate::report::explain::{Attempt, Explanation, Line, Out};

/// The answer as people read it. Tables show at most `limit` nodes each; 0 shows all.
pub fn render(explanation: &Explanation, asked: &str, limit: usize) -> String {
    let mut text = format!("pod/{} at {asked}: {}\n", shown_name(&explanation.pod), explanation.conclusion);
    if !explanation.waits_for.is_empty() {
        let mut table = Table::new(&["WAITS WITH", "FOR"]);
        for waits in &explanation.waits_for {
            table.push(vec![waits.plugin.to_string(), waits.events.to_string()]);
        }
        text.push('\n');
        text.push_str(&table.render());
    }
    if !explanation.before.is_empty() {
        text.push_str(if explanation.attempts.is_empty() { "\nNo attempt was made:\n" } else { "\nBefore:\n" });
        text.push_str(&lines(&explanation.before));
    }
    let untold = explanation.attempt_count - explanation.attempts.len();
    if untold > 0 {
        let attempts = if untold == 1 { "attempt is" } else { "attempts are" };
        text.push_str(&format!("({untold} earlier {attempts} not shown; --all shows every attempt.)\n"));
    }
    for attempt in &explanation.attempts {
        text.push('\n');
        text.push_str(&render_attempt(attempt, limit));
    }
    text
}

/// Names in the default namespace stand without it.
fn shown_name(pod: &str) -> &str {
    pod.strip_prefix("default/").unwrap_or(pod)
}

fn lines(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.time.to_string().chars().count()).max().unwrap_or(0);
    lines.iter().map(|line| format!("  {:<width$}   {}\n", line.time.to_string(), line.text)).collect()
}

fn render_attempt(attempt: &Attempt, limit: usize) -> String {
    let Attempt { number, time, nodes, evaluated, feasible, .. } = attempt;
    let fit = if *feasible == 1 { "fits" } else { "fit" };
    let mut text = format!("Attempt {number} at {time}: {evaluated} of {nodes} nodes looked at, {feasible} {fit}.\n");
    if let Some(by) = &attempt.pre_filter {
        text.push_str(&format!("No node was looked at: {} says {}\n", by.plugin, by.reason));
    }
    if attempt.excluded > 0 {
        let plugins = attempt.narrowed_by.join(", ");
        text.push_str(&format!(
            "{} nodes were left out because {plugins} names the only possible ones.\n",
            attempt.excluded
        ));
    }
    let unseen = attempt.nodes - attempt.excluded - attempt.evaluated;
    if attempt.chosen.is_some() && unseen > 0 {
        text.push_str(&format!("{unseen} nodes were not looked at: enough others fit.\n"));
    }
    if !attempt.out.is_empty() {
        text.push_str("\nOut:\n");
        text.push_str(&render_out(&attempt.out, limit));
    }
    match (attempt.scores.is_empty(), &attempt.chosen) {
        (false, _) => {
            text.push_str("\nFit (weight x score):\n");
            text.push_str(&render_scores(attempt, limit));
        }
        (true, Some(chosen)) => text.push_str(&format!("\nFits: {chosen}, taken without scores as the only one.\n")),
        (true, None) => {}
    }
    if !attempt.tied.is_empty() {
        let count = attempt.tied.len();
        text.push_str(&format!(
            "{count} nodes share the highest total; the first by name is taken, Kubernetes takes any.\n"
        ));
    }
    if !attempt.after.is_empty() {
        text.push_str("\nThen:\n");
        text.push_str(&lines(&attempt.after));
    }
    text
}

fn shown(limit: usize, all: usize) -> usize {
    if limit == 0 { all } else { limit.min(all) }
}

fn more(left: usize) -> String {
    if left == 0 { String::new() } else { format!("... and {left} more (--limit=0 shows all)\n") }
}

fn render_out(out: &[Out], limit: usize) -> String {
    let mut table = Table::new(&["NODE", "PLUGIN", "REASON", "BECAUSE"]);
    let count = shown(limit, out.len());
    for node in &out[..count] {
        table.push(vec![node.node.clone(), node.plugin.to_string(), node.reasons.join(", "), node.detail.clone()]);
    }
    table.render() + &more(out.len() - count)
}

fn render_scores(attempt: &Attempt, limit: usize) -> String {
    let names = attempt.score_plugins.iter().map(|plugin| plugin.name);
    let header: Vec<&str> = ["NODE"].into_iter().chain(names).chain(["TOTAL", ""]).collect();
    let mut table = Table::new(&header);
    let count = shown(limit, attempt.scores.len());
    for row in &attempt.scores[..count] {
        let scores = attempt.score_plugins.iter().zip(&row.scores);
        let mut cells = vec![row.node.clone()];
        cells.extend(scores.map(|(plugin, score)| format!("{} x {score}", plugin.weight)));
        cells.extend([row.total.to_string(), if row.chosen { "chosen" } else { "" }.to_string()]);
        table.push(cells);
    }
    table.render() + &more(attempt.scores.len() - count)
}

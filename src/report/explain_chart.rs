//! The last attempt to find a node for a pod, as bars. Pure.

use super::explain::{Attempt, Explanation, Out};
use crate::plot::score_bars::{FitRow, ScoreBars};

/// The last attempt that is told; `None` when there was none. At most `limit` nodes that fit and as many that were out; 0 shows
/// all. `object` and `asked` are the pod and the instant, in words.
pub fn bars(explanation: &Explanation, object: &str, asked: &str, limit: usize) -> Option<ScoreBars> {
    let attempt = explanation.attempts.last()?;
    let shown = |all: usize| if limit == 0 { all } else { limit.min(all) };
    let (fit, out) = (fit_rows(attempt), &attempt.out);
    let (fit_shown, out_shown) = (shown(fit.len()), shown(out.len()));
    let mut notes = Vec::new();
    match (attempt.tied.len(), attempt.tie_broken_by) {
        (0 | 1, _) => {}
        (count, Some("name")) => {
            notes.push(format!("{count} nodes share the highest total: the first by name is taken."))
        }
        (count, _) => notes.push(format!("{count} nodes share the highest total: a draw takes one.")),
    }
    for (left, what) in [(fit.len() - fit_shown, "that fit"), (out.len() - out_shown, "that were out")] {
        if left > 0 {
            notes.push(format!("Not shown: {left} more {what}."));
        }
    }
    match (&attempt.nominated, attempt.scores.is_empty() && attempt.chosen.is_some()) {
        (Some(node), _) => {
            notes.push(format!("It is nominated to {node}, which still fits: the others were not asked."))
        }
        (None, true) => notes.push("No other node fits.".to_string()),
        (None, false) => {}
    }
    if attempt.excluded > 0 {
        notes.push(format!("{} left out by {}.", attempt.excluded, attempt.narrowed_by.join(" and ")));
    }
    if let Some(by) = &attempt.pre_filter {
        notes.push(format!("No node was looked at, because of {}: {}.", by.plugin, by.reason));
    }
    let number = attempt.number;
    let fits = if attempt.feasible == 1 { "fits" } else { "fit" };
    let looked = format!("{} of {} nodes looked at, {} {fits}", attempt.evaluated, attempt.nodes, attempt.feasible);
    let bars = if attempt.scores.is_empty() { "" } else { " Bars: weight x score." };
    Some(ScoreBars {
        title: format!("{object} at {asked}"),
        subtitle: format!("{} Attempt {number} at {}: {looked}.{bars}", explanation.conclusion, attempt.time),
        note: notes.join(" "),
        plugins: attempt.score_plugins.iter().map(|plugin| format!("{} (x {})", plugin.name, plugin.weight)).collect(),
        fit: fit.into_iter().take(fit_shown).collect(),
        out: out[..out_shown].iter().map(out_row).collect(),
    })
}

fn fit_rows(attempt: &Attempt) -> Vec<FitRow> {
    if let (true, Some(node)) = (attempt.scores.is_empty(), &attempt.chosen) {
        return vec![FitRow { node: node.clone(), chosen: true, ..FitRow::default() }];
    }
    let mut rows: Vec<FitRow> = attempt
        .scores
        .iter()
        .map(|row| FitRow {
            node: row.node.clone(),
            scores: row
                .scores
                .iter()
                .zip(&attempt.score_plugins)
                .map(|(score, plugin)| score * plugin.weight)
                .collect(),
            total: row.total,
            chosen: row.chosen,
        })
        .collect();
    // Of equal totals the chosen one first, so that it is shown whatever the limit.
    rows.sort_by_key(|row| (std::cmp::Reverse(row.total), !row.chosen));
    rows
}

/// What is in the way; where that is not known, the plugin's reasons. There is no room for both.
fn out_row(out: &Out) -> (String, String) {
    let why = if out.detail.is_empty() { out.reasons.join(", ") } else { out.detail.clone() };
    (out.node.clone(), format!("{}: {why}", out.plugin))
}

//! "Did you mean": the known word nearest to what was written.

/// So many characters of a word are compared.
const COMPARED: usize = 64;

/// The known word that differs least from `word`, if it differs little enough to be a slip: at most a third of the longer
/// word's characters, counted as insertions, deletions, replacements and swaps of neighbours; case does not count.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let other = candidate.to_lowercase();
        let length = |word: &str| word.chars().take(COMPARED).count();
        let allowed = length(&lower).max(length(&other)).div_ceil(3);
        let distance = if squeezed(&lower) == squeezed(&other) { 0 } else { edits(&lower, &other) };
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A help text that names the nearest known word, if one is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// A help text that names the nearest known word, else all of them when they are few.
pub fn help<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(near) = did_you_mean(word, known.clone()) {
        return Some(near);
    }
    let all: Vec<&str> = known.into_iter().collect();
    (!all.is_empty() && all.len() <= 16).then(|| format!("known here: {}", all.join(", ")))
}

fn squeezed(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Edit distance with swaps of neighbours (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(COMPARED).collect(), b.chars().take(COMPARED).collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (row[j - 1] + 1).min(last[j] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before_last[j - 2] + 1);
            }
            row.push(least);
        }
        before_last = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let known = ["duration", "nodes", "timeline", "--kube-api-qps"];
        assert_eq!(nearest("duratoin", known), Some("duration"));
        assert_eq!(nearest("node", known), Some("nodes"));
        assert_eq!(nearest("kubeApiQps", known), Some("--kube-api-qps"));
        assert_eq!(nearest("banana", known), None);
        // Of a word of 300 letters none is near, although a third of it would be 100 edits.
        assert_eq!(nearest(&"y".repeat(300), known), None);
        assert_eq!(help("banana", ["at", "for"]), Some("known here: at, for".to_string()));
    }

    #[test]
    fn distances_by_hand() {
        // swap = 1; one insertion = 1; replace k by s, e by i, add g = 3; to nothing = length.
        for (a, b, distance) in [("ab", "ba", 1), ("node", "nodes", 1), ("kitten", "sitting", 3), ("abc", "", 3)] {
            assert_eq!(edits(a, b), distance, "{a} {b}");
        }
    }
}

//! A sync as one line of the trace: what it saw, what it came to, what held it back.

use std::fmt;

use super::explanation::Explanation;

/// An explanation in words, e.g. `2 -> 4 (Metrics); metric 0 asks for 9, ratio 4.500; ScaleUpLimit`.
#[derive(Clone, Copy, Debug)]
pub struct LogLine<'a>(pub &'a Explanation);

impl fmt::Display for LogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let explanation = self.0;
        write!(f, "{} -> {} ({:?})", explanation.current, explanation.desired, explanation.path)?;
        for outcome in &explanation.metrics {
            match &outcome.result {
                Ok(proposal) => {
                    write!(
                        f,
                        "; metric {} asks for {}, ratio {:.3}",
                        outcome.index, proposal.replicas, proposal.ratio
                    )?;
                }
                Err(error) => write!(f, "; metric {}: {error}", outcome.index)?,
            }
        }
        if let (Some(proposal), Some(stabilized)) = (explanation.proposal, explanation.stabilized)
            && proposal != stabilized
        {
            write!(f, "; the window makes {stabilized} of {proposal}")?;
        }
        match explanation.limit {
            Some(limit) => write!(f, "; {}", limit.reason()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autoscaling::hpa::behavior::Limit;
    use crate::autoscaling::hpa::explanation::Path;

    #[test]
    fn a_line_says_what_held_the_number_back() {
        let explanation = Explanation {
            path: Path::Metrics,
            current: 2,
            desired: 4,
            proposal: Some(9),
            stabilized: Some(7),
            limit: Some(Limit::ScaleUp),
            ..Explanation::default()
        };
        let line = LogLine(&explanation).to_string();
        assert_eq!(line, "2 -> 4 (Metrics); the window makes 7 of 9; ScaleUpLimit");
    }
}

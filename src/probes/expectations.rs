//! Expectations: what a scenario says must hold, and when, judged while the run goes on.
//!
//! Judged at the end of instants: a state that comes and goes within one instant is never seen. Expectations change
//! nothing and take no event numbers.

use super::condition::{Condition, ConditionError};
use super::observed::{Changed, Observed};
use crate::model::{Kinds, Time};
use crate::sim::plan::{Expectation, When};

/// How an expectation came out.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The condition as written.
    pub that: String,
    /// When it had to hold, in words: `at 3m0s`, `from 3m0s within 8m0s`, `never`.
    pub when: String,
    /// Whether it was met.
    pub met: bool,
    /// The instant at which that was known.
    pub decided_at: Option<Time>,
    /// What was seen, for one that was not met; empty for one that was.
    pub detail: String,
}

/// The expectations of one run.
pub struct Expectations {
    watched: Vec<Watched>,
    start: Time,
}

struct Watched {
    spec: Expectation,
    condition: Condition,
    depends_on: Changed,
    /// It is looked at from this instant on.
    from: Time,
    /// The last instant of its window, if it has one.
    until: Option<Time>,
    looked_at: Option<Time>,
    /// It was true or false at some instant: what it names is there.
    was_clear: bool,
    /// Why it was neither, when it was looked at last.
    error: Option<ConditionError>,
    verdict: Option<Outcome>,
}

struct Outcome {
    met: bool,
    at: Time,
    detail: String,
}

impl Expectations {
    /// The expectations that hold for a variant (`only_in`), for a run that starts at `start` and knows these kinds.
    ///
    /// # Errors
    /// A condition does not compile.
    pub fn new(specs: &[Expectation], variant: &str, start: Time, kinds: &Kinds) -> Result<Expectations, String> {
        let mut watched = Vec::new();
        for spec in
            specs.iter().filter(|spec| spec.only_in.is_empty() || spec.only_in.iter().any(|only| only == variant))
        {
            let condition =
                Condition::compile(&spec.that, kinds).map_err(|error| format!("`{}`: {error}", spec.that))?;
            let (from, until) = match spec.when {
                When::At(at) => (start + at, Some(start + at)),
                When::Within { from, within } => (start + from, Some(start + from + within)),
                When::Until(until) => (start, Some(start + until)),
                When::Always | When::Never | When::Eventually => (start, None),
            };
            watched.push(Watched {
                spec: spec.clone(),
                depends_on: condition.references(),
                condition,
                from,
                until,
                looked_at: None,
                was_clear: false,
                error: None,
                verdict: None,
            });
        }
        Ok(Expectations { watched, start })
    }

    /// The next instant at whose end [`Expectations::observe`] must be called even if nothing happens then.
    pub fn next_deadline(&self) -> Option<Time> {
        self.watched.iter().filter_map(Watched::next_deadline).min()
    }

    /// Whether something written now could change a verdict that is still open.
    pub fn is_open(&self) -> bool {
        self.watched.iter().any(|watched| watched.verdict.is_none())
    }

    /// Looks at the world at the end of an instant. `changed` is what changed since the last call.
    ///
    /// # Panics
    /// If an instant named by [`Expectations::next_deadline`] was left out.
    pub fn observe(&mut self, now: Time, changed: &Changed, observed: &dyn Observed) {
        for watched in &mut self.watched {
            watched.observe(now, changed, observed);
        }
    }

    /// Judges what is still open when the run ends at `now`; `observed` is the last state.
    pub fn finish(&mut self, now: Time, observed: &dyn Observed) {
        let start = self.start;
        for watched in self.watched.iter_mut().filter(|watched| watched.verdict.is_none()) {
            watched.finish(now, start, observed);
        }
    }

    /// The verdicts, in the order of the scenario. One that is still open counts as not met.
    pub fn verdicts(&self) -> Vec<Verdict> {
        self.watched.iter().map(Watched::report).collect()
    }
}

impl Watched {
    fn next_deadline(&self) -> Option<Time> {
        match (&self.verdict, self.looked_at) {
            (Some(_), _) => None,
            (None, None) => Some(self.from),
            (None, Some(_)) => self.until,
        }
    }

    fn observe(&mut self, now: Time, changed: &Changed, observed: &dyn Observed) {
        if self.verdict.is_some() || now < self.from {
            return;
        }
        let deadline = self.next_deadline();
        assert!(deadline.is_none_or(|deadline| now <= deadline), "an expectation is looked at on its deadline");
        let at_end = self.until == Some(now);
        // The state holds from one instant to the next: until T does not speak of what happens at T itself.
        let excluded = at_end && matches!(self.spec.when, When::Until(_)) && self.looked_at.is_some();
        if !excluded && (self.looked_at.is_none() || changed.touches(&self.depends_on)) {
            self.look(now, observed);
        }
        if at_end && self.verdict.is_none() {
            self.close(now, observed);
        }
    }

    fn look(&mut self, now: Time, observed: &dyn Observed) {
        self.looked_at = Some(now);
        let holds = match self.condition.evaluate(observed) {
            Err(error @ ConditionError::Mistake(_)) => return self.decide(false, now, error.to_string()),
            Err(error) => {
                self.error = Some(error);
                None
            }
            Ok(holds) => {
                self.was_clear = true;
                self.error = None;
                Some(holds)
            }
        };
        match (self.spec.when, holds) {
            (When::At(_) | When::Within { .. } | When::Eventually, Some(true)) => self.decide(true, now, String::new()),
            (When::Never, Some(true)) => self.fail(now, "it held", observed),
            (When::Always | When::Until(_), Some(false)) => self.fail(now, "it did not hold", observed),
            (When::Always | When::Until(_), None) => self.fail(now, "", observed),
            // It may still come, or must still not.
            (When::At(_) | When::Within { .. } | When::Eventually | When::Never, _)
            | (When::Always | When::Until(_), Some(true)) => {}
        }
    }

    /// The window is over and nothing has decided.
    fn close(&mut self, now: Time, observed: &dyn Observed) {
        match self.spec.when {
            When::At(_) => self.fail(now, "it did not hold", observed),
            When::Within { .. } => self.fail(now, "never true in the window", observed),
            When::Until(_) => self.decide(true, now, String::new()),
            When::Always | When::Never | When::Eventually => {}
        }
    }

    fn finish(&mut self, now: Time, start: Time, observed: &dyn Observed) {
        match self.spec.when {
            When::Eventually => self.fail(now, "never true", observed),
            When::Always if self.looked_at.is_some() => self.decide(true, now, String::new()),
            When::Never if self.error.is_none() && self.condition.never_existed(observed).is_some() => {
                self.error = self.condition.never_existed(observed);
                self.fail(now, "", observed);
            }
            // An object that was there for no end of an instant was in no state that must not be.
            When::Never if self.was_clear || self.error.as_ref().is_some_and(ConditionError::is_gone) => {
                self.decide(true, now, String::new());
            }
            When::Never if self.error.is_some() => self.fail(now, "", observed),
            When::Always | When::Never => self.decide(false, now, "the run ended before it was looked at".to_string()),
            When::At(_) | When::Within { .. } | When::Until(_) => {
                let words = format!("the run ended at {}, before it was decided", now - start);
                self.fail(now, &words, observed);
            }
        }
    }

    /// Not met: in words, with the error or the values seen.
    fn fail(&mut self, now: Time, words: &str, observed: &dyn Observed) {
        let seen = match &self.error {
            Some(error) => error.to_string(),
            None => self.condition.values(observed).join(", "),
        };
        let detail = match (words.is_empty(), seen.is_empty(), &self.spec.when) {
            (true, ..) => seen,
            (false, true, _) => words.to_string(),
            (false, false, When::Within { .. } | When::Eventually) => format!("{words}; last: {seen}"),
            (false, false, _) => format!("{words}: {seen}"),
        };
        self.decide(false, now, detail);
    }

    fn decide(&mut self, met: bool, at: Time, detail: String) {
        self.verdict = Some(Outcome { met, at, detail });
    }

    fn report(&self) -> Verdict {
        let when = match self.spec.when {
            When::At(at) => format!("at {at}"),
            When::Within { from, within } => format!("from {from} within {within}"),
            When::Always => "always".to_string(),
            When::Never => "never".to_string(),
            When::Eventually => "eventually".to_string(),
            When::Until(until) => format!("until {until}"),
        };
        let (met, decided_at, detail) = match &self.verdict {
            Some(outcome) => (outcome.met, Some(outcome.at), outcome.detail.clone()),
            None => (false, None, "not decided".to_string()),
        };
        Verdict { that: self.spec.that.clone(), when, met, decided_at, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observed::tests::Objects;
    use super::*;
    use crate::model::{Key, Kind, Span};
    use crate::sim::plan::When::{Always, At, Eventually, Never, Until, Within};
    use serde_json::json;

    const START: Time = Time(1_000);

    fn s(seconds: i64) -> Span {
        Span::from_seconds(seconds)
    }

    /// Runs an expectation over a history: the number of pods from each second on; the run ends at `end`.
    /// The loop also looks whenever the expectation asks for it, as the world does.
    fn run(when: When, that: &str, history: &[(i64, usize)], end: i64) -> Verdict {
        let mut world = |seconds: i64| {
            let pods = history.iter().rev().find(|(from, _)| *from <= seconds).map_or(0, |(_, pods)| *pods);
            Objects::pods(pods)
        };
        run_worlds(when, that, &mut world, &history.iter().map(|(at, _)| *at).collect::<Vec<_>>(), end)
    }

    fn run_worlds(when: When, that: &str, world: &mut dyn FnMut(i64) -> Objects, changes: &[i64], end: i64) -> Verdict {
        let spec = Expectation { when, that: that.to_string(), only_in: Vec::new() };
        let mut expectations = Expectations::new(&[spec], "", START, Kinds::BUILT_IN).unwrap();
        for second in 0..=end {
            let now = START + s(second);
            if changes.contains(&second) {
                expectations.observe(now, &Changed::ALL, &world(second));
            } else if expectations.next_deadline() == Some(now) {
                expectations.observe(now, &Changed::NOTHING, &world(second));
            }
        }
        expectations.finish(START + s(end), &world(end));
        expectations.verdicts().remove(0)
    }

    fn brief(verdict: &Verdict) -> (bool, i64, &str) {
        (verdict.met, (verdict.decided_at.unwrap() - START).0 / 1_000_000_000, &verdict.detail)
    }

    const THREE: &str = r#"count("pods") == 3"#;

    #[test]
    fn each_form_over_a_history() {
        // Three pods at first, two from second 2, three again from second 5; the run ends at second 10.
        let history = [(0, 3), (2, 2), (5, 3)];
        let within = |from, within| Within { from: s(from), within: s(within) };
        for (when, met, at, detail) in [
            (At(s(0)), true, 0, ""),
            (At(s(2)), false, 2, r#"it did not hold: count("pods") = 2"#),
            (At(s(4)), false, 4, r#"it did not hold: count("pods") = 2"#),
            (At(s(5)), true, 5, ""),
            (At(s(11)), false, 10, r#"the run ended at 10s, before it was decided: count("pods") = 3"#),
            // The window includes both ends: 3 + 2 = 5 is the instant of the repair.
            (within(3, 2), true, 5, ""),
            (within(3, 1), false, 4, r#"never true in the window; last: count("pods") = 2"#),
            (within(1, 8), true, 1, ""),
            (Always, false, 2, r#"it did not hold: count("pods") = 2"#),
            (Never, false, 0, r#"it held: count("pods") = 3"#),
            (Eventually, true, 0, ""),
            // Until second 2, not at it.
            (Until(s(2)), true, 2, ""),
            (Until(s(3)), false, 2, r#"it did not hold: count("pods") = 2"#),
            (Until(s(0)), true, 0, ""),
        ] {
            assert_eq!(brief(&run(when, THREE, &history, 10)), (met, at, detail), "{when:?}");
        }
        assert_eq!(brief(&run(Always, r#"count("pods") >= 2"#, &history, 10)), (true, 10, ""));
        assert_eq!(brief(&run(Never, r#"count("pods") == 4"#, &history, 10)), (true, 10, ""));
        let never_true = (false, 10, r#"never true; last: count("pods") = 3"#);
        assert_eq!(brief(&run(Eventually, r#"count("pods") == 4"#, &history, 10)), never_true);
        assert_eq!(run(within(180, 480), THREE, &history, 10).when, "from 3m0s within 8m0s");
    }

    #[test]
    fn an_object_that_never_existed_fails_every_form() {
        let that = r#"object("pod/ap-0").status.phase == "Running""#;
        for (when, begin) in [
            (At(s(1)), "it did not hold: "),
            (Within { from: s(0), within: s(3) }, "never true in the window; last: "),
            (Always, ""),
            (Never, ""),
            (Eventually, "never true; last: "),
            (Until(s(3)), ""),
        ] {
            let verdict = run(when, that, &[(0, 1)], 5);
            assert!(!verdict.met, "{when:?}");
            assert_eq!(verdict.detail, format!("{begin}no object pod/ap-0 ever existed; did you mean pod/api-0?"));
        }
    }

    #[test]
    fn never_does_not_pass_on_the_existence_of_what_never_existed() {
        let verdict = run(Never, r#"exists("pod/ap-0")"#, &[(0, 1)], 5);
        assert_eq!(brief(&verdict), (false, 5, "no object pod/ap-0 ever existed; did you mean pod/api-0?"));
        // It was there and is gone: it existed, and while it did not the condition was false.
        let mut world = |second: i64| {
            let mut objects = Objects::default();
            if second > 0 {
                objects.gone.push(Key::new(Kind::Pod, "default", "x"));
            }
            objects
        };
        assert!(run_worlds(Never, r#"exists("pod/x")"#, &mut world, &[0, 1], 5).met);
        // In other forms it is false, as written.
        assert!(run(Always, r#"!exists("pod/ap-0")"#, &[(0, 1)], 5).met);
    }

    #[test]
    fn never_passes_once_the_object_was_seen_or_came_and_went() {
        let that = r#"object("pod/x").status.phase == "Failed""#;
        // There from second 2 to second 4.
        let mut world = |second: i64| {
            let mut objects = Objects::default();
            match second {
                0..2 => {}
                2..4 => objects.put(Kind::Pod, "x", json!({"status": {"phase": "Running"}})),
                _ => objects.gone.push(Key::new(Kind::Pod, "default", "x")),
            }
            objects
        };
        assert_eq!(brief(&run_worlds(Never, that, &mut world, &[0, 2, 4], 6)), (true, 6, ""));
        // Looked at only when it is gone already.
        assert_eq!(brief(&run_worlds(Never, that, &mut world, &[0, 4], 6)), (true, 6, ""));
        assert!(!run_worlds(Never, that, &mut world, &[0], 1).met);
        // A field that is not there yet does not fail what may still come.
        assert!(run_worlds(Eventually, r#"object("pod/x").status.phase == "Running""#, &mut world, &[0, 2], 6).met);
        let gone = run_worlds(At(s(5)), that, &mut world, &[0, 2, 4], 6);
        assert_eq!(gone.detail, "it did not hold: pod/x is gone");
    }

    #[test]
    fn a_mistake_fails_at_once_and_a_field_that_never_comes_at_the_end() {
        let mistake = run(Never, r#"count("pods") + 1.0 > 9.0"#, &[(0, 1)], 5);
        assert_eq!(brief(&mistake).1, 0);
        assert!(mistake.detail.starts_with("`+` does not work for int and double"), "{}", mistake.detail);
        let field = run(Never, r#"object("pod/api-0").status.restarts > 3"#, &[(0, 1)], 5);
        assert!(field.detail.starts_with("the object has no field `restarts`"), "{}", field.detail);
    }

    #[test]
    fn deadlines_are_the_edges_of_the_windows() {
        let spec = |when| Expectation { when, that: THREE.to_string(), only_in: Vec::new() };
        let specs = [spec(At(s(4))), spec(Within { from: s(2), within: s(6) })];
        let mut expectations = Expectations::new(&specs, "", START, Kinds::BUILT_IN).unwrap();
        let mut deadlines = Vec::new();
        while let Some(deadline) = expectations.next_deadline() {
            deadlines.push((deadline - START).0 / 1_000_000_000);
            expectations.observe(deadline, &Changed::NOTHING, &Objects::pods(2));
        }
        assert_eq!(deadlines, [2, 4, 8]);
        assert!(!expectations.is_open());
    }

    #[test]
    fn it_is_evaluated_again_only_when_something_it_names_changed() {
        let spec = Expectation { when: Eventually, that: THREE.to_string(), only_in: Vec::new() };
        let mut expectations = Expectations::new(&[spec], "", START, Kinds::BUILT_IN).unwrap();
        expectations.observe(START, &Changed::NOTHING, &Objects::pods(2));
        let mut nodes = Changed::NOTHING;
        nodes.kinds.insert(Kind::Node);
        expectations.observe(START + s(1), &nodes, &Objects::pods(3));
        assert!(expectations.is_open(), "a node was written, not a pod");
        nodes.kinds.insert(Kind::Pod);
        expectations.observe(START + s(2), &nodes, &Objects::pods(3));
        assert_eq!(brief(&expectations.verdicts()[0]), (true, 2, ""));
    }

    #[test]
    fn variants_and_texts_that_do_not_compile() {
        let spec = |that: &str, only_in: &[&str]| Expectation {
            when: Always,
            that: that.to_string(),
            only_in: only_in.iter().map(ToString::to_string).collect(),
        };
        let specs = [spec(THREE, &[]), spec(THREE, &["relist"]), spec(THREE, &["replay", "relist"])];
        assert_eq!(Expectations::new(&specs, "relist", START, Kinds::BUILT_IN).unwrap().verdicts().len(), 3);
        assert_eq!(Expectations::new(&specs, "replay", START, Kinds::BUILT_IN).unwrap().verdicts().len(), 2);
        assert_eq!(Expectations::new(&specs, "base", START, Kinds::BUILT_IN).unwrap().verdicts().len(), 1);
        let Err(error) = Expectations::new(&[spec("count()", &[])], "", START, Kinds::BUILT_IN) else {
            panic!("it compiles")
        };
        assert!(error.starts_with("`count()`: count(): wrong arguments"), "{error}");
    }
}

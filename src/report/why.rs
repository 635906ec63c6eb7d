//! Why did this happen: the chain of causes of a record of a finished run.

use std::collections::BTreeSet;

use super::chain::{ChainLine, phrase};
use super::trace_rows::Row;
pub use super::trace_rows::{Problem, Rows};
use crate::model::record::Detail;
use crate::model::{Action, Key, Kind, Name, Span};
use crate::rules::suggest;

/// Actions at which a chain of causes may end.
const ROOTS: [Action; 4] = [Action::User, Action::Fault, Action::Load, Action::Timer];
/// Actions that change their object when they succeed.
const WRITES: [Action; 9] = [
    Action::Create,
    Action::Update,
    Action::UpdateStatus,
    Action::Scale,
    Action::Patch,
    Action::Delete,
    Action::Bind,
    Action::Evict,
    Action::Remove,
];
/// What the detail of a key begins with that the limiter holds back.
const RATE_LIMITER: &str = "rate limiter:";
/// What kind of record a chain begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// A write of the object that succeeded.
    Write,
    /// A decision about it that left it as it is: a reconcile that failed, a pod that found no node.
    Failure,
    /// Neither was there: anything about it.
    Other,
}

/// Why an object is as it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// What the chain begins with.
    pub start: Start,
    /// Its records, the last first, back to a root.
    pub chain: Vec<ChainLine>,
}

impl Rows {
    fn line(&self, row: &Row) -> ChainLine {
        let action = self.text(row.action).to_string();
        let mut phrase = phrase(&action).to_string();
        let mut detail = self.text(row.detail).to_string();
        if action == Action::Relist.as_str() && self.is_first_list(row) {
            phrase = "listed".to_string();
        }
        if let Some(first) = detail.strip_prefix("first added by ").and_then(|event| self.find(event.parse().ok()?)) {
            detail = self.queued_since(&self.rows[first]);
        }
        let (actor, object, time) = (self.actor(row), self.object(row), row.time);
        ChainLine { event: row.event, time, actor, action, phrase, object, detail, folded: 0, since: time }
    }

    fn actor(&self, row: &Row) -> String {
        let (process, component) = (self.text(row.process), self.text(row.component));
        match (process.is_empty(), component.is_empty()) {
            (true, true) => "the world".to_string(),
            (true, false) => component.to_string(),
            (false, false) if process != component => format!("{process}/{component}"),
            (false, _) => process.to_string(),
        }
    }

    fn object(&self, row: &Row) -> String {
        let (namespace, name) = (self.text(row.namespace), self.text(row.name));
        let kind = self.text(row.kind).to_ascii_lowercase();
        match (kind.is_empty(), matches!(namespace, "" | "default")) {
            (true, _) => String::new(),
            (false, true) => format!("{kind}/{name}"),
            (false, false) => format!("{namespace}/{kind}/{name}"),
        }
    }

    /// Whether a list is the first of its informer: none of the kind came before since its process started.
    fn is_first_list(&self, row: &Row) -> bool {
        let plural = |row: &Row| self.text(row.detail).split(' ').next();
        let before = self.rows.partition_point(|other| other.event < row.event);
        for other in self.rows[..before].iter().rev().filter(|other| other.process == row.process) {
            if self.text(other.action) == Action::ProcessStart.as_str() {
                return true;
            }
            if other.action == row.action && plural(other) == plural(row) {
                return false;
            }
        }
        true
    }

    /// When and why a key came into the queue in which another add found it.
    fn queued_since(&self, first: &Row) -> String {
        let cause = self.find(first.cause).map(|place| &self.rows[place]);
        let why = cause.map_or(String::new(), |cause| {
            let (actor, verb, object) = (self.actor(cause), phrase(self.text(cause.action)), self.object(cause));
            format!(", when {actor} {verb} {object}").trim_end().to_string()
        });
        format!("in the queue since {}{why}", first.time)
    }

    /// What a chain that begins with this row would begin with.
    fn start(&self, row: &Row) -> Start {
        let (action, detail) = (self.text(row.action), self.text(row.detail));
        // The detail of a request is its error.
        if Detail::is_text_of_success(detail) && WRITES.iter().any(|write| write.as_str() == action) {
            return Start::Write;
        }
        let is_failure = match action {
            "reconcile-error" | "decide" => true,
            "admit" => detail != "admitted",
            _ => false,
        };
        if is_failure { Start::Failure } else { Start::Other }
    }
}

/// What a chain of causes cannot show, because it did not happen: events about the object, or about what is named after it,
/// that were lost until then, and processes that were down at that moment. A line each, in the order of time.
pub fn circumstances(rows: &Rows, namespace: &str, name: &str, at: Option<Span>) -> Vec<String> {
    let until = at.map_or(rows.len(), |at| rows.rows.partition_point(|row| row.time <= at));
    let prefix = format!("{name}-");
    let mut lines = Vec::new();
    let mut down: Vec<(&str, Span)> = Vec::new();
    for row in &rows.rows[..until] {
        let action = rows.text(row.action);
        let process = rows.text(row.process);
        if action == Action::Lost.as_str() {
            let own = rows.text(row.name) == name || rows.text(row.name).starts_with(&prefix);
            if own && rows.text(row.namespace) == namespace {
                lines.push(format!("{} {}: {}", row.time, rows.object(row), rows.text(row.detail)));
            }
        } else if action == Action::ProcessStop.as_str() {
            down.push((process, row.time));
        } else if action == Action::ProcessStart.as_str() {
            down.retain(|(stopped, _)| *stopped != process);
        }
    }
    lines.extend(down.into_iter().map(|(process, since)| format!("{since} {process} went down, and was down then")));
    lines
}

/// Who would look at an object again and may not yet: neither its queue nor a worker has it, the rate limiter does. A line
/// each, in the order of time.
pub fn held_back(rows: &Rows, kind: Kind, namespace: &str, name: &str, at: Option<Span>) -> Vec<String> {
    let until = at.map_or(rows.len(), |at| rows.rows.partition_point(|row| row.time <= at));
    let moves = [Action::Enqueue, Action::EnqueueAfter, Action::Reconcile].map(Action::as_str);
    let mut last: Vec<&Row> = Vec::new();
    for row in &rows.rows[..until] {
        let action = rows.text(row.action);
        if action == Action::ProcessStop.as_str() {
            last.retain(|held| held.process != row.process);
        } else if moves.contains(&action)
            && [row.kind, row.namespace, row.name].map(|text| rows.text(text)) == [kind.as_str(), namespace, name]
        {
            last.retain(|held| (held.process, held.component) != (row.process, row.component));
            last.push(row);
        }
    }
    let is_held = |row: &&Row| {
        rows.text(row.action) == Action::EnqueueAfter.as_str() && rows.text(row.detail).starts_with(RATE_LIMITER)
    };
    let line = |row: &Row| {
        let (actor, object, limiter) = (rows.actor(row), rows.object(row), rows.text(row.detail));
        format!("{} {actor} queued {object} for later ({limiter}); until then it is in no queue", row.time)
    };
    last.into_iter().filter(is_held).map(line).collect()
}

/// The last change of an object at or before an instant, or the last decision that failed, and its causes back to a root,
/// last first. What was only read, told or queued counts when there is nothing else.
/// `namespace` is empty for cluster-scoped kinds; `at` counts from the start of the run, `None` is its end.
///
/// # Errors
/// In words: there is no record of the object until then, with the name that may be meant; or the chain is broken.
pub fn explain(rows: &Rows, kind: Kind, namespace: &str, name: &str, at: Option<Span>) -> Result<Explanation, String> {
    let until = at.map_or(rows.len(), |at| rows.rows.partition_point(|row| row.time <= at));
    let wanted = [kind.as_str(), namespace, name].map(|text| rows.texts.get_index_of(&Name::new(text)));
    let is_wanted = |row: &&Row| {
        [row.kind, row.namespace, row.name].iter().zip(wanted).all(|(index, wanted)| Some(*index as usize) == wanted)
    };
    let about = || rows.rows[..until].iter().rev().filter(is_wanted);
    let Some(last) = about().find(|row| rows.start(row) != Start::Other).or_else(|| about().next()) else {
        return Err(no_record(rows, &Key::new(kind, namespace, name), rows.rows.iter().find(is_wanted)));
    };
    let mut chain = vec![rows.line(last)];
    let mut row = last;
    while row.cause != 0 {
        let cause = rows.find(row.cause).map(|place| &rows.rows[place]).filter(|cause| cause.event < row.event);
        row = cause.ok_or_else(|| Problem::CauseNotEarlier { event: row.event, cause: row.cause }.to_string())?;
        chain.push(rows.line(row));
    }
    Ok(Explanation { start: rows.start(last), chain })
}

fn no_record(rows: &Rows, wanted: &Key, later: Option<&Row>) -> String {
    if let Some(later) = later {
        return format!("no record of {wanted} until then; its first is at {}", later.time);
    }
    let kind = rows.texts.get_index_of(&Name::new(wanted.kind.as_str()));
    let of_kind = rows.rows.iter().filter(|row| Some(row.kind as usize) == kind);
    let names: BTreeSet<(&str, &str)> = of_kind
        .map(|row| (rows.text(row.name), rows.text(row.namespace)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let named = |wanted: &str| names.iter().find(|(name, _)| *name == wanted);
    let near = named(wanted.name.as_str())
        .or_else(|| named(suggest::nearest(wanted.name.as_str(), names.iter().map(|(name, _)| *name))?));
    let help = near.map_or(String::new(), |(name, namespace)| {
        format!(" (did you mean {}?)", Key::new(wanted.kind, *namespace, *name))
    });
    format!("no record of {wanted} in this trace{help}")
}

/// Checks that every row leads, cause by cause, to something that a user, a load, a fault or a timer did. As every cause
/// must be an earlier row, a chain ends; that its end is a root is checked row by row.
///
/// # Errors
/// The first row that does not.
pub fn check_causes(rows: &Rows) -> Result<(), Problem> {
    let roots = ROOTS.map(|action| rows.texts.get_index_of(&Name::new(action.as_str())));
    for row in &rows.rows {
        if row.cause == 0 {
            if !roots.contains(&Some(row.action as usize)) {
                return Err(Problem::NoCause { event: row.event, action: rows.text(row.action).to_string() });
            }
        } else if row.cause >= row.event || rows.find(row.cause).is_none() {
            return Err(Problem::CauseNotEarlier { event: row.event, cause: row.cause });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::trace_rows::tests::HEADER;

    const TRACE: &str = "\
0,1,0,kubectl,,user,,,,\"apply -f a.yaml,b.yaml\",,
0.009,2,1,kubectl,,create,Deployment,default,api,,0,4
0.014,3,2,kube-controller-manager,deployment,deliver,Deployment,default,api,ADDED,4,4
0.014,4,3,kube-controller-manager,deployment,enqueue,Deployment,default,api,,4,4
0.014,5,4,kube-controller-manager,deployment,reconcile,Deployment,default,api,worker 0,4,4
0.023,6,5,kube-controller-manager,deployment,create,ReplicaSet,default,api-7d4b9c,,4,5
60,7,0,,,fault,,,,dropWatchEvents,,
120.5,8,0,kubectl,,user,,,,delete pod,,
120.509,9,8,kubectl,,delete,Pod,shop,api-x,,,9
";

    fn rows(body: &str) -> Rows {
        Rows::read(format!("{HEADER}{body}").as_bytes()).unwrap()
    }

    fn events(kind: Kind, name: &str, at: Option<i64>) -> Vec<u64> {
        let chain = explain(&rows(TRACE), kind, "default", name, at.map(Span)).unwrap().chain;
        chain.iter().map(|line| line.event).collect()
    }

    #[test]
    fn a_chain_leads_from_the_last_record_to_its_root() {
        assert_eq!(events(Kind::ReplicaSet, "api-7d4b9c", None), [6, 5, 4, 3, 2, 1]);
        // Of the Deployment's records 2 to 5 only its creation changed it.
        assert_eq!(events(Kind::Deployment, "api", Some(13_000_000)), [2, 1]);
        assert_eq!(events(Kind::Deployment, "api", None), [2, 1]);
        let Explanation { start, chain } = explain(&rows(TRACE), Kind::Pod, "shop", "api-x", None).unwrap();
        assert_eq!(start, Start::Write);
        assert_eq!(chain[0].to_string(), "2m0.509s     kubectl deleted shop/pod/api-x");
        assert_eq!(chain[1].to_string(), "2m0.5s       kubectl acted: delete pod");
    }

    #[test]
    fn a_failed_decision_begins_a_chain_and_a_failed_write_does_not() {
        let pending = "\
1,1,0,kubectl,kubectl,user,,,,create pod,,
1,2,1,kubectl,kubectl,create,Pod,default,p,,,
1,3,2,kube-scheduler,,deliver,Pod,default,p,ADDED,,
1,4,3,kube-scheduler,scheduler,schedule,Pod,default,p,attempt 1,,
2,5,4,kube-scheduler,scheduler,decide,Pod,default,p,Unschedulable: no room,,
3,6,5,kube-scheduler,scheduler,patch,Pod,default,p,409 Conflict: old,,
4,7,6,kubelet,kubelet,get,Pod,default,p,,,
";
        let Explanation { start, chain } = explain(&rows(pending), Kind::Pod, "default", "p", None).unwrap();
        assert_eq!(start, Start::Failure);
        assert_eq!(
            chain[0].to_string(),
            "2s           kube-scheduler/scheduler decided about pod/p: Unschedulable: no room"
        );
        assert_eq!(chain[4].to_string(), "1s           kubectl acted: create pod");
        // Of an object that nobody wrote anything is told.
        let told = "1,1,0,kubelet,kubelet,timer,,,,x,,\n2,2,1,kubelet,kubelet,get,Pod,default,p,,,\n";
        let Explanation { start, chain } = explain(&rows(told), Kind::Pod, "default", "p", None).unwrap();
        assert_eq!((start, chain[0].to_string()), (Start::Other, "2s           kubelet read pod/p".to_string()));
    }

    #[test]
    fn lists_and_queues_are_told_in_words() {
        let all = rows(
            "\
1,1,0,cm,,user,,,,start,,
1,2,1,cm,,process-start,,,,,,
1,3,2,cm,,relist,,,,pods 3,,
1,4,3,cm,,relist,,,,nodes 3,,
1,5,4,cm,,relist,,,,pods 4,,
1,6,5,cm,,process-start,,,,,,
1,7,6,cm,,relist,,,,pods 4,,
2,8,7,cm,,deliver,Pod,default,p,ADDED,,
2,9,8,cm,rs,enqueue,ReplicaSet,default,r,,,
3,10,7,cm,rs,coalesced,ReplicaSet,default,r,first added by 9,,
",
        );
        let words = |event: usize| all.line(&all.rows[event - 1]).to_string();
        assert_eq!(words(3), "1s           cm listed pods 3");
        assert_eq!(words(4), "1s           cm listed nodes 3");
        assert_eq!(words(5), "1s           cm listed again pods 4");
        assert_eq!(words(7), "1s           cm listed pods 4");
        assert_eq!(
            words(10),
            "3s           cm/rs had already queued replicaset/r (in the queue since 2s, when cm was told of pod/p)"
        );
    }

    #[test]
    fn what_did_not_happen_is_told_beside_the_chain() {
        let rows = rows(
            "1,1,0,manager,,process-start,,,,,,\n2,2,1,manager,,lost,Pod,default,api-1,DELETED lost: drop,1,2\n\
             2,3,1,manager,,lost,Pod,default,web-1,DELETED lost: drop,1,2\n3,4,0,manager,,process-stop,,,,,,\n",
        );
        let lost = "2s pod/api-1: DELETED lost: drop";
        assert_eq!(circumstances(&rows, "default", "api", None), [lost, "3s manager went down, and was down then"]);
        assert_eq!(circumstances(&rows, "default", "api", Some(Span::from_seconds(2))), [lost]);
        assert!(circumstances(&rows, "shop", "api", Some(Span::from_seconds(2))).is_empty());
    }

    #[test]
    fn an_object_without_records_gets_a_suggestion() {
        let why = |kind, namespace, name, at| explain(&rows(TRACE), kind, namespace, name, at).unwrap_err();
        assert_eq!(
            why(Kind::Deployment, "default", "apu", None),
            "no record of deployment/apu in this trace (did you mean deployment/api?)"
        );
        assert_eq!(
            why(Kind::Pod, "default", "api-x", None),
            "no record of pod/api-x in this trace (did you mean shop/pod/api-x?)"
        );
        assert_eq!(
            why(Kind::Pod, "shop", "api-x", Some(Span::from_seconds(5))),
            "no record of shop/pod/api-x until then; its first is at 2m0.509s"
        );
        assert_eq!(why(Kind::Node, "", "n", None), "no record of node/n in this trace");
    }

    #[test]
    fn causes_lead_to_roots() {
        assert_eq!(check_causes(&rows(TRACE)), Ok(()));
        // An empty trace is fine as well.
        assert_eq!(check_causes(&rows("")), Ok(()));
        let check = |more: &str| check_causes(&rows(&format!("{TRACE}{more}\n")));
        let no_cause = Problem::NoCause { event: 10, action: "admit".into() };
        assert_eq!(check("121,10,0,kubelet,,admit,Pod,default,x,,,"), Err(no_cause));
        for cause in [10, 11] {
            let row = format!("121,10,{cause},kubelet,,admit,Pod,default,x,,,");
            assert_eq!(check(&row), Err(Problem::CauseNotEarlier { event: 10, cause }));
        }
        // Event 10 is missing: 11 is found all the same, 10 is not.
        let admit = "121,11,9,kubelet,,admit,Pod,default,x,,,\n122,12";
        assert_eq!(check(&format!("{admit},11,kubelet,,admit,Pod,default,x,,,")), Ok(()));
        let missing = Problem::CauseNotEarlier { event: 12, cause: 10 };
        assert_eq!(check(&format!("{admit},10,kubelet,,admit,Pod,default,x,,,")), Err(missing));
    }

    #[test]
    fn roots_are_those_of_the_model_and_actions_have_phrases() {
        assert!(ROOTS.iter().all(|action| action.is_root()));
        for action in [Action::Relist, Action::UpdateStatus, Action::EnqueueAfter, Action::ProcessStart, Action::Admit]
        {
            assert!(!action.is_root());
            assert_ne!(phrase(action.as_str()), action.as_str());
        }
    }

    #[test]
    fn a_long_chain_costs_no_stack_and_little_time() {
        // 300,000 rows, each caused by the one before.
        let mut body = String::from("0,1,0,,,timer,,,,,,\n");
        for event in 2..=300_000 {
            body.push_str(&format!("{event},{event},{},p,c,enqueue,Pod,default,x{},,,\n", event - 1, event % 100));
        }
        let rows = rows(&body);
        assert_eq!(check_causes(&rows), Ok(()));
        assert_eq!(explain(&rows, Kind::Pod, "default", "x0", None).unwrap().chain.len(), 300_000);
    }
}

//! All periods, delays and choices of the teaching orchestrator.

use crate::model::{Distribution, Span};

/// Settings of the orchestrator (`spec.polling`).
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The background task of each new pod; `None` fires none.
    pub task: Option<TaskSettings>,
    /// The loop over all pending pods.
    pub pass: PassSettings,
    /// What an assignment checks.
    pub assignment: Assignment,
    /// What happens to a pod for which no node has room.
    pub no_room: NoRoom,
    /// The agents.
    pub agent: AgentSettings,
    /// When clients get their answer.
    pub answer: AnswerAt,
    /// The server's workers; a request holds one until it is answered.
    pub server_workers: u32,
    /// Clients wait so long for an answer.
    pub request_timeout: Span,
    /// Pods that clients ask for.
    pub requests: Option<RequestSettings>,
}

/// The background task of a new pod.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskSettings {
    /// From the answer to the assignment.
    pub takes: Distribution,
    /// How probable it is that it dies before it assigns anything, from 0 to 1.
    pub dies: f64,
}

/// The loop over pending pods.
#[derive(Clone, PartialEq, Debug)]
pub struct PassSettings {
    /// From one pass to the next.
    pub period: Span,
    /// From a pass to the assignments that it decided.
    pub takes: Distribution,
}

/// What an assignment checks when it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
    /// Nothing: the last one counts.
    Overwrite,
    /// That the pod has no node yet.
    CompareAndSet,
}

/// What happens to a pod for which no node has room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoRoom {
    /// Nothing: it is Pending without a word, and tried in each pass.
    Silent,
    /// It is told why by a condition and an Event, and tried again after a back-off that doubles.
    Told {
        /// The first back-off.
        initial: Span,
        /// The longest.
        max: Span,
    },
}

/// The agents, one on each node.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSettings {
    /// From one look to the next.
    pub period: Span,
    /// From the start of the run to the first look, drawn a node.
    pub offset: Distribution,
    /// From a look that finds a pod until its containers run.
    pub start: Distribution,
    /// From there until the pod's status says so.
    pub report: Distribution,
}

/// When clients get their answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerAt {
    /// When the pod is saved: 201.
    Saved,
    /// When it runs: 200.
    Running,
}

/// Pods that clients ask for, each with a request of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestSettings {
    /// Requests a second.
    pub rate: f64,
    /// How many in all.
    pub count: u64,
    /// Whether times between two requests are exponential; otherwise they are equal.
    pub is_poisson: bool,
}

impl Default for Settings {
    /// As the text tells it: assigned 100 ms after the command, seen at 3,000 ms, started at 3,500, Running at 3,600.
    fn default() -> Settings {
        let ms = |ms: i64| Distribution::Constant(Span::from_milliseconds(ms).0);
        Settings {
            task: Some(TaskSettings { takes: ms(98), dies: 0.0 }),
            pass: PassSettings { period: Span::from_seconds(2), takes: ms(98) },
            assignment: Assignment::Overwrite,
            no_room: NoRoom::Silent,
            agent: AgentSettings {
                period: Span::from_seconds(3),
                offset: Distribution::ZERO,
                start: ms(500),
                report: ms(100),
            },
            answer: AnswerAt::Saved,
            server_workers: 100,
            request_timeout: Span::from_seconds(30),
            requests: None,
        }
    }
}

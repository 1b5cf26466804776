//! The eight states and the edges between them.
//!
//! Input: two states. Output: whether an edge, or a path of edges, joins them.
//! Invariant: no edge leaves a terminal state.

use serde::Serialize;

/// The literal state of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Announced; nothing ran yet.
    Created,
    /// Being started.
    Starting,
    /// Working.
    Running,
    /// Waiting for something named by a [`WaitingReason`].
    Waiting,
    /// Ended well. Terminal.
    Completed,
    /// Ended badly. Terminal.
    Failed,
    /// Stopped by somebody. Terminal.
    Cancelled,
    /// Gone, by an authority's word or its owner's proven death. Terminal.
    Lost,
}

impl State {
    /// All states, in the order of a life.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Starting,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Lost,
    ];

    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether the state ends a life.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Lost)
    }

    /// The states that one edge leads to.
    #[must_use]
    pub fn successors(self) -> &'static [Self] {
        use State::{Cancelled, Completed, Created, Failed, Lost, Running, Starting, Waiting};
        match self {
            Created => &[Starting, Cancelled, Failed, Lost],
            Starting => &[Running, Waiting, Cancelled, Failed, Lost],
            Running => &[Waiting, Completed, Failed, Cancelled, Lost],
            Waiting => &[Running, Completed, Failed, Cancelled, Lost],
            Completed | Failed | Cancelled | Lost => &[],
        }
    }

    /// Whether one edge leads from here to `next`.
    #[must_use]
    pub fn allows(self, next: Self) -> bool {
        self.successors().contains(&next)
    }

    /// The states strictly between here and `next` on a shortest path of edges; `None` where there is no path.
    #[must_use]
    pub fn steps_to(self, next: Self) -> Option<&'static [Self]> {
        use State::{Completed, Created, Running, Starting, Waiting};
        match (self, next) {
            _ if self.allows(next) => Some(&[]),
            (Created, Running | Waiting) => Some(&[Starting]),
            (Created, Completed) => Some(&[Starting, Running]),
            (Starting, Completed) => Some(&[Running]),
            _ => None,
        }
    }
}

/// What a `waiting` child waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitingReason {
    /// A turn ended; the user is next.
    Prompt,
    /// An approval.
    Permission,
    /// An answer.
    Question,
    /// An error or a limit holds it.
    Blocked,
    /// Its children.
    Child,
    /// Something else, or not said.
    Other,
}

impl WaitingReason {
    /// All reasons.
    pub const ALL: [Self; 6] =
        [Self::Prompt, Self::Permission, Self::Question, Self::Blocked, Self::Child, Self::Other];

    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Blocked => "blocked",
            Self::Child => "child",
            Self::Other => "other",
        }
    }

    /// The reason with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    /// The edges as contract section 2 writes them, one line per source state.
    const EDGES: [(&str, &str); 8] = [
        ("created", "starting cancelled failed lost"),
        ("starting", "running waiting cancelled failed lost"),
        ("running", "waiting completed failed cancelled lost"),
        ("waiting", "running completed failed cancelled lost"),
        ("completed", ""),
        ("failed", ""),
        ("cancelled", ""),
        ("lost", ""),
    ];

    #[test]
    fn edges_are_the_contracts() {
        for (from, allowed) in EDGES {
            let from = State::parse(from).unwrap();
            for to in State::ALL {
                let expected = allowed.split(' ').any(|word| word == to.as_str());
                assert_eq!(from.allows(to), expected, "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn steps_are_legal_paths_and_exist_exactly_where_a_path_does() {
        for from in State::ALL {
            let mut reachable = from.successors().to_vec();
            let mut next = 0;
            while next < reachable.len() {
                for &state in reachable[next].successors() {
                    if !reachable.contains(&state) {
                        reachable.push(state);
                    }
                }
                next += 1;
            }
            for to in State::ALL {
                let steps = from.steps_to(to);
                // A state is reached from itself only over a round trip (running -> waiting -> running), which is
                // no transition but evidence of the same state, so no steps are offered for it.
                assert_eq!(steps.is_some(), reachable.contains(&to) && from != to, "{from:?} -> {to:?}");
                if let Some(steps) = steps {
                    let mut at = from;
                    for &step in steps.iter().chain([&to]) {
                        assert!(at.allows(step), "{at:?} -> {step:?}");
                        at = step;
                    }
                }
            }
        }
    }
}

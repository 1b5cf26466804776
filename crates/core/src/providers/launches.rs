//! Sub-agents that one agent launched, and which journal is whose.
//!
//! Input: launches, results, task reports, journals without a launch. Output: bindings and ends. Invariant: a launch has at
//! most one journal, a journal at most one launch, and each life of it ends once. Never: holds more than [`LAUNCHES`].

use super::bounded::Bounded;
use super::ids::{fingerprint, fingerprint_all, id};
use crate::agent::Outcome;
use crate::contract::Moment;

/// Launches that are remembered; a further one takes the place of the oldest.
const LAUNCHES: usize = 4096;

/// A prompt within the context of one `promptId`, or of a journal that has none, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptKey {
    prompt_id: Option<u64>,
    text: u64,
}

impl PromptKey {
    /// The key of the prompt whose text is the concatenation of `texts`.
    pub(super) fn new<'a>(prompt_id: Option<u64>, texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self { prompt_id, text: fingerprint_all(texts) }
    }
}

/// The journal of a sub-agent that nothing else binds.
#[derive(Clone, Debug, PartialEq)]
pub struct Orphan {
    /// The sub-agent's own id.
    pub agent_id: String,
    /// The time of its first record.
    pub first_time: Option<Moment>,
    /// Its first prompt.
    pub prompt: PromptKey,
}

/// See the module.
#[derive(Debug)]
pub struct Launches(Bounded<Launch>);

#[derive(Debug)]
struct Launch {
    id: String,
    title: Option<String>,
    prompt: Option<PromptKey>,
    /// The agent that its own result named. What this journal says follows from this alone: what other journals bind comes sooner or
    /// later, as they are read.
    named: Option<String>,
    agent_id: Option<String>,
    end: Option<End>,
    /// When its call returned without a word on its end.
    returned: Option<Moment>,
}

#[derive(Debug)]
struct End {
    time: Option<Moment>,
    outcome: Outcome,
    /// Whether a report told of it, not the call's own result.
    is_reported: bool,
}

impl Launch {
    /// Whether it may have begun the journal of `orphan`: the same prompt, and not over before its first record.
    fn suits(&self, orphan: &Orphan) -> bool {
        let time_of_end = self.end.as_ref().map_or(self.returned, |end| end.time);
        let was_over = time_of_end.zip(orphan.first_time).is_some_and(|(end, first)| end < first);
        self.agent_id.is_none() && self.prompt == Some(orphan.prompt) && !was_over
    }

    /// Whether it may never have run: it failed, or was refused.
    fn is_doubtful(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.outcome != Outcome::Success)
    }
}

impl Launches {
    pub(super) fn new() -> Self {
        Self(Bounded::new(LAUNCHES))
    }

    /// Whether nothing was launched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().next().is_none()
    }

    pub(super) fn start(&mut self, launch: &str, title: Option<String>, prompt: Option<PromptKey>) {
        let entry = Launch {
            id: launch.to_owned(),
            title,
            prompt,
            named: None,
            agent_id: None,
            end: None,
            returned: None,
        };
        self.0.insert(fingerprint(launch), entry);
    }

    /// Ends `launch` by the result of its call; `false` where it is unknown or has ended.
    pub(super) fn finish(&mut self, launch: &str, outcome: Outcome, time: Option<Moment>) -> bool {
        let launch = self.0.get_mut(fingerprint(launch)).filter(|launch| launch.end.is_none());
        let end = End { time, outcome, is_reported: false };
        launch.is_some_and(|launch| launch.end.replace(end).is_none())
    }

    /// Notes when the call of `launch` returned: no journal that begins later is its own.
    pub(super) fn returned(&mut self, launch: &str, time: Option<Moment>) {
        if let Some(launch) = self.0.get_mut(fingerprint(launch)) {
            launch.returned = time;
        }
    }

    /// Ends `launch` by a report that was not told before; `false` where it is unknown or its call's own result has ended it.
    ///
    /// Only one report comes of each life. So a further one tells of a life that began without this agent, which its own journal
    /// shows; where none began, the one that has ended stays as it is.
    pub(super) fn finish_reported(&mut self, launch: &str, outcome: Outcome, time: Option<Moment>) -> bool {
        let launch = self.0.get_mut(fingerprint(launch));
        let Some(launch) = launch.filter(|launch| launch.end.as_ref().is_none_or(|end| end.is_reported))
        else {
            return false;
        };
        launch.end = Some(End { time, outcome, is_reported: true });
        true
    }

    /// Begins a new life of the sub-agent `agent_id`, where its last one has ended; its launch, and what that is called.
    pub(super) fn restart(&mut self, agent_id: &str) -> Option<(String, Option<String>)> {
        let key = fingerprint(self.named(agent_id)?);
        let launch = self.0.get_mut(key).filter(|launch| launch.end.is_some())?;
        launch.end = None;
        Some((launch.id.clone(), launch.title.clone()))
    }

    /// The launch with one of these native ids, the first that is known.
    #[must_use]
    pub fn find(&self, tool_use_id: Option<&str>, agent_id: Option<&str>) -> Option<String> {
        let by_id = tool_use_id.and_then(id).filter(|launch| self.0.contains(fingerprint(launch)));
        by_id.or_else(|| self.named(&id(agent_id?)?).map(str::to_owned))
    }

    /// The launch whose result named `agent_id`.
    pub(super) fn named(&self, agent_id: &str) -> Option<&str> {
        // Of several the latest: an agent that went on by another call.
        let mut launches = self.0.values().rev();
        launches.find(|launch| launch.named.as_deref() == Some(agent_id)).map(|launch| launch.id.as_str())
    }

    /// Notes that the result of `launch` names `agent_id`.
    pub(super) fn name(&mut self, launch: &str, agent_id: &str) {
        if let Some(launch) = self.0.get_mut(fingerprint(launch)) {
            launch.named = Some(agent_id.to_owned());
        }
        self.bind(launch, agent_id);
    }

    /// The launch whose journal is that of `agent_id`.
    #[must_use]
    pub fn of(&self, agent_id: &str) -> Option<&str> {
        let launch = self.0.values().find(|launch| launch.agent_id.as_deref() == Some(agent_id))?;
        Some(&launch.id)
    }

    /// Binds a journal on evidence; a binding of either side to another is undone. `false` where this is no news or the launch
    /// is unknown.
    pub fn bind(&mut self, launch: &str, agent_id: &str) -> bool {
        let key = fingerprint(launch);
        let former = self.of(agent_id).map(fingerprint);
        if !self.0.contains(key) || former == Some(key) {
            return false;
        }
        if let Some(former) = former.and_then(|former| self.0.get_mut(former)) {
            former.agent_id = None;
        }
        if let Some(launch) = self.0.get_mut(key) {
            launch.agent_id = Some(agent_id.to_owned());
        }
        true
    }

    /// Binds journals by equal prompts. Where several launches have the same prompt, journals in the order of their first
    /// records (then of their ids; without a time last) get the launches in the order of their calls, those that failed last.
    ///
    /// Gives pairs of agent id and launch: a launch gets one journal at most, and none that begins after its end.
    pub fn claim(&mut self, orphans: &[Orphan]) -> Vec<(String, String)> {
        let mut orphans: Vec<&Orphan> = orphans.iter().collect();
        orphans.sort_by_key(|orphan| (orphan.first_time.is_none(), orphan.first_time, &orphan.agent_id));
        let mut bound = Vec::new();
        for orphan in orphans {
            let launch = match self.of(&orphan.agent_id) {
                Some(launch) => Some(launch.to_owned()),
                None => self.free(orphan).map(|launch| launch.id.clone()),
            };
            let Some(launch) = launch else { continue };
            if let Some(entry) = self.0.get_mut(fingerprint(&launch)) {
                entry.agent_id = Some(orphan.agent_id.clone());
            }
            bound.push((orphan.agent_id.clone(), launch));
        }
        bound
    }

    fn free(&self, orphan: &Orphan) -> Option<&Launch> {
        self.0.values().filter(|launch| launch.suits(orphan)).min_by_key(|launch| launch.is_doubtful())
    }
}

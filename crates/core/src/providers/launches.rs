//! Sub-agents that one agent launched, and which journal is whose.
//!
//! Input: launches, results, task reports, journals without a launch. Output: bindings and ends. Invariant: a launch has at
//! most one journal, a journal at most one launch, and each life of it ends once. Never: holds more than [`LAUNCHES`].

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::bounded::Bounded;
use super::ids::{fingerprint, fingerprint_all, id};
use crate::agent::Outcome;
use crate::contract::Moment;

/// Launches that are remembered; a further one takes the place of the oldest.
const LAUNCHES: usize = 4096;

/// A prompt within the context of one `promptId`, or of a journal that has none, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
pub struct Launches {
    all: Bounded<Launch>,
    started: u64,
    forgot: u64,
    /// The launch whose journal is that of an agent, and the latest whose result named it.
    by_agent: HashMap<u64, u64>,
    by_name: HashMap<u64, u64>,
    /// The launches without a journal of each prompt, in the order of their calls.
    free: HashMap<PromptKey, BTreeSet<(u64, u64)>>,
}

#[derive(Debug)]
struct Launch {
    id: String,
    /// How many were launched before it.
    place: u64,
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
    /// Whether it may have begun the journal of `orphan`, which has its prompt: it was not over before the first record.
    fn suits(&self, orphan: &Orphan) -> bool {
        let time_of_end = self.end.as_ref().map_or(self.returned, |end| end.time);
        let was_over = time_of_end.zip(orphan.first_time).is_some_and(|(end, first)| end < first);
        !was_over
    }

    /// Whether it may never have run: it failed, or was refused.
    fn is_doubtful(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.outcome != Outcome::Success)
    }
}

impl Launches {
    pub(super) fn new() -> Self {
        Self {
            all: Bounded::new(LAUNCHES),
            started: 0,
            forgot: 0,
            by_agent: HashMap::new(),
            by_name: HashMap::new(),
            free: HashMap::new(),
        }
    }

    /// Whether nothing was launched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.started == 0
    }

    /// Launches that are no longer remembered.
    #[must_use]
    pub fn forgot(&self) -> u64 {
        self.forgot
    }

    /// Whether a launch was read, and is remembered.
    #[must_use]
    pub fn knows(&self, launch: &str) -> bool {
        self.all.contains(fingerprint(launch))
    }

    pub(super) fn start(&mut self, launch: &str, title: Option<String>, prompt: Option<PromptKey>) {
        let (key, place) = (fingerprint(launch), self.started);
        let id = launch.to_owned();
        let entry =
            Launch { id, place, title, prompt, named: None, agent_id: None, end: None, returned: None };
        if let Some(prompt) = prompt {
            self.free.entry(prompt).or_default().insert((place, key));
        }
        self.started += 1;
        if let Some((key, oldest)) = self.all.insert(key, entry) {
            self.forgot += 1;
            self.forget(key, &oldest);
        }
    }

    /// Removes what leads to a launch that is forgotten.
    fn forget(&mut self, key: u64, launch: &Launch) {
        self.take_free(launch.prompt, (launch.place, key));
        for (agent, of) in [(&launch.agent_id, &mut self.by_agent), (&launch.named, &mut self.by_name)] {
            if let Some(agent) = agent.as_deref().map(fingerprint)
                && of.get(&agent) == Some(&key)
            {
                of.remove(&agent);
            }
        }
    }

    fn take_free(&mut self, prompt: Option<PromptKey>, place: (u64, u64)) {
        if let Some(prompt) = prompt
            && let Some(free) = self.free.get_mut(&prompt)
        {
            free.remove(&place);
            if free.is_empty() {
                self.free.remove(&prompt);
            }
        }
    }

    /// Ends `launch` by the result of its call; `false` where it is unknown or has ended.
    pub(super) fn finish(&mut self, launch: &str, outcome: Outcome, time: Option<Moment>) -> bool {
        let launch = self.all.get_mut(fingerprint(launch)).filter(|launch| launch.end.is_none());
        let end = End { time, outcome, is_reported: false };
        launch.is_some_and(|launch| launch.end.replace(end).is_none())
    }

    /// Notes when the call of `launch` returned: no journal that begins later is its own.
    pub(super) fn returned(&mut self, launch: &str, time: Option<Moment>) {
        if let Some(launch) = self.all.get_mut(fingerprint(launch)) {
            launch.returned = time;
        }
    }

    /// Ends `launch` by a report that was not told before; `false` where it is unknown or its call's own result has ended it.
    ///
    /// Only one report comes of each life. So a further one tells of a life that began without this agent, which its own journal
    /// shows; where none began, the one that has ended stays as it is.
    pub(super) fn finish_reported(&mut self, launch: &str, outcome: Outcome, time: Option<Moment>) -> bool {
        let launch = self.all.get_mut(fingerprint(launch));
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
        let launch = self.all.get_mut(key).filter(|launch| launch.end.is_some())?;
        launch.end = None;
        Some((launch.id.clone(), launch.title.clone()))
    }

    /// The launch with one of these native ids, the first that is known.
    #[must_use]
    pub fn find(&self, tool_use_id: Option<&str>, agent_id: Option<&str>) -> Option<String> {
        let by_id = tool_use_id.and_then(id).filter(|launch| self.all.contains(fingerprint(launch)));
        by_id.or_else(|| self.named(&id(agent_id?)?).map(str::to_owned))
    }

    /// The launch whose result named `agent_id`; of several the latest, for an agent that went on by another call.
    pub(super) fn named(&self, agent_id: &str) -> Option<&str> {
        Some(&self.all.get(*self.by_name.get(&fingerprint(agent_id))?)?.id)
    }

    /// Notes that the result of `launch` names `agent_id`.
    pub(super) fn name(&mut self, launch: &str, agent_id: &str) {
        let (key, agent) = (fingerprint(launch), fingerprint(agent_id));
        let place_of = |key: u64| self.all.get(key).map(|launch| launch.place);
        let latest = self.by_name.get(&agent).copied().and_then(place_of);
        let Some(place) = place_of(key) else { return };
        if latest.is_none_or(|latest| latest < place) {
            self.by_name.insert(agent, key);
        }
        if let Some(launch) = self.all.get_mut(key) {
            launch.named = Some(agent_id.to_owned());
        }
        self.bind(launch, agent_id);
    }

    /// The launch whose journal is that of `agent_id`.
    #[must_use]
    pub fn of(&self, agent_id: &str) -> Option<&str> {
        Some(&self.all.get(*self.by_agent.get(&fingerprint(agent_id))?)?.id)
    }

    /// Whether a result says that the journal of `agent_id` is not that of `launch`.
    #[must_use]
    pub fn is_other(&self, launch: &str, agent_id: &str) -> bool {
        let named = self.all.get(fingerprint(launch)).and_then(|launch| launch.named.as_deref());
        let of = self.named(agent_id);
        named.is_some_and(|named| named != agent_id) || of.is_some_and(|of| of != launch)
    }

    /// Binds a journal on evidence; a binding of either side to another is undone. `false` where this is no news or the launch
    /// is unknown.
    pub fn bind(&mut self, launch: &str, agent_id: &str) -> bool {
        let (key, agent) = (fingerprint(launch), fingerprint(agent_id));
        let former = self.by_agent.get(&agent).copied();
        if !self.all.contains(key) || former == Some(key) {
            return false;
        }
        if let Some((key, launch)) = former.and_then(|key| Some((key, self.all.get_mut(key)?))) {
            launch.agent_id = None;
            if let Some(prompt) = launch.prompt {
                self.free.entry(prompt).or_default().insert((launch.place, key));
            }
        }
        self.give(key, agent_id);
        true
    }

    /// Gives a launch the journal of `agent_id`.
    fn give(&mut self, key: u64, agent_id: &str) {
        let Some(launch) = self.all.get_mut(key) else { return };
        let former = launch.agent_id.replace(agent_id.to_owned());
        let (prompt, place) = (launch.prompt, launch.place);
        if let Some(former) = former {
            self.by_agent.remove(&fingerprint(&former));
        }
        self.by_agent.insert(fingerprint(agent_id), key);
        self.take_free(prompt, (place, key));
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
            if let Some(launch) = self.of(&orphan.agent_id) {
                bound.push((orphan.agent_id.clone(), launch.to_owned()));
            } else if let Some(key) = self.free_for(orphan) {
                self.give(key, &orphan.agent_id);
                bound.extend(
                    self.of(&orphan.agent_id).map(|launch| (orphan.agent_id.clone(), launch.to_owned())),
                );
            }
        }
        bound
    }

    /// The first launch that suits, one that failed only where there is no other.
    fn free_for(&self, orphan: &Orphan) -> Option<u64> {
        let mut doubtful = None;
        for &(_, key) in self.free.get(&orphan.prompt)? {
            match self.all.get(key).filter(|launch| launch.suits(orphan)) {
                Some(launch) if launch.is_doubtful() => doubtful = doubtful.or(Some(key)),
                Some(_) => return Some(key),
                None => {}
            }
        }
        doubtful
    }
}

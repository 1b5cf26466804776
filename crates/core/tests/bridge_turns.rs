//! Several open turns of one agent, and the names of agents, through the bridge that hosts use.

use agent_lifecycle_core::agent::{AgentEvent, Outcome};
use agent_lifecycle_core::bridge::direct::{DirectBridge, Origin};
use agent_lifecycle_core::bridge::{Content, OPEN_TURNS, Session};
use agent_lifecycle_core::contract::{Capabilities, Kind, Moment, State, WaitingReason};
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_core::project::{Config, Projector};
use agent_lifecycle_core::providers::Facts;

struct Story {
    bridge: DirectBridge,
    projector: Projector,
    said: i64,
    reconciliations: usize,
}

impl Story {
    fn new(session_id: &str) -> Self {
        let session = Session {
            source: "test/1".to_owned(),
            provider: "test".to_owned(),
            session_id: session_id.to_owned(),
            epoch: "1".to_owned(),
            content: Content::Titles,
            external: false,
            capabilities: Capabilities::default(),
        };
        let bridge = DirectBridge::new(session, Facts::default(), None);
        let mut story =
            Self { bridge, projector: Projector::new(Config::default()), said: 0, reconciliations: 0 };
        story.say(AgentEvent::SessionStarted { title: None, prompt_text: None, model: None }, None);
        story
    }

    fn say(&mut self, event: AgentEvent, turn: Option<&str>) {
        self.said += 1;
        let at = Moment::from_unix_millis(self.said * 1000).into();
        for event in self.bridge.take(event, at, turn, &Origin::Said) {
            self.reconciliations += usize::from(event.kind == Kind::Reconciliation);
            self.projector.apply(&event, None).unwrap();
        }
    }

    fn start(&mut self, turn: &str) {
        self.say(
            AgentEvent::TurnStarted { turn_id: turn.to_owned(), agent_id: None, prompt_text: None },
            None,
        );
    }

    fn done(&mut self, outcome: Outcome, turn: Option<&str>) {
        self.say(AgentEvent::Done { outcome, agent_id: None, summary: None }, turn);
    }

    fn launch(&mut self, id: &str) {
        self.say(
            AgentEvent::SubagentStarted {
                subagent_id: id.to_owned(),
                parent_agent_id: None,
                title: None,
                prompt_text: None,
                model: None,
            },
            None,
        );
    }

    fn rows(&mut self) -> Vec<Row> {
        rows(self.projector.records(), &BesideAll::new())
    }

    /// State, reason, whether the newest turn is open, and the outcomes of all.
    fn root(&mut self) -> (State, Option<WaitingReason>, bool, Vec<Option<&'static str>>) {
        let row = self.rows().swap_remove(0);
        let outcomes = row.turns.recent.iter().map(|turn| turn.outcome.map(Outcome::as_str)).collect();
        (row.state, row.waiting_reason, row.turn.is_some_and(|turn| turn.open), outcomes)
    }
}

const PROMPT: Option<WaitingReason> = Some(WaitingReason::Prompt);

#[test]
fn the_root_waits_only_when_no_turn_is_open() {
    let mut story = Story::new("s");
    story.start("1");
    story.start("2");
    story.done(Outcome::Success, Some("2"));
    assert_eq!(story.root(), (State::Running, None, false, vec![None, Some("success")]));
    story.done(Outcome::Error, Some("1"));
    assert_eq!(story.root(), (State::Waiting, PROMPT, false, vec![Some("error"), Some("success")]));
    // The older one first; without a name the one opened last ends.
    let mut story = Story::new("s");
    story.start("1");
    story.start("2");
    story.done(Outcome::Cancelled, Some("1"));
    assert_eq!(story.root(), (State::Running, None, true, vec![Some("cancelled"), None]));
    story.done(Outcome::Success, None);
    assert_eq!(story.root(), (State::Waiting, PROMPT, false, vec![Some("cancelled"), Some("success")]));
}

#[test]
fn a_wait_ends_with_its_own_turn() {
    let mut story = Story::new("s");
    story.start("1");
    let wait = |id: &str| AgentEvent::WaitStarted {
        wait_id: id.to_owned(),
        state: agent_lifecycle_core::agent::WaitState::Waiting,
        agent_id: None,
        reason: Some("permission".to_owned()),
    };
    story.say(wait("a"), None);
    story.start("2");
    story.say(wait("b"), Some("2"));
    story.done(Outcome::Success, Some("2"));
    let row = story.rows().swap_remove(0);
    assert_eq!(row.waits.iter().map(|wait| wait.wait_id.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!((row.state, row.waiting_reason), (State::Waiting, Some(WaitingReason::Permission)));
    story.done(Outcome::Success, Some("1"));
    assert_eq!(story.rows()[0].waits.len(), 0);
    assert_eq!(story.root().1, PROMPT);
}

#[test]
fn an_exit_with_any_open_turn_is_a_question_and_its_turns_give_way_to_a_next_one() {
    let exited = |exit_code| AgentEvent::Exited { agent_id: None, exit_code, signal: None };
    let mut story = Story::new("s");
    story.start("1");
    story.start("2");
    story.done(Outcome::Success, Some("2"));
    story.say(exited(Some(0)), None);
    assert_eq!((story.root().0, story.reconciliations), (State::Running, 1));
    story.start("3");
    story.done(Outcome::Success, Some("3"));
    assert_eq!(story.root(), (State::Waiting, PROMPT, false, vec![None, Some("success"), Some("success")]));
    // With a code that tells of a failure there is no question.
    let mut story = Story::new("s");
    story.start("1");
    story.start("2");
    story.done(Outcome::Success, Some("2"));
    story.say(exited(Some(1)), None);
    assert_eq!((story.root().0, story.reconciliations), (State::Failed, 0));
}

#[test]
fn open_turns_are_bounded() {
    let mut story = Story::new("s");
    for turn in 0..=OPEN_TURNS {
        story.start(&turn.to_string());
    }
    for turn in 1..=OPEN_TURNS {
        assert_eq!(story.root().0, State::Running);
        story.done(Outcome::Success, Some(&turn.to_string()));
    }
    assert_eq!(story.root().1, PROMPT);
}

#[test]
fn an_agent_event_that_names_the_session_is_about_its_own_agent() {
    let mut story = Story::new("s");
    story.start("1");
    story.say(
        AgentEvent::Done { outcome: Outcome::Success, agent_id: Some("s".to_owned()), summary: None },
        None,
    );
    assert_eq!(story.root(), (State::Waiting, PROMPT, false, vec![Some("success")]));
    assert_eq!(story.rows().len(), 1);
}

#[test]
fn no_two_agents_share_a_row() {
    let ids = ["k", "k#2", "s", "sub-agent:s", "s#2", "@source", " k", &"é".repeat(256), &"あ".repeat(256)];
    let mut story = Story::new("s");
    for _ in 0..2 {
        for id in ids {
            story.launch(id);
            let outcome = Outcome::Success;
            story.say(AgentEvent::SubagentDone { subagent_id: id.to_owned(), outcome, summary: None }, None);
        }
    }
    let lives: Vec<_> = story.projector.records().collect();
    let count = |attempt: u64| lives.iter().filter(|life| life.lineage.attempt == attempt).count();
    assert_eq!((count(1), count(2)), (1 + ids.len(), ids.len()));
    let rows = story.rows();
    assert_eq!(rows.len(), 1 + ids.len());
    let is_whole = |row: &Row| row.state == State::Completed && row.session_id.as_deref() == Some("s");
    assert!(rows.iter().skip(1).all(is_whole));
}

#[test]
fn a_turn_that_ended_before_an_exit_and_is_told_after_it_ends_its_agent_at_the_exit() {
    // The turn ends at 2, or at 4; the exit is at 3.
    let cases = [(2, Some((State::Completed, 3))), (4, None)];
    for (ended, expected) in cases {
        let mut story = Story::new("s");
        story.start("t");
        let at = |second: i64| Moment::from_unix_millis(second * 1000);
        let mut say = |event: AgentEvent, second: i64| {
            for event in story.bridge.take(event, at(second).into(), None, &Origin::Said) {
                story.projector.apply(&event, None).unwrap();
            }
        };
        say(AgentEvent::Exited { agent_id: None, exit_code: None, signal: None }, 3);
        say(AgentEvent::Done { outcome: Outcome::Success, agent_id: None, summary: None }, ended);
        let row = story.rows().remove(0);
        match expected {
            Some((state, since)) => assert_eq!((row.state, row.state_since), (state, at(since))),
            None => {
                assert_eq!((row.state, row.waiting_reason), (State::Waiting, Some(WaitingReason::Prompt)));
            }
        }
        assert_eq!(row.late_evidence, 0);
    }
}

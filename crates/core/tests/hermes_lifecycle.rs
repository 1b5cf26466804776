//! Hermes' delegations as schema-v1 events, through the projector: stories, and what each of their messages makes.

mod common;

use agent_lifecycle_core::bridge::hermes::{HermesLifecycle, Options};
use agent_lifecycle_core::bridge::{CHILDREN, Content};
use agent_lifecycle_core::contract::{Capabilities, Code, State};
use agent_lifecycle_core::project::Status;
use agent_lifecycle_core::providers::hermes::Message;
use common::hermes::{Host, at, check};
use serde_json::{Value, json};

#[test]
fn a_child_that_is_seen_from_its_spawn() {
    let host = check(&[
        ("spawn:c", "c@s.created"),
        ("think:c", "c@s.activity"),
        ("start:c", "c@s.state_changed.starting* c@s.state_changed.running"),
        ("tool:c:bash", "c@s.activity"),
        ("end:c:failed", "c@s.terminal.failed"),
    ]);
    assert!(host.told.iter().all(|event| !event.lineage.external && event.lineage.adopted_at.is_none()));
    assert!(host.told.iter().all(|event| event.lineage.attempt == 1 && event.lineage.root_child_id == "c@s"));
    // The state of an activity is Hermes' own.
    let host = check(&[("spawn:c", "c@s.created"), ("tool:c:bash", "c@s.activity")]);
    assert_eq!(host.state("c@s"), Some(State::Created));
    // From `created` to an end: over every step that a life has.
    check(&[
        ("spawn:c", "c@s.created"),
        ("end:c", "c@s.state_changed.starting* c@s.state_changed.running* c@s.terminal.completed"),
    ]);
    check(&[("spawn:c", "c@s.created"), ("end:c:failed", "c@s.terminal.failed")]);
    check(&[("spawn:c", "c@s.created"), ("end:c:cancelled", "c@s.terminal.cancelled")]);
}

#[test]
fn a_child_that_is_first_seen_later_is_adopted_then() {
    for (first, events, state) in [
        ("start:c", "c@s.state_changed.running", Some(State::Running)),
        ("think:c", "c@s.created* c@s.activity", Some(State::Created)),
        ("input:c:waiting", "c@s.state_changed.waiting", Some(State::Waiting)),
        ("input:c:created", "c@s.created", Some(State::Created)),
        ("complete c:waiting", "c@s=waiting(snapshot_admitted)", Some(State::Waiting)),
        ("complete c:completed", "c@s=completed(snapshot_admitted)", Some(State::Completed)),
        // What it was is not known: it is reported, and no more.
        ("end:c:completed", "!unknown_child", None),
        ("end:c", "!unknown_child", None),
        ("end:c:running", "!unknown_child", None),
        ("input:c:failed", "!unknown_child", None),
        ("correct:c:running", "!unknown_child", None),
        ("missing:c", "!unknown_child", None),
        ("incomplete c:running", "", None),
    ] {
        let host = check(&[(first, events)]);
        assert_eq!(host.state("c@s"), state, "{first}");
        let record = host.projector.record("hermes/1", "c@s");
        assert!(record.is_none_or(|record| record.lineage.external), "{first}");
        let adopted = record.map(|record| record.lineage.adopted_at.as_ref().unwrap().moment());
        assert_eq!(adopted, state.map(|_| at(1).moment()), "{first}");
    }
    // The spawn that comes after is history.
    check(&[("start:c +5", "c@s.state_changed.running"), ("spawn:c +1", "!already_created")]);
}

#[test]
fn a_completion_that_is_none_moves_along_legal_edges_or_is_reported() {
    check(&[
        ("start:c", "c@s.state_changed.running"),
        ("end:c:waiting", "c@s.state_changed.waiting"),
        ("end:c:active", "c@s.state_changed.running"),
        ("end:c:running", "c@s.state_changed.running"),
        ("end:c:starting", "!illegal_transition"),
        ("end:c:pending", "!illegal_transition"),
        ("end:c:completed", "c@s.terminal.completed"),
    ]);
    check(&[
        ("spawn:c", "c@s.created"),
        ("end:c:pending", "!illegal_transition"),
        ("end:c:waiting", "c@s.state_changed.starting* c@s.state_changed.waiting"),
    ]);
}

#[test]
fn what_ended_stays_and_only_a_later_spawn_begins_anew() {
    check(&[
        ("spawn:c +1", "c@s.created"),
        ("start:c +2", "c@s.state_changed.starting* c@s.state_changed.running"),
        ("end:c:completed +5", "c@s.terminal.completed"),
        ("think:c +6", "c@s.activity(late_evidence)"),
        ("start:c +7", "c@s.state_changed.running(late_evidence)"),
        ("end:c:failed +8", "c@s.terminal.failed(late_evidence)"),
        // A second reading.
        ("spawn:c +1", ""),
        ("end:c:completed +5", "c@s.terminal.completed(deduplicated)"),
        ("input:c:running +9", ""),
        ("correct:c:running +9", ""),
        ("missing:c +9", ""),
        ("complete c:running +10", "c@s=completed(end_contradicted)"),
        // Asked for again, before its end and after.
        ("spawn:c +3", "!already_created"),
        ("spawn:c +20", "c@s#2.created"),
        ("start:c +21", "c@s#2.state_changed.starting* c@s#2.state_changed.running"),
        // The end of the first life comes a second time.
        ("end:c:completed +5", "!late_event"),
        ("complete c:waiting +22", "c@s#2=waiting"),
    ]);
}

#[test]
fn what_comes_late_changes_no_state() {
    check(&[
        ("spawn:c +1", "c@s.created"),
        ("complete c:waiting +5", "c@s=waiting"),
        ("start:c +2", "!late_event"),
        ("start:c +6", "c@s.state_changed.running"),
        ("start:c +6", "c@s.state_changed.running(deduplicated)"),
        // An older snapshot says nothing; the end of a child does, whenever it was observed.
        ("complete c:waiting +4", ""),
        ("incomplete c:running +4", ""),
        ("end:c:completed +3", "c@s.terminal.completed"),
    ]);
}

#[test]
fn snapshots_correct_refresh_and_leave_out() {
    check(&[
        ("start:a", "a@s.state_changed.running"),
        ("start:b", "b@s.state_changed.running"),
        ("complete a:waiting b:running", "a@s=waiting b@s=running"),
        ("complete a:pending:bash b:running", "a@s=created b@s=running a@s.activity"),
        ("complete a:pending:bash b:running", "a@s=created b@s=running"),
        ("incomplete a:running b:running:read", "b@s.heartbeat"),
        ("incomplete a:pending", "a@s.heartbeat"),
        // Left out once, and then twice: the projector counts.
        ("complete a:pending", "a@s=created"),
        ("complete a:pending", "a@s=created b@s=running(complete_snapshot_missing)"),
        ("complete a:failed b:active", "a@s=failed b@s=running"),
        ("complete a:failed b:active", "a@s=failed b@s=running"),
    ]);
    check(&[
        ("start:a", "a@s.state_changed.running"),
        ("missing:a", "?a@s complete_snapshot_missing"),
        ("correct:a:waiting", "a@s.state_changed.waiting"),
        ("correct:a:waiting", ""),
        ("correct:a:created", "!illegal_transition"),
        ("input:a:waiting", "a@s.heartbeat"),
        ("input:a:completed", "a@s.terminal.completed"),
    ]);
}

#[test]
fn a_status_that_is_not_understood_is_a_note_on_its_child_and_nothing_more() {
    let host = check(&[
        ("start:a", "a@s.state_changed.running"),
        ("start:b", "b@s.state_changed.running"),
        ("end:a:exploded", "a@s.diagnostic !invalid_state"),
        ("end:a:exploded", "!invalid_state"),
        ("start:a", "a@s.state_changed.running"),
        ("complete a:exploded b:waiting", "b@s=waiting a@s.diagnostic !invalid_state"),
        // It is there, so that it is never missed, and as long as it is, nobody is.
        ("complete a:exploded", "!invalid_state"),
        ("complete a:exploded", "!invalid_state"),
        ("complete x:exploded", "!invalid_state"),
        ("complete a:running b:waiting", "a@s=running b@s=waiting"),
        ("end:x:exploded", "!invalid_state"),
    ]);
    let record = host.projector.record("hermes/1", "a@s").unwrap();
    assert_eq!(record.notes.as_ref().map_or(0, |notes| notes.count), 2);
    assert_eq!(host.state("x@s"), None);
}

#[test]
fn a_status_that_is_not_understood_ends_a_run_of_misses() {
    let host = check(&[
        ("start:a", "a@s.state_changed.running"),
        ("complete a:exploded", "a@s.diagnostic !invalid_state"),
        ("complete ", ""),
        // It was there: told anew, though the status is the same one.
        ("complete a:exploded", "a@s.diagnostic !invalid_state"),
        ("complete a:exploded", "!invalid_state"),
        ("complete ", ""),
        ("end:a:exploded", "a@s.diagnostic !invalid_state"),
        ("complete ", ""),
        // What is incomplete counts nothing and ends nothing.
        ("incomplete ", ""),
        ("complete ", "a@s=running(complete_snapshot_missing)"),
    ]);
    // None of it is evidence that it lives: that is from its start.
    let freshness = &host.projector.record("hermes/1", "a@s").unwrap().freshness;
    assert_eq!(freshness.newest.at, at(1).moment());
    // Of before the snapshot that left it out: it says nothing of after.
    check(&[
        ("start:a +1", "a@s.state_changed.running"),
        ("complete  +5", ""),
        ("end:a:exploded +3", "a@s.diagnostic !invalid_state"),
        ("complete  +6", "a@s=running(complete_snapshot_missing)"),
    ]);
}

#[test]
fn two_sessions_never_meet() {
    check(&[
        ("start:c@one", "c@one.state_changed.running"),
        ("spawn:c@two", "c@two.created"),
        ("end:c@one", "c@one.terminal.completed"),
        ("complete c@two:running", "c@two=running"),
        ("spawn:c#2@two", "c%232@two.created"),
    ]);
}

#[test]
fn parents_are_those_that_are_known() {
    let mut host = Host::new(Some("root"), Content::Titles);
    let mut say = |child: &str, session: &str, parent: Option<&str>| {
        let message = json!({"type": "subagent.spawn_requested", "child_id": child, "session_id": session,
            "observed_at": at(1).as_str(), "parent_id": parent});
        host.push(&message, 1);
        let lineage = &host.told.last().unwrap().lineage;
        (
            lineage.parent_child_id.clone().map(std::borrow::Cow::into_owned),
            lineage.root_child_id.clone().into_owned(),
        )
    };
    let parent = |id: &str| Some(id.to_owned());
    // What the host's session delegated, what that delegated, and what nobody knows delegated.
    assert_eq!(say("a", "s1", None), (parent("root"), "root".to_owned()));
    assert_eq!(say("b", "s2", Some("a")), (parent("a@s1"), "root".to_owned()));
    assert_eq!(say("c", "s3", Some("nobody")), (None, "root".to_owned()));
    // An id that two sessions have is nobody's.
    say("a", "s4", None);
    assert_eq!(say("d", "s5", Some("a")), (None, "root".to_owned()));
}

#[test]
fn the_cause_of_an_end_is_known_only_where_a_status_came_with_it() {
    for (end, known) in [("end:c:completed", "known"), ("end:c:failed", "known"), ("end:c", "unknown")] {
        let mut host = Host::new(None, Content::Titles);
        for (second, word) in (1..).zip(["spawn:c", "start:c", end]) {
            host.say(word, second);
        }
        let capabilities = host.projector.record("hermes/1", "c@s").unwrap().capabilities;
        assert_eq!(capabilities.terminal_cause.as_str(), known, "{end}");
        assert_eq!(capabilities.history.as_str(), "unknown");
    }
}

#[test]
fn the_level_of_content_holds() {
    let message = json!({"type": "subagent.start", "child_id": "c", "session_id": "s", "observed_at": at(1).as_str(),
        "goal": "fix the build", "tool": "bash", "model": "m", "summary": "went well", "duration": 2,
        "files": ["a.rs"], "output_tail": ["ok"], "parent_id": "p"});
    for (content, activity, title, beside) in [
        (Content::None, "bash", None, "parentId currentTool duration"),
        (Content::Titles, "bash: fix the build", Some("fix the build"), "parentId currentTool duration"),
        (
            Content::Full,
            "bash: fix the build",
            Some("fix the build"),
            "parentId currentTool duration summary files outputTail",
        ),
    ] {
        let mut host = Host::new(None, content);
        host.push(&message, 1);
        let event = &host.told[0];
        assert_eq!(event.activity.as_deref(), Some(activity));
        let details = serde_json::to_value(event.details.as_ref().unwrap()).unwrap();
        let facts = json!({"provider": "hermes", "sessionId": "s", "title": title, "model": "m"});
        let facts: serde_json::Map<_, _> =
            facts.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
        assert_eq!(details["facts"], Value::Object(facts));
        let said = serde_json::to_string(&details["hermes"]).unwrap();
        let named = beside.split(' ').all(|name| said.contains(&format!("\"{name}\":")));
        assert!(named && details["hermes"].as_object().unwrap().len() == beside.split(' ').count(), "{said}");
    }
}

#[test]
fn children_are_bounded_and_those_that_ended_make_room() {
    let mut host = Host::new(None, Content::Titles);
    for child in 0..CHILDREN {
        host.hermes.push(&spawn(child, 1), at(1));
    }
    let made = host.hermes.push(&spawn(CHILDREN, 1), at(1));
    assert_eq!((made.events.len(), made.reported[0].code), (0, "too_many_children"));
    host.hermes.push(
        &Message::from_json(
            br#"{"type":"subagent.complete","child_id":"7","session_id":"s",
        "observed_at":"2026-05-17T12:00:00Z"}"#,
        )
        .unwrap(),
        at(1),
    );
    assert_eq!(host.hermes.push(&spawn(CHILDREN, 1), at(1)).events.len(), 1);
}

fn spawn(child: usize, second: i64) -> Message {
    let text = json!({"type": "subagent.spawn_requested", "child_id": child.to_string(), "session_id": "s",
        "observed_at": at(second).as_str()});
    Message::from_json(text.to_string().as_bytes()).unwrap()
}

#[test]
fn a_loss_is_an_end_of_which_the_lifecycle_is_told() {
    for (tell, expected) in [(true, "c@s#2.created"), (false, "!already_created")] {
        let mut host = check(&[("start:c", "c@s.state_changed.running")]);
        host.projector.mark_stale(at(200).moment());
        host.projector.reconciliation_failed("hermes/1", "c@s", at(300).moment());
        assert_eq!(host.state("c@s"), Some(State::Lost));
        if tell {
            let since = at(300).moment();
            assert!(!host.hermes.corrected("hermes/2", "c@s", State::Lost, since));
            assert!(!host.hermes.corrected("hermes/1", "c@s#2", State::Lost, since));
            assert!(!host.hermes.corrected("hermes/1", "d@s", State::Lost, since));
            assert!(host.hermes.corrected("hermes/1", "c@s", State::Lost, since));
            assert!(!host.hermes.corrected("hermes/1", "c@s", State::Running, since));
        }
        assert_eq!(host.say("spawn:c", 400), expected);
    }
}

/// A lifecycle of another epoch, for a projector that goes on.
fn restarted(host: &mut Host, epoch: &str) {
    host.hermes = HermesLifecycle::new(Options {
        source: "hermes/1".to_owned(),
        source_epoch: epoch.to_owned(),
        root_child_id: None,
        content: Content::Titles,
        capabilities: Capabilities::default(),
    });
}

#[test]
fn an_epoch_is_entered_by_the_first_snapshot_that_is_accepted() {
    // Two seconds behind the last one of the epoch before: without effect, as an older snapshot is. Then one that is not older.
    let mut host = check(&[("complete c:running +60", "c@s=running(snapshot_admitted)")]);
    restarted(&mut host, "2");
    assert_eq!(host.status("complete", "c:waiting", 58), "snapshot_repeated");
    assert_eq!(host.projector.epoch("hermes/1"), Some("1"));
    assert_eq!(host.say("think:c", 59), "c@s.activity(epoch_conflict)");
    assert_eq!(host.status("complete", "c:waiting", 61), "c@s=waiting");
    assert_eq!(host.projector.epoch("hermes/1"), Some("2"));
    assert_eq!(host.say("think:c", 62), "c@s.activity");
    // The same status at the same time, of another epoch, is another snapshot.
    restarted(&mut host, "3");
    assert_eq!(host.status("complete", "c:waiting", 61), "c@s=waiting");
    assert_eq!(host.projector.epoch("hermes/1"), Some("3"));
}

#[test]
fn a_snapshot_of_which_children_were_dropped_is_not_everything() {
    let mut host = Host::new(None, Content::Titles);
    assert_eq!(host.status("complete", "known:running", 1), "known@s=running(snapshot_admitted)");
    restarted(&mut host, "2");
    for child in 0..CHILDREN {
        host.hermes.push(&spawn(child, 1), at(1));
    }
    // It is listed each time, and there is no room to remember it.
    for second in [2, 3, 4] {
        assert_eq!(host.status("complete", "known:running", second), "!too_many_children");
    }
    assert!(host.projector.record("hermes/1", "known@s").unwrap().freshness.stale.is_none());
}

#[test]
fn a_long_id_leaves_no_room_for_the_number_of_a_life_and_is_found_all_the_same() {
    // `<child>@s`: at 510 the first life fits and the second is a hash; at 511 both are hashes.
    for length in [100, 509, 510, 511] {
        let child = "x".repeat(length);
        let mut host = Host::new(None, Content::Titles);
        for (second, word) in (1..).zip(["spawn", "start", "end", "spawn", "start"]) {
            host.say(&format!("{word}:{child}"), second);
        }
        let id = host.hermes.child_id(&child, "s");
        host.projector.request_reconciliation("hermes/1", &id, "silence", at(6).moment());
        let lost = host.projector.reconciliation_failed("hermes/1", &id, at(600).moment());
        assert_eq!(lost.status, Status::Applied, "{length}");
        let since = host.projector.get(lost.record.unwrap()).unwrap().state_since;
        assert!(!host.hermes.corrected("hermes/2", &id, State::Lost, since));
        assert!(host.hermes.corrected("hermes/1", &id, State::Lost, since), "{length}");
        assert!(!host.hermes.corrected("hermes/1", &id, State::Lost, since), "it has ended");
        assert!(host.say(&format!("spawn:{child}"), 700).ends_with("#3.created"), "{length}");
    }
}

#[test]
fn without_content_only_numbers_are_passed_on() {
    for (tokens, duration, passed) in [
        (json!(5), json!(2.5), "duration tokens"),
        (json!({"input": 5, "output": {"text": 3}}), json!("two seconds"), "tokens"),
        (json!("the prompt"), json!({"x": "the prompt"}), ""),
        (json!({"input": 5, "note": "the prompt"}), json!(["the prompt"]), ""),
    ] {
        let message = json!({"type": "subagent.start", "child_id": "c", "session_id": "s",
            "observed_at": at(1).as_str(), "tokens": tokens, "duration": duration});
        for (content, expected) in [(Content::None, passed), (Content::Titles, "duration tokens")] {
            let mut host = Host::new(None, content);
            host.push(&message, 1);
            let details = serde_json::to_value(host.told[0].details.as_ref().unwrap()).unwrap();
            let members = details.get("hermes").and_then(Value::as_object);
            let names: Vec<&str> =
                members.into_iter().flat_map(|members| members.keys().map(String::as_str)).collect();
            assert_eq!(names.join(" "), expected, "{tokens} {duration}");
        }
    }
}

#[test]
fn neither_an_input_nor_an_intent_says_that_a_child_is_lost() {
    for message in [
        json!({"kind": "correct_projection", "childId": "c", "sessionId": "s", "from": "running", "to": "lost"}),
        json!({"kind": "snapshot_reconciled", "childId": "c", "sessionId": "s", "state": "lost",
            "observedAt": at(1).as_str()}),
    ] {
        let refusal = Message::from_json(message.to_string().as_bytes()).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidState);
        assert_eq!(refusal.message, "Hermes has no status that means lost");
    }
}

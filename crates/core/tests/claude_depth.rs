//! Claude Code sessions whose records are not the session's alone: sidechains, forks, agents below agents.

mod common;

use std::fmt::Write as _;

use agent_lifecycle_core::contract::State;
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::providers::claude_code::{JournalReader, recognize};
use agent_lifecycle_core::providers::{Line, Reader as _, Recognized, Role};
use common::claude::{LAUNCH, calls, record, result, says, shorts, user};
use common::journals::{Journal, read_all, timed};

/// The record as one of the sub-agent `agent`, after the record `parent`.
fn side(agent: Option<&str>, parent: Option<&str>, line: &str) -> String {
    let agent = agent.map(|agent| format!(r#""agentId":"{agent}","#)).unwrap_or_default();
    let parent = parent.map_or("null".to_owned(), |parent| format!("{parent:?}"));
    line.replacen('{', &format!(r#"{{"isSidechain":true,{agent}"parentUuid":{parent},"#), 1)
}

fn of_session(line: &str, session: &str) -> String {
    line.replace(r#""sessionId":"s""#, &format!(r#""sessionId":"{session}""#))
}

/// What each owner of a session's own journal says, by its agent.
fn owners(lines: &[String]) -> Vec<(String, Vec<String>)> {
    let recognized = Recognized { session_id: "s".to_owned(), role: Role::Root, parent: None };
    let mut reader = JournalReader::new(&recognized);
    let mut said: Vec<Vec<String>> = Vec::new();
    for (offset, line) in lines.iter().enumerate() {
        let mut out = Vec::new();
        let read = reader.read(line.as_bytes(), offset as u64, &|_| false, &mut out).unwrap();
        let Line::Read { owner, .. } = read else { panic!("{read:?}") };
        said.resize(reader.owners().len(), Vec::new());
        said[owner].extend(shorts(&out));
    }
    let name = |role: &Role, session: &str| match role {
        Role::Root => session.to_owned(),
        Role::Child { agent_id } => format!("{session}/{agent_id}"),
    };
    reader.owners().iter().map(|owner| name(&owner.role, &owner.session_id)).zip(said).collect()
}

#[track_caller]
fn assert_owners(lines: &[String], expected: &[(&str, &[&str])]) {
    let found = owners(lines);
    let found: Vec<(&str, Vec<&str>)> =
        found.iter().map(|(who, said)| (who.as_str(), said.iter().map(String::as_str).collect())).collect();
    let expected: Vec<(&str, Vec<&str>)> = expected.iter().map(|(who, said)| (*who, said.to_vec())).collect();
    assert_eq!(found, expected);
}

#[test]
fn lines_of_sub_agents_among_the_sessions_own_are_theirs() {
    let lines = [
        user("u", "p", "Go"),
        side(Some("aname-0f3c"), None, &user("x1", "p", "Look")),
        side(None, None, &user("y1", "p", "Count")),
        side(Some("aname-0f3c"), Some("x1"), &says("x2", "mx")),
        side(None, Some("y1"), &calls("y2", "t", "Bash", "{}")),
        // The session goes on in between.
        says("a", "m"),
        side(None, Some("y2"), &result("y3", "t", "false", "")),
        // Twice, and after a record that never came.
        side(None, Some("y2"), &result("y3", "t", "false", "")),
        side(None, Some("lost"), &says("z", "mz")),
    ];
    assert_owners(
        &lines,
        &[
            ("s", &["session", r#"turn p "Go" @p"#, "done success @p"]),
            ("s/aname-0f3c", &[r#"turn user:x1 "Look" @user:x1"#, "done success @user:x1"]),
            (
                "s/sidechain:y1",
                &[r#"turn user:y1 "Count" @user:y1"#, "tool t Bash @user:y1", "finished t success @user:y1"],
            ),
        ],
    );
}

#[test]
fn a_journal_holds_a_bounded_number_of_sub_agents() {
    let recognized = Recognized { session_id: "s".to_owned(), role: Role::Root, parent: None };
    let mut reader = JournalReader::new(&recognized);
    let mut read = |line: &str| reader.read(line.as_bytes(), 0, &|_| false, &mut Vec::new()).unwrap();
    for n in 1..1024 {
        let line = side(Some(&format!("a{n}")), None, &user(&format!("u{n}"), "p", "Go"));
        assert!(matches!(read(&line), Line::Read { owner, .. } if owner == n), "{n}");
    }
    assert_eq!(read(&side(Some("a1024"), None, &user("v", "p", "Go"))), Line::Beyond);
    // Those that are known, and the session, are read on.
    assert!(matches!(read(&side(Some("a7"), None, &says("w", "m"))), Line::Read { owner: 7, .. }));
    assert!(matches!(read(&user("u", "p", "Go")), Line::Read { owner: 0, .. }));
}

#[test]
fn a_session_that_begins_with_a_sidechain_is_a_session() {
    let begin = side(Some("a1"), None, &user("x", "p", "Warmup"));
    let is = |text: &str| recognize(text.as_bytes()).unwrap().role;
    assert_eq!(is(&begin), Role::Child { agent_id: "a1".into() });
    let main = user("u", "p", "Go").replacen('{', r#"{"isSidechain":false,"#, 1);
    assert_eq!(is(&format!("{begin}\n{main}")), Role::Root);
    // A record that does not say so leaves the journal the sub-agent's.
    assert_eq!(is(&format!("{begin}\n{}", user("u", "p", "Go"))), Role::Child { agent_id: "a1".into() });
    assert_eq!(is(&side(None, None, &user("x", "p", "Warmup"))), Role::Root);
}

fn copied(line: &str, from: &str) -> String {
    line.replacen('{', &format!(r#"{{"forkedFrom":{{"sessionId":"{from}","messageUuid":"x"}},"#), 1)
}

#[test]
fn copied_records_are_those_of_the_session_that_they_were_copied_from() {
    let history =
        [user("u", "p", "Old"), calls("a", "t", "Bash", "{}"), result("r", "t", "false", ""), says("b", "m")];
    let old =
        &["session", r#"turn p "Old" @p"#, "tool t Bash @p", "finished t success @p", "done success @p"];
    let own = of_session(&user("n", "p2", "New"), "new");
    let expected_own = &["session", r#"turn p2 "New" @p2"#];
    // They say so; or they still name their session.
    let told: Vec<String> = history.iter().map(|line| copied(&of_session(line, "new"), "old")).collect();
    let named: Vec<String> = history.iter().map(|line| of_session(line, "old")).collect();
    for copies in [told, named] {
        let lines: Vec<String> = copies.into_iter().chain([own.clone()]).collect();
        assert_owners(&lines, &[("s", &[]), ("old", old), ("new", expected_own)]);
    }
    // In one file under both names: a uuid counts for the session that had it first.
    let twice: Vec<String> = history
        .iter()
        .map(|line| of_session(line, "old"))
        .chain(history.iter().map(|line| of_session(line, "old-again")))
        .chain([own])
        .collect();
    let lines: Vec<String> =
        [of_session(&user("o", "p0", "First"), "new")].into_iter().chain(twice).collect();
    let expected_own = &["session", r#"turn p0 "First" @p0"#, "superseded p0 @p0", r#"turn p2 "New" @p2"#];
    assert_owners(&lines, &[("s", &[]), ("new", expected_own), ("old", old)]);
}

fn turn_ids(row: &Row) -> Vec<&str> {
    row.turns.recent.iter().map(|turn| turn.turn_id.as_str()).collect()
}

#[test]
fn a_fork_and_what_it_was_copied_from_say_nothing_twice() {
    let old: Vec<String> =
        [user("u", "p", "Old"), calls("a", "t", "Bash", "{}"), result("r", "t", "false", ""), says("b", "m")]
            .iter()
            .zip(1..)
            .map(|(line, second)| timed(second, &of_session(line, "old")))
            .collect();
    let own = timed(60, &of_session(&user("n", "p2", "New"), "new"));
    let told: Vec<String> =
        old.iter().map(|line| copied(&line.replace(r#""old""#, r#""new""#), "old")).collect();
    let fork = |copies: &[String]| copies.iter().cloned().chain([own.clone()]).collect::<Vec<_>>();
    let (told, named) = (fork(&told), fork(&old));
    let summary = |rows: &[Row]| -> Vec<String> {
        let mut all: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "{} {} {} {:?}",
                    row.child_id,
                    row.state.as_str(),
                    row.tools.count.unwrap(),
                    turn_ids(row)
                )
            })
            .collect();
        all.sort();
        all
    };
    let both = [r#"new running 0 ["p2"]"#, r#"old waiting 1 ["p"]"#];
    for by_line in [false, true] {
        for fork in [&told, &named] {
            let alone: [Journal<'_>; 1] = [("new", Role::Root, None, fork)];
            // Alone the fork tells of both sessions, and leaves the other to its own journal where that is read elsewhere.
            assert_eq!(summary(&read_all(&alone, &[], by_line)), both);
            assert_eq!(summary(&read_all(&alone, &["old"], by_line)), both[..1]);
            // With the other's own journal in one pipeline each record counts once.
            let together: [Journal<'_>; 2] = [alone[0].clone(), ("old", Role::Root, None, &old)];
            assert_eq!(summary(&read_all(&together, &[], by_line)), both);
        }
    }
}

#[test]
fn parents_are_right_at_every_depth_in_whatever_order_the_journals_come() {
    let agent = |depth: usize| format!("a{depth}");
    let launch = |depth: usize| format!("l{depth}");
    let mut journals: Vec<(Option<String>, Vec<String>)> = Vec::new();
    for depth in 0..=5 {
        let second = i64::try_from(depth).unwrap() * 10;
        let mut lines = vec![timed(second + 1, &user(&format!("u{depth}"), "p", "Look"))];
        if depth < 5 {
            lines.push(timed(second + 2, &calls(&format!("c{depth}"), &launch(depth + 1), "Agent", LAUNCH)));
        }
        journals.push(((depth > 0).then(|| launch(depth)), lines));
    }
    for turn in 0..6 {
        let mut all: Vec<Journal<'_>> = journals
            .iter()
            .enumerate()
            .map(|(depth, (launch, lines))| {
                let role = if depth == 0 { Role::Root } else { Role::Child { agent_id: agent(depth) } };
                ("s", role, launch.as_deref(), lines.as_slice())
            })
            .collect();
        all.rotate_left(turn);
        for by_line in [false, true] {
            let rows = read_all(&all, &[], by_line);
            let parents: Vec<Option<&str>> = rows.iter().map(|row| row.parent_key.as_deref()).collect();
            let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
            assert_eq!(keys.len(), 6);
            assert_eq!(parents[0], None);
            assert_eq!(
                parents[1..],
                keys[..5].iter().copied().map(Some).collect::<Vec<_>>(),
                "{turn} {by_line}"
            );
            assert!(rows[..5].iter().all(|row| row.live_children == 1));
        }
    }
}

#[test]
fn facts_reach_the_row_although_nothing_follows() {
    let says = timed(1, &says("a", "m")).replacen(r#""id":"m","#, r#""id":"m","usage":{"input_tokens":3,"cache_read_input_tokens":900,"cache_creation_input_tokens":97,"output_tokens":5},"#, 1);
    let mode = timed(2, &record("mode", r#""version":"2.1.260","cwd":"/elsewhere","gitBranch":"tides""#));
    let lines = [timed(0, &user("u", "p", "Go")), says, mode];
    for by_line in [false, true] {
        let rows = read_all(&[("s", Role::Root, None, &lines)], &[], by_line);
        let [row] = &rows[..] else { panic!() };
        assert_eq!(row.agent_version.as_deref(), Some("2.1.260"));
        assert_eq!(
            (row.place.cwd.as_deref(), row.place.branch.as_deref()),
            (Some("/elsewhere"), Some("tides"))
        );
        // What was read and written to the cache fills the context; what fits it is nowhere said.
        let context = row.context.as_ref().unwrap();
        assert_eq!((context.used, context.window), (1000, None));
        assert_eq!(row.state, State::Waiting, "a fact changes no state");
    }
}

#[test]
fn a_journal_of_records_that_nobody_knows_is_degraded() {
    let lines = |unknown: usize, known: usize| -> Vec<String> {
        let mut lines = vec![timed(0, &user("u", "p", "Go"))];
        lines.extend((1..known).map(|n| record("mode", &format!(r#""n":{n}"#))));
        lines.extend((0..unknown).map(|n| record("teleport", &format!(r#""n":{n}"#))));
        lines
    };
    for (unknown, known, degraded) in
        [(0, 1, false), (1, 4, false), (2, 7, true), (1, 3, true), (20, 80, false), (21, 79, true)]
    {
        let lines = lines(unknown, known);
        let rows = read_all(&[("s", Role::Root, None, &lines)], &[], false);
        assert_eq!(rows[0].degraded, degraded, "{unknown} of {}", unknown + known);
        assert_eq!(rows[0].state, State::Running);
    }
}

#[test]
fn hostile_sidechains_stay_bounded_and_quick() {
    let recognized = Recognized { session_id: "s".to_owned(), role: Role::Root, parent: None };
    let mut reader = JournalReader::new(&recognized);
    let (mut line, mut beyond, mut out) = (String::new(), 0, Vec::new());
    for n in 0..40_000 {
        line.clear();
        write!(
            line,
            r#"{{"type":"user","isSidechain":true,"uuid":"{n}","parentUuid":null,"sessionId":"s{}","message":{{"content":"x"}}}}"#,
            n % 80
        )
        .unwrap();
        beyond += usize::from(reader.read(line.as_bytes(), n, &|_| false, &mut out).unwrap() == Line::Beyond);
        out.clear();
    }
    assert_eq!((reader.owners().len(), beyond), (1024, 40_000 - 1023));
}

#[test]
fn an_agent_whose_records_are_in_two_places_is_one_agent() {
    let own = [
        timed(3, &side(Some("a1"), None, &user("x1", "p", "Look at it."))),
        timed(4, &side(Some("a1"), Some("x1"), &calls("x2", "t", "Bash", "{}"))),
    ];
    let late = [timed(5, &side(Some("a1"), Some("x2"), &result("x3", "t", "false", "")))];
    let launch = [timed(1, &user("u", "p", "Go")), timed(2, &calls("a", "l1", "Agent", LAUNCH))];
    let child = || Role::Child { agent_id: "a1".into() };
    // Among the session's lines and in a file; in two files, one of which goes on.
    let both = [&launch[..], &own].concat();
    let longer = [&own[..], &late].concat();
    for (root, files) in [(&both[..], vec![&longer]), (&launch[..], vec![&longer, &longer])] {
        for told in [Some("l1"), None] {
            for by_line in [false, true] {
                let mut journals: Vec<Journal<'_>> = vec![("s", Role::Root, None, root)];
                journals.extend(files.iter().map(|lines| -> Journal<'_> { ("s", child(), told, lines) }));
                let rows = read_all(&journals, &[], by_line);
                let ids: Vec<&str> = rows.iter().map(|row| row.child_id.as_str()).collect();
                assert_eq!(ids, ["s", "l1"], "{told:?}, by line: {by_line}");
                assert_eq!(
                    (rows[1].tools.count, rows[1].tools.open.len(), rows[1].turns.count),
                    (Some(1), 0, 1)
                );
                assert_eq!((rows[1].late_evidence, rows[0].live_children), (0, 1));
            }
        }
    }
}

//! Damaged journals: what they refuse, what a repair keeps, and that nothing is deleted.

use std::io::ErrorKind;

use super::{append, draft, engine, event_text, line, sim, text};
use crate::journal::replay::Replayed;
use crate::journal::{FaultCode, Options, TornTail};
use crate::storage::sim::{Injected, Sim};

fn with(content: &[u8]) -> Sim {
    let sim = sim();
    sim.put("/d/j", content);
    sim
}

fn quarantining() -> Options {
    Options { torn_tail: TornTail::Quarantine, ..Options::default() }
}

/// Torn tails, also inside a character.
fn tails() -> Vec<Vec<u8>> {
    let whole = line("ä", 1, 2);
    let cut = whole.find('ä').expect("there") + 1;
    vec![
        b"{".to_vec(),
        whole.as_bytes()[..cut].to_vec(),
        whole.trim_end().as_bytes().to_vec(),
        vec![0; 700],
        b" ".to_vec(),
        vec![b'x'; 300_000],
    ]
}

#[test]
fn a_torn_tail_blocks_or_goes_to_quarantine() {
    for tail in tails() {
        let first = line("a", 1, 1);
        let torn = [first.as_bytes(), &tail].concat();

        let sim = with(&torn);
        let fault = append(&mut engine(&sim, 1, Options::default()), &[draft("b", 1)]).expect_err("torn");
        assert_eq!(fault.code, FaultCode::Integrity);
        let place = format!("journal integrity: /d/j has truncated at byte {};", first.len());
        assert!(fault.message.starts_with(&place) && fault.message.contains("quarantine"), "{fault}");
        assert_eq!(sim.content("/d/j"), Some(torn.clone()), "nothing was changed");

        let sim = with(&torn);
        let mut engine = engine(&sim, 1, quarantining());
        assert_eq!(append(&mut engine, &[draft("b", 1)]), Ok(2));
        assert_eq!(text(&sim), first.clone() + &line("b", 1, 2));
        assert_eq!(sim.content("/d/j.quarantine-1"), Some(tail.clone()));

        // The next one does not take its name.
        let again = [sim.content("/d/j").expect("there"), b"[".to_vec()].concat();
        sim.put("/d/j", &again);
        assert_eq!(append(&mut engine, &[draft("b", 2)]), Ok(3));
        assert_eq!(sim.content("/d/j.quarantine-2"), Some(b"[".to_vec()));
    }
}

/// A damaged file by lines, and what is wrong.
fn damaged() -> Vec<(&'static str, Vec<u8>)> {
    let mid = |bytes: &[u8]| [line("a", 1, 1).as_bytes(), bytes, b"\n", line("b", 1, 5).as_bytes()].concat();
    vec![
        ("malformed", mid(b"{\"a\":")),
        ("malformed", mid(&[0; 40])),
        ("malformed", mid(&[line("z", 1, 3).trim_end().as_bytes(), &[0, 0]].concat())),
        ("invalid_utf8", mid(b"{\"a\":\"\xff\"}")),
        ("invalid_event", mid(b"{\"schemaVersion\":2}")),
        ("no_sequence", mid(event_text("z", 1).as_bytes())),
        ("oversize", mid(&[b'y'; 262_145])),
        ("not_increasing", mid(line("z", 1, 1).trim_end().as_bytes())),
        ("too_deep", mid(&[b'['; 1200])),
        // A byte order mark inside the file is no white space for JSON.
        ("malformed", mid(b"\xef\xbb\xbf{}")),
    ]
}

#[test]
fn damage_is_named_with_its_place_and_blocks_appends() {
    for (code, content) in damaged() {
        for options in [Options::default(), quarantining()] {
            let sim = with(&content);
            let mut engine = engine(&sim, 1, options);
            let fault = append(&mut engine, &[draft("c", 1)]).expect_err(code);
            let place = format!("journal integrity: /d/j has {code} at byte {}", line("a", 1, 1).len());
            assert!(fault.message.starts_with(&place), "{code}: {fault}");
            assert_eq!(sim.content("/d/j"), Some(content.clone()));
            let verified = engine.verify().expect("readable");
            assert!(!verified.valid && !verified.torn_tail);
            assert_eq!(verified.problems[0].code, code);
            assert_eq!(verified.problems[0].offset, line("a", 1, 1).len() as u64);
        }
    }
}

#[test]
fn damage_that_others_add_is_found_behind_what_is_remembered() {
    for (code, content) in damaged() {
        let sim = sim();
        let mut engine = engine(&sim, 1, Options::default());
        append(&mut engine, &[draft("a", 1)]).expect("free");
        assert_eq!(text(&sim), line("a", 1, 1));
        let mut file = crate::storage::Storage::open(&sim, "/d/j".as_ref(), crate::storage::Open::Append)
            .expect("there");
        file.append(&content[line("a", 1, 1).len()..]).expect("written");
        drop(file);
        let fault = append(&mut engine, &[draft("c", 1)]).expect_err(code);
        assert!(fault.message.contains(&format!("{code} at byte {}", line("a", 1, 1).len())), "{fault}");
    }
}

/// Every byte of `content` that was in no entry is in the quarantine.
fn quarantined(sim: &Sim) -> Vec<u8> {
    sim.content("/d/j.quarantine-1").unwrap_or_default()
}

#[test]
fn a_repair_keeps_every_event_and_quarantines_the_rest() {
    for (code, content) in damaged() {
        let sim = with(&content);
        let mut engine = engine(&sim, 1, Options::default());
        let repaired = engine.repair().expect("repairable");
        assert!(repaired.changed);
        assert_eq!(repaired.problem_count, 1, "{code}");
        let bad = content[line("a", 1, 1).len()..content.len() - line("b", 1, 5).len()].to_vec();
        let start = line("a", 1, 1);
        let is_event =
            matches!(code, "no_sequence" | "not_increasing") || bad.starts_with(b"{\"schemaVersion\":1");
        if bad.starts_with(b"{\"schemaVersion\":1") && bad.ends_with(&[0, 0, b'\n']) {
            // NUL bytes behind an entry: the entry stays, and the line as it was is kept too.
            assert!(text(&sim).starts_with(&(start + &line("z", 1, 3) + &line("b", 1, 5))), "{}", text(&sim));
            assert_eq!((repaired.kept, repaired.renumbered, repaired.quarantined), (3, 0, 1));
            assert_eq!(quarantined(&sim), bad);
        } else if is_event {
            // From here on the numbers are new: 2 and 3.
            assert!(text(&sim).starts_with(&(start + &line("z", 1, 2) + &line("b", 1, 3))), "{}", text(&sim));
            assert_eq!((repaired.kept, repaired.renumbered, repaired.quarantined), (3, 2, 0));
            assert_eq!(sim.content("/d/j.quarantine-1"), None);
        } else {
            assert!(text(&sim).starts_with(&(start + &line("b", 1, 5))), "{}", text(&sim));
            assert_eq!((repaired.kept, repaired.renumbered, repaired.quarantined), (2, 0, 1));
            assert_eq!(quarantined(&sim), bad);
        }
        // The note is the last entry, and the journal works again.
        let verified = engine.verify().expect("readable");
        assert!(verified.valid, "{verified:?}");
        assert_eq!(verified.entries, repaired.kept + 1);
        let last = text(&sim).lines().last().expect("the note").to_owned();
        assert!(
            last.contains(r#""source":"agent-lifecycle/journal""#) && last.contains(r#""kind":"diagnostic""#),
            "{last}"
        );
        assert!(last.contains(code), "{last}");
        append(&mut engine, &[draft("c", 1)]).expect("repaired");
        assert!(!engine.repair().expect("valid").changed);
    }
}

/// The quarantine file is on the disk in full, and the journal without what is in it, or it is not there and the journal as it was.
#[test]
fn a_repair_on_a_full_disk_leaves_no_part_of_a_quarantine() {
    let content = [line("a", 1, 1).as_bytes(), b"nonsense\n", line("b", 1, 5).as_bytes()].concat();
    let calls = |sim: &Sim| sim.state().calls();
    let whole = {
        let sim = with(&content);
        engine(&sim, 1, Options::default()).repair().expect("repairable");
        calls(&sim)
    };
    let (mut removed, mut kept) = (0, 0);
    for call in 1..=whole {
        for fault in [Injected::Error(ErrorKind::StorageFull), Injected::Short(3)] {
            let sim = with(&content);
            let before = calls(&sim);
            let is_short = matches!(fault, Injected::Short(_));
            sim.state().faults.insert(before + call, fault);
            if is_short {
                // What was begun ends for want of room.
                sim.state().faults.insert(before + call + 1, Injected::Error(ErrorKind::StorageFull));
            }
            let Err(fault) = engine(&sim, 1, Options::default()).repair() else { continue };
            let is_as_it_was = sim.content("/d/j").as_ref() == Some(&content);
            match sim.content("/d/j.quarantine-1") {
                None => {
                    assert!(is_as_it_was, "call {call}: {fault}");
                    removed += u32::from(fault.message.contains("the quarantine file was removed again"));
                }
                Some(bytes) => {
                    assert_eq!(bytes, b"nonsense\n", "call {call}: {fault}");
                    kept += 1;
                }
            }
            // Whatever was left, the next repair comes to the same.
            sim.state().faults.clear();
            engine(&sim, 2, Options::default()).repair().expect("there is room again");
            assert!(text(&sim).starts_with(&(line("a", 1, 1) + &line("b", 1, 5))), "call {call}");
        }
    }
    assert!(removed > 3 && kept > 0, "{removed} removed, {kept} kept");
}

#[test]
fn a_repair_of_a_torn_tail() {
    for tail in tails() {
        let sim = with(&[line("a", 1, 1).as_bytes(), &tail].concat());
        let mut engine = engine(&sim, 1, Options::default());
        let repaired = engine.repair().expect("repairable");
        assert_eq!((repaired.kept, repaired.quarantined, repaired.problem_count), (1, 1, 1));
        assert_eq!(quarantined(&sim), tail);
        assert!(engine.verify().expect("readable").valid);
        assert_eq!(append(&mut engine, &[draft("b", 1)]), Ok(3));
    }
}

#[test]
fn a_valid_journal_is_not_touched_by_a_repair() {
    for content in [String::new(), line("a", 1, 1) + "\n \r\n" + &line("b", 1, 9)] {
        let sim = with(content.as_bytes());
        let repaired = engine(&sim, 1, Options::default()).repair().expect("valid");
        assert!(!repaired.changed);
        assert_eq!(text(&sim), content);
    }
    assert!(!engine(&sim(), 1, Options::default()).repair().expect("nothing there").changed);
}

#[test]
fn a_replay_delivers_what_is_readable_and_names_the_rest_in_its_place() {
    let content = [
        line("a", 1, 1).as_bytes(),
        b"nonsense\n\n",
        line("b", 1, 2).as_bytes(),
        line("c", 1, 2).as_bytes(),
        line("d", 1, 3).as_bytes(),
        b"torn",
    ]
    .concat();
    let sim = with(&content);
    let mut replay = engine(&sim, 1, Options::default()).replay().expect("readable");
    let mut seen = Vec::new();
    while replay
        .step(&mut |replayed| {
            seen.push(match replayed {
                Replayed::Entry(entry, bytes, _) => {
                    assert_eq!(
                        String::from_utf8_lossy(bytes),
                        line(&entry.event.child_id, 1, entry.sequence).trim_end()
                    );
                    format!("{} {}", entry.event.child_id, entry.sequence)
                }
                Replayed::Problem(problem) => problem.code.to_owned(),
            });
        })
        .expect("readable")
    {}
    assert_eq!(seen, ["a 1", "malformed", "b 2", "not_increasing", "d 3", "truncated"]);
}

#[test]
fn no_number_follows_the_highest_that_is_one() {
    let highest = (1 << 53) - 1;
    let sim = with(line("a", 1, highest - 1).as_bytes());
    let mut engine = engine(&sim, 1, Options::default());
    assert_eq!(append(&mut engine, &[draft("b", 1)]), Ok(highest));
    let content = sim.content("/d/j");
    let fault = append(&mut engine, &[draft("b", 2)]).expect_err("used up");
    assert_eq!(fault.code, FaultCode::Integrity);
    assert!(fault.message.contains("used up"), "{fault}");
    assert_eq!(sim.content("/d/j"), content, "nothing was changed");
}

//! Rotation: the path always names a whole journal, numbers go on, and nothing is lost on the way.

use super::{Ids, append, draft, engine, line, sim, text};
use crate::journal::engine::Engine;
use crate::journal::replay::Replayed;
use crate::journal::{FaultCode, Options, Projection, Rotated, Rotation};
use crate::storage::Storage;

fn rotate(engine: &mut Engine, keep: Option<u64>) -> Rotated {
    engine.rotate(Rotation { keep, shared_writers: false }, &mut Ids::default()).expect("rotated")
}

/// The ids that a projection of these files, in this order, has.
fn ids(sim: &crate::storage::sim::Sim, files: &[&str]) -> Vec<String> {
    let together: Vec<u8> = files.iter().flat_map(|path| sim.content(path).expect("there")).collect();
    let copy = super::sim();
    copy.put("/d/j", &together);
    let mut ids = Ids::default();
    let mut replay = engine(&copy, 9, Options::default()).replay().expect("readable");
    while replay
        .step(&mut |replayed| match replayed {
            Replayed::Entry(entry, ..) => ids.take(entry),
            Replayed::Problem(problem) => panic!("{problem:?}"),
        })
        .expect("readable")
    {}
    ids.0
}

#[test]
fn old_plus_new_and_new_alone_are_the_same() {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    append(&mut engine, &[draft("a", 1), draft("b", 1), draft("a", 2)]).expect("free");
    let before = text(&sim);
    let rotated = rotate(&mut engine, None);
    assert_eq!(rotated.old.as_deref(), Some("/d/j.1".as_ref()));
    // A note and an entry for each of three ids, numbered on from 3.
    assert_eq!((rotated.entries, rotated.last_sequence), (4, Some(7)));
    assert_eq!(sim.content("/d/j.1"), Some(before.into_bytes()));
    assert!(text(&sim).starts_with(r#"{"schemaVersion":1,"eventId":"rotate-"#));
    assert!(text(&sim).ends_with(&(line("a", 1, 5) + &line("b", 1, 6) + &line("a", 2, 7))), "{}", text(&sim));
    assert_eq!(ids(&sim, &["/d/j"]), ["a-1", "b-1", "a-2"]);
    assert_eq!(ids(&sim, &["/d/j.1", "/d/j"]), ["a-1", "b-1", "a-2"]);
    assert_eq!(append(&mut engine, &[draft("c", 1)]), Ok(8));
    let mut other = super::engine(&sim, 1, Options::default());
    assert_eq!(append(&mut other, &[draft("c", 2)]), Ok(9));
    let names: Vec<String> = sim.state().names().map(|name| name.display().to_string()).collect();
    assert_eq!(names, ["/", "/d", "/d/j", "/d/j.1", "/d/j.lock.guard"]);
}

#[test]
fn as_many_old_files_as_are_wanted() {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    for id in 1..=4 {
        append(&mut engine, &[draft("a", id)]).expect("free");
        let removed = rotate(&mut engine, Some(2)).removed;
        assert_eq!(removed.len(), usize::from(id > 2), "{removed:?}");
    }
    let old: Vec<bool> = (1..=4).map(|number| sim.content(&format!("/d/j.{number}")).is_some()).collect();
    assert_eq!(old, [false, false, true, true]);
}

#[test]
fn a_rotation_that_was_cut_short_is_gone_on_with() {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    append(&mut engine, &[draft("a", 1)]).expect("free");
    // The link was made, the rename was not; a draft is left.
    sim.link("/d/j".as_ref(), "/d/j.3".as_ref()).expect("free");
    sim.put("/d/j.0123456789abcdef.draft", b"half");
    sim.put("/d/j.notes.draft", b"mine");
    let rotated = rotate(&mut engine, None);
    assert_eq!(rotated.old.as_deref(), Some("/d/j.3".as_ref()));
    assert_eq!(sim.content("/d/j.3"), Some(line("a", 1, 1).into_bytes()));
    assert_eq!(sim.content("/d/j.0123456789abcdef.draft"), None);
    assert_eq!(sim.content("/d/j.notes.draft"), Some(b"mine".to_vec()));
}

#[test]
fn what_is_not_rotated() {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    assert_eq!(rotate(&mut engine, None), Rotated::default());
    sim.put("/d/j", b"");
    assert_eq!(rotate(&mut engine, None), Rotated::default());
    append(&mut engine, &[draft("a", 1)]).expect("free");
    for rotation in
        [Rotation { keep: None, shared_writers: true }, Rotation { keep: Some(0), shared_writers: false }]
    {
        let fault = engine.rotate(rotation, &mut Ids::default()).expect_err("refused");
        assert_eq!(fault.code, FaultCode::InvalidOption);
    }
    let damaged = text(&sim) + "x\n" + &line("b", 1, 2);
    sim.put("/d/j", damaged.as_bytes());
    let rotation = Rotation { keep: None, shared_writers: false };
    let fault = engine.rotate(rotation, &mut Ids::default()).expect_err("damaged");
    assert_eq!(fault.code, FaultCode::Integrity);
    assert_eq!(text(&sim), damaged);
    assert!(sim.content("/d/j.1").is_none());
}

#[test]
fn a_projection_comes_out_of_the_new_file_as_it_was() {
    use agent_lifecycle_core::project::rows::{BesideAll, rows};
    use agent_lifecycle_core::project::{Config, Projector};

    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    let story = [
        ("a", r#""kind":"created","state":"created","sequence":0"#),
        ("b", r#""kind":"created","state":"created","sequence":0"#),
        ("a", r#""kind":"state_changed","state":"starting","sequence":1"#),
        ("a", r#""kind":"state_changed","state":"running","sequence":3"#),
        ("b", r#""kind":"terminal","state":"failed","sequence":1"#),
    ];
    for (at, (child, rest)) in story.into_iter().enumerate() {
        let text = format!(
            r#"{{"schemaVersion":1,"eventId":"{at}","source":"s","sourceEpoch":"1","childId":"{child}","lineage":{{"rootChildId":"{child}","attempt":0,"external":false}},{rest},"observedAt":"2026-01-01T00:00:0{at}Z"}}"#
        );
        let event = agent_lifecycle_core::contract::Event::from_json(text.as_bytes()).expect("an event");
        append(&mut engine, &[crate::journal::Draft::new(&event, None)]).expect("free");
    }
    let project = |files: &[&str]| {
        let together: Vec<u8> = files.iter().flat_map(|path| sim.content(path).expect("there")).collect();
        let copy = super::sim();
        copy.put("/d/j", &together);
        let mut projector = Projector::new(Config::default());
        let mut replay = super::engine(&copy, 9, Options::default()).replay().expect("readable");
        while replay
            .step(&mut |replayed| match replayed {
                Replayed::Entry(entry, ..) => projector.take(entry),
                Replayed::Problem(problem) => panic!("{problem:?}"),
            })
            .expect("readable")
        {}
        let rows = rows(projector.records(), &BesideAll::new());
        serde_json::to_string(&rows).expect("plain data")
    };
    let before = project(&["/d/j"]);
    assert!(before.contains("failed") && before.contains("running"), "{before}");
    let rotation = Rotation { keep: None, shared_writers: false };
    engine.rotate(rotation, &mut Projector::new(Config::default())).expect("rotated");
    assert_eq!(project(&["/d/j"]), before);
    assert_eq!(project(&["/d/j.1", "/d/j"]), before);
}

//! One followed file: cases F1 to F3, D1 over a restart, and what else may happen to a file.

use std::fs::{self, File};
use std::time::SystemTime;

use super::{Place, content, shown};
use crate::follow::{Followed, Position, Start, Trail};

const MOST: usize = 4096;

fn follow(place: &Place, start: Start) -> Followed {
    Followed::new(place.path("a"), start, MOST)
}

/// Looks until there is nothing more.
fn news(followed: &mut Followed) -> Vec<String> {
    std::iter::from_fn(|| followed.poll().unwrap()).map(|chunk| shown(&chunk)).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn f1_other_content_in_place_is_replayed_and_an_append_is_not() {
    let place = Place::new();
    place.rewrite("a", "1".repeat(1000));
    let mut followed = follow(&place, Start::Beginning);
    assert_eq!(news(&mut followed), [format!("append {:?}", "1".repeat(1000))]);
    place.append("a", "more");
    assert_eq!(news(&mut followed), ["append \"more\""]);
    place.rewrite("a", "2".repeat(1200));
    assert_eq!(news(&mut followed), [format!("replace {:?}", "2".repeat(1200))]);
    // Of the same length.
    place.rewrite("a", "3".repeat(1200));
    assert_eq!(news(&mut followed), [format!("replace {:?}", "3".repeat(1200))]);
    assert_eq!(news(&mut followed), NOTHING);
}

#[test]
fn f2_what_is_written_after_a_truncation_is_there_at_once() {
    let place = Place::new();
    place.rewrite("a", "1".repeat(500));
    let mut followed = follow(&place, Start::Beginning);
    news(&mut followed);
    place.rewrite("a", "2".repeat(40));
    assert_eq!(news(&mut followed), [format!("truncate {:?}", "2".repeat(40))]);
    place.rewrite("a", "");
    assert_eq!(news(&mut followed), ["truncate \"\""]);
    place.append("a", "3");
    assert_eq!(news(&mut followed), ["append \"3\""]);
}

#[test]
fn f3_after_a_rename_the_rest_of_the_old_file_comes_first() {
    for length in [3, 2000] {
        let place = Place::new();
        place.rewrite("a", "1\n");
        let mut followed = follow(&place, Start::Beginning);
        news(&mut followed);
        place.rename("a", "a.1");
        place.append("a.1", "2\npart");
        place.rewrite("a", "n".repeat(length));
        let replaced = format!("replace {:?}", "n".repeat(length));
        assert_eq!(news(&mut followed), ["append \"2\\npart\"".to_owned(), replaced]);
        place.append("a.1", "late");
        assert_eq!(news(&mut followed), NOTHING);
    }
}

#[test]
fn a_file_without_its_name_is_read_as_long_as_no_other_takes_it() {
    let place = Place::new();
    place.rewrite("a", "1\n");
    let mut followed = follow(&place, Start::Beginning);
    news(&mut followed);
    place.rename("a", "a.1");
    assert_eq!(news(&mut followed), NOTHING);
    assert!(followed.is_adrift());
    place.append("a.1", "2\n");
    assert_eq!(news(&mut followed), ["append \"2\\n\""]);
    // Back again: as if nothing had been.
    place.rename("a.1", "a");
    place.append("a", "3\n");
    assert_eq!(news(&mut followed), ["append \"3\\n\""]);
    assert!(!followed.is_adrift());
    fs::remove_file(place.path("a")).unwrap();
    assert_eq!(news(&mut followed), NOTHING);
    place.rewrite("a", "");
    assert_eq!(news(&mut followed), ["replace \"\""]);
}

#[test]
fn a_released_file_is_known_again_and_another_under_its_name_is_replaced() {
    let place = Place::new();
    place.rewrite("a", "1\n");
    let mut followed = follow(&place, Start::Beginning);
    news(&mut followed);
    followed.release();
    assert!(!followed.is_open());
    assert_eq!(news(&mut followed), NOTHING);
    place.append("a", "2\n");
    followed.release();
    assert_eq!(news(&mut followed), ["append \"2\\n\""]);
    followed.release();
    place.rewrite("b", "1\n2\n3\n");
    place.rename("b", "a");
    assert_eq!(news(&mut followed), ["replace \"1\\n2\\n3\\n\""]);
}

#[test]
fn a_mere_touch_gives_nothing() {
    let place = Place::new();
    place.rewrite("a", "1\n");
    let mut followed = follow(&place, Start::Beginning);
    news(&mut followed);
    let file = File::options().append(true).open(place.path("a")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(news(&mut followed), NOTHING);
}

#[test]
fn a_missing_file_is_waited_for_and_read_from_its_start() {
    for start in [Start::Beginning, Start::End] {
        let place = Place::new();
        let mut followed = Followed::new(place.path("folder/a"), start, MOST);
        assert_eq!(news(&mut followed), NOTHING);
        fs::create_dir(place.path("folder")).unwrap();
        assert_eq!(news(&mut followed), NOTHING);
        place.append("folder/a", "1\n");
        assert_eq!(news(&mut followed), ["append \"1\\n\""]);
    }
    // It came between the beginning and the first look.
    let place = Place::new();
    let mut followed = follow(&place, Start::End);
    place.append("a", "1\n");
    assert_eq!(news(&mut followed), ["append \"1\\n\""]);
}

#[test]
fn from_the_end_a_line_that_is_not_complete_is_read_from_its_start() {
    for (before, expected) in [
        ("", ""),
        ("1\n", ""),
        ("par", "par"),
        ("1\n2\npar", "par"),
        (&"x".repeat(300_000), ""),
        (&format!("1\n{}", "x".repeat(5000)), &"x".repeat(5000)),
    ] {
        let place = Place::new();
        place.rewrite("a", before);
        let mut followed = follow(&place, Start::End);
        place.append("a", "t\n3\n");
        let mut text = String::new();
        while let Some(chunk) = followed.poll().unwrap() {
            text.push_str(&String::from_utf8(chunk.bytes).unwrap());
        }
        assert_eq!(text, format!("{expected}t\n3\n"));
    }
}

#[test]
fn chunks_have_at_most_the_bytes_that_were_asked_for() {
    for most in [1, 7, 4096, 65_536] {
        let place = Place::new();
        let bytes: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        let length = if most == 1 { 700 } else { bytes.len() };
        place.rewrite("a", &bytes[..length]);
        let mut followed = Followed::new(place.path("a"), Start::Beginning, most);
        let chunks: Vec<_> = std::iter::from_fn(|| followed.poll().unwrap()).collect();
        assert!(chunks.iter().all(|chunk| chunk.bytes.len() <= most));
        assert_eq!(chunks.len(), length.div_ceil(most));
        assert_eq!(content(&chunks), &bytes[..length]);
        // And after a replace.
        place.rewrite("a", &bytes[1..length]);
        let chunks: Vec<_> = std::iter::from_fn(|| followed.poll().unwrap()).collect();
        assert_eq!(content(&chunks), &bytes[1..length]);
    }
}

#[test]
fn what_is_no_file_is_an_error_until_it_is_one() {
    let place = Place::new();
    fs::create_dir(place.path("a")).unwrap();
    let mut followed = follow(&place, Start::Beginning);
    assert!(followed.poll().unwrap_err().to_string().contains("not a regular file"));
    fs::remove_dir(place.path("a")).unwrap();
    place.append("a", "1");
    assert_eq!(news(&mut followed), ["append \"1\""]);
}

type Change = Box<dyn Fn(&Place)>;

/// Takes what is there, and gives the place to go on from as it is stored.
fn take(followed: &mut Followed, trail: &mut Trail) -> Option<String> {
    while let Some(chunk) = followed.poll().unwrap() {
        trail.take(&chunk);
    }
    trail.position().map(|position| serde_json::to_string(&position).unwrap())
}

#[test]
fn d1_a_torn_line_moves_no_place_and_is_whole_after_a_restart() {
    let place = Place::new();
    let (mut followed, mut trail) = (follow(&place, Start::Beginning), Trail::default());
    place.append("a", r#"{"type":"submit","text":"spl"#);
    assert_eq!(take(&mut followed, &mut trail), None);
    place.rewrite("a", "");
    place.append("a", "{\"n\":1}\n{\"type\":\"submit\",\"text\":\"spl");
    let stored = take(&mut followed, &mut trail).unwrap();
    assert_eq!(trail.position().unwrap().offset, 8);
    place.append("a", "it\"}\n");
    let position: Position = serde_json::from_str(&stored).unwrap();
    let mut after = follow(&place, Start::At(position));
    assert_eq!(news(&mut after), [format!("append {:?}", "{\"type\":\"submit\",\"text\":\"split\"}\n")]);
}

#[test]
fn after_a_restart_what_was_changed_meanwhile_is_noticed() {
    let long = format!("{}\n", "1".repeat(999));
    let cases: [(&str, Change, String); 5] = [
        ("nothing", Box::new(|_| ()), String::new()),
        ("append", Box::new(|place| place.append("a", "2\n")), "append \"2\\n\"".to_owned()),
        ("shrunk", Box::new(|place| place.rewrite("a", "x\n")), "truncate \"x\\n\"".to_owned()),
        (
            "other",
            Box::new(|place| place.rewrite("a", "y".repeat(1001))),
            format!("replace {:?}", "y".repeat(1001)),
        ),
        (
            "another file",
            Box::new(|place| {
                fs::copy(place.path("a"), place.path("b")).unwrap();
                place.rename("b", "a");
            }),
            format!("replace {long:?}"),
        ),
    ];
    for (name, change, expected) in cases {
        let place = Place::new();
        place.append("a", &long);
        let mut trail = Trail::default();
        take(&mut follow(&place, Start::Beginning), &mut trail).unwrap();
        change(&place);
        let mut after = follow(&place, Start::At(trail.position().unwrap()));
        assert_eq!(news(&mut after).concat(), expected, "{name}");
    }
}

#[test]
fn a_trail_is_behind_the_last_complete_line_whatever_the_chunks() {
    let place = Place::new();
    let text: String = (0..300).flat_map(|line| ["x".repeat(line * 7 % 40), "\n".to_owned()]).collect();
    place.rewrite("a", format!("{text}torn"));
    let mut positions = Vec::new();
    for most in [1, 2, 511, 512, 513, 65_536] {
        let mut followed = Followed::new(place.path("a"), Start::Beginning, most);
        let mut trail = Trail::default();
        take(&mut followed, &mut trail).unwrap();
        positions.push(trail.position().unwrap());
    }
    positions.dedup();
    assert_eq!(positions.len(), 1);
    assert_eq!(positions[0].offset, text.len() as u64);
    // A restart, a short line, another restart: the place is found again.
    let mut trail = Trail::default();
    place.append("a", "\ny\n");
    take(&mut follow(&place, Start::At(positions[0])), &mut trail).unwrap();
    assert_eq!(news(&mut follow(&place, Start::At(trail.position().unwrap()))), NOTHING);
}

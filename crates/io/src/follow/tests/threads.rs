//! The following thread with the system's watcher, one that fails and one that is silent.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Place, append, content, shown};
use crate::follow::notifier::{self, MakeNotifier, Notifier};
use crate::follow::worker::Timing;
use crate::follow::{Chunk, Event, FileOptions, FolderOptions, Follower, Hub, Key, Start};

/// A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than any test: what comes has been told by the system.
const NEVER: Duration = Duration::from_hours(1);
const SOON: Duration = Duration::from_millis(5);

const OPTIONS: FileOptions = FileOptions { start: Start::Beginning, poll: SOON, most_bytes: 1024 };

fn follower(make: MakeNotifier, sweep: Duration) -> Follower {
    let hub = Hub::start(make, Timing { sweep, grace: Duration::from_millis(50) }).unwrap();
    Follower::of(hub, || ())
}

/// Fails to watch, or cannot even be made.
fn failing(number: i32, at_once: bool) -> MakeNotifier {
    struct Failing(i32);
    impl Notifier for Failing {
        fn watch(&mut self, _: &Path, _: bool) -> io::Result<()> {
            Err(io::Error::from_raw_os_error(self.0))
        }
        fn unwatch(&mut self, _: &Path) {}
    }
    Box::new(
        move |_| {
            if at_once { Err(io::Error::from_raw_os_error(number)) } else { Ok(Box::new(Failing(number))) }
        },
    )
}

/// Watches and never tells.
fn silent() -> MakeNotifier {
    struct Silent;
    impl Notifier for Silent {
        fn watch(&mut self, _: &Path, _: bool) -> io::Result<()> {
            Ok(())
        }
        fn unwatch(&mut self, _: &Path) {}
    }
    Box::new(|_| Ok(Box::new(Silent)))
}

/// Takes events until `done`, asking for more after each chunk.
fn gather(follower: &Follower, mut done: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let until = Instant::now() + PATIENCE;
    let mut events = Vec::new();
    while !done(&events) {
        assert!(Instant::now() < until, "waited in vain after {} events", events.len());
        let Some(event) = follower.next(Duration::from_millis(100)) else { continue };
        if let Event::Chunk { file: key, .. } | Event::Appeared { folder: key, .. } = &event {
            follower.request(*key);
        }
        events.push(event);
    }
    events
}

fn chunks(events: &[Event], key: Key) -> Vec<Chunk> {
    let of_key = |event: &Event| match event {
        Event::Chunk { file, chunk } if *file == key => Some(chunk.clone()),
        _ => None,
    };
    events.iter().filter_map(of_key).collect()
}

fn has(events: &[Event], key: Key, text: &str) -> bool {
    content(&chunks(events, key)).ends_with(text.as_bytes())
}

fn polling(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Polling { .. })).count()
}

#[test]
fn the_system_tells_of_everything_that_happens_to_a_file() {
    let place = Place::new();
    let follower = follower(notifier::system(), NEVER);
    let key = follower.add_file(&place.path("a"), OPTIONS).unwrap();
    follower.request(key);
    let caught_up = |events: &[Event]| events.contains(&Event::CaughtUp { key });
    assert_eq!(gather(&follower, caught_up), [Event::CaughtUp { key }]);
    let mut seen = Vec::new();
    let mut step = |expected: &str| {
        seen.extend(gather(&follower, |events| {
            chunks(events, key).last().is_some_and(|chunk| shown(chunk) == expected)
        }));
    };
    place.append("a", "1\n");
    step("append \"1\\n\"");
    place.append("a", "2\n");
    step("append \"2\\n\"");
    place.rename("a", "a.1");
    place.append("a.1", "3\n");
    step("append \"3\\n\"");
    place.append("b", "new\n");
    place.rename("b", "a");
    step("replace \"new\\n\"");
    place.append("a", "4\n");
    step("append \"4\\n\"");
    fs::File::options().write(true).open(place.path("a")).unwrap().set_len(0).unwrap();
    step("truncate \"\"");
    place.append("a", "5\n");
    step("append \"5\\n\"");
    assert_eq!(polling(&seen), 0);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_its_file() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).unwrap();
    place.append("elsewhere/b", "1\n");
    std::os::unix::fs::symlink(place.path("elsewhere/b"), place.path("a")).unwrap();
    let follower = follower(notifier::system(), NEVER);
    let key = follower.add_file(&place.path("a"), OPTIONS).unwrap();
    follower.request(key);
    gather(&follower, |events| events.contains(&Event::CaughtUp { key }));
    place.append("elsewhere/b", "2\n");
    gather(&follower, |events| chunks(events, key).iter().any(|chunk| chunk.bytes == b"2\n"));
}

#[test]
fn a_folder_may_come_go_and_come_again() {
    let place = Place::new();
    let follower = follower(notifier::system(), NEVER);
    let key = follower.add_file(&place.path("folder/a"), OPTIONS).unwrap();
    follower.request(key);
    gather(&follower, |events| events.contains(&Event::CaughtUp { key }));
    for round in 0..3 {
        fs::create_dir(place.path("folder")).unwrap();
        let text = format!("{round}\n");
        place.append("folder/a", &text);
        gather(&follower, |events| chunks(events, key).iter().any(|chunk| chunk.bytes == text.as_bytes()));
        place.append("folder/a", "more\n");
        gather(&follower, |events| chunks(events, key).iter().any(|chunk| chunk.bytes == b"more\n"));
        fs::remove_dir_all(place.path("folder")).unwrap();
    }
}

fn numbered(rounds: std::ops::Range<u32>) -> String {
    rounds.flat_map(|round| [round.to_string(), "\n".to_owned()]).collect()
}

#[test]
fn f4_a_watcher_that_fails_is_one_warning_and_no_loss() {
    const ENOSPC: i32 = 28;
    const EMFILE: i32 = 24;
    for (number, at_once) in [(ENOSPC, false), (EMFILE, false), (EMFILE, true)] {
        let place = Place::new();
        let follower = follower(failing(number, at_once), NEVER);
        let keys: Vec<Key> =
            (0..20).map(|at| follower.add_file(&place.path(&format!("f{at}")), OPTIONS).unwrap()).collect();
        for key in &keys {
            follower.request(*key);
        }
        for round in 0..50 {
            for at in 0..keys.len() {
                place.append(&format!("f{at}"), format!("{round}\n"));
            }
        }
        let events = gather(&follower, |events| keys.iter().all(|key| has(events, *key, "49\n")));
        let expected = numbered(0..50);
        for key in keys {
            assert_eq!(content(&chunks(&events, key)), expected.as_bytes());
        }
        assert_eq!(polling(&events), 1);
    }
}

#[test]
fn a_silent_watcher_is_one_warning_and_no_loss() {
    let place = Place::new();
    let follower = follower(silent(), Duration::from_millis(20));
    let keys = ["a", "b"].map(|name| follower.add_file(&place.path(name), OPTIONS).unwrap());
    for key in keys {
        follower.request(key);
    }
    let mut events =
        gather(&follower, |events| keys.iter().all(|key| events.contains(&Event::CaughtUp { key: *key })));
    assert_eq!(polling(&events), 0);
    let mut round = 0;
    while polling(&events) == 0 {
        round += 1;
        for name in ["a", "b"] {
            place.append(name, format!("{round}\n"));
        }
        let text = format!("{round}\n");
        let more = gather(&follower, |events| {
            keys.iter()
                .all(|key| chunks(events, *key).iter().any(|chunk| chunk.bytes.ends_with(text.as_bytes())))
        });
        events.extend(more);
    }
    for text in ["x\n", "y\n"] {
        place.append("a", text);
        events.extend(gather(&follower, |events| {
            chunks(events, keys[0]).iter().any(|chunk| chunk.bytes == text.as_bytes())
        }));
    }
    assert_eq!(polling(&events), 1);
    let expected = numbered(1..round + 1);
    assert_eq!(content(&chunks(&events, keys[0])), format!("{expected}x\ny\n").into_bytes());
    assert_eq!(content(&chunks(&events, keys[1])), expected.into_bytes());
}

#[test]
fn nothing_is_read_that_was_not_requested() {
    let place = Place::new();
    place.append("a", "1".repeat(3000));
    let follower = follower(notifier::system(), SOON);
    let key = follower.add_file(&place.path("a"), OPTIONS).unwrap();
    // Another file shows that the thread had its turn.
    let other = follower.add_file(&place.path("b"), OPTIONS).unwrap();
    follower.request(other);
    let next = |wanted: Key| loop {
        match follower.next(PATIENCE) {
            Some(Event::Chunk { file, chunk }) => {
                assert_eq!(file, wanted, "only what was requested");
                return chunk.bytes.len();
            }
            Some(_) => {}
            None => panic!("nothing came"),
        }
    };
    for expected in [1024, 1024, 3000 - 2048] {
        place.append("b", "x");
        assert_eq!(next(other), 1);
        follower.request(other);
        place.append("b", "x");
        assert_eq!(next(other), 1);
        follower.request(key);
        assert_eq!(next(key), expected);
        follower.request(other);
    }
}

#[test]
fn files_below_a_folder_appear_and_are_followed() {
    let place = Place::new();
    let accepts = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
    for make in [notifier::system(), failing(28, false)] {
        let root = place.folder.path().join("root");
        let follower = follower(make, NEVER);
        let folder = follower.add_folder(&root, FolderOptions { depth: 4, accepts }, SOON).unwrap();
        follower.request(folder);
        gather(&follower, |events| events.contains(&Event::CaughtUp { key: folder }));
        let expected: Vec<_> = (0..600).map(|at| root.join(format!("p{}/s/{at}.jsonl", at % 7))).collect();
        for path in &expected {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            append(path, "1\n");
            append(&path.with_extension("txt"), "1\n");
        }
        let mut files = HashMap::new();
        gather(&follower, |events| {
            for event in events.iter().skip(files.len().saturating_sub(expected.len())) {
                if let Event::Appeared { paths, .. } = event {
                    assert!(paths.len() <= 256);
                    for path in paths {
                        files.entry(path.clone()).or_insert_with(|| {
                            let key = follower.add_file(path, OPTIONS).unwrap();
                            follower.request(key);
                            key
                        });
                    }
                }
            }
            files.len() == expected.len() && files.values().all(|key| has(events, *key, "1\n"))
        });
        let mut found: Vec<_> = files.into_keys().collect();
        found.sort();
        let mut expected = expected;
        expected.sort();
        assert_eq!(found, expected);
        drop(follower);
        fs::remove_dir_all(&root).unwrap();
    }
}

#[test]
fn a_queue_that_nobody_takes_from_is_bounded() {
    let place = Place::new();
    let follower = follower(notifier::system(), NEVER);
    let options = FileOptions { most_bytes: 1024 * 1024, ..OPTIONS };
    let keys: Vec<Key> = (0..12)
        .map(|at| {
            let name = format!("f{at}");
            place.append(&name, vec![b'x'; 1024 * 1024]);
            let key = follower.add_file(&place.path(&name), options).unwrap();
            follower.request(key);
            key
        })
        .collect();
    // The thread has looked at as many as there is room for when it stalls; then it goes on as events are taken.
    let mut seen = 0;
    let mut most_waiting = 0;
    while seen < keys.len() {
        most_waiting = most_waiting.max(follower.client.waiting_bytes());
        if let Some(Event::Chunk { chunk, .. }) = follower.next(PATIENCE) {
            assert_eq!(chunk.bytes.len(), 1024 * 1024);
            seen += 1;
        }
    }
    assert!(most_waiting <= 5 * 1024 * 1024, "{most_waiting}");
}

#[test]
fn nobody_is_called_after_closing_and_the_thread_ends() {
    for _ in 0..50 {
        let place = Place::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let closed = Arc::new(Mutex::new(false));
        let (counted, checked) = (Arc::clone(&calls), Arc::clone(&closed));
        let follower = Follower::open(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            assert!(!*checked.lock().unwrap());
        })
        .unwrap();
        for at in 0..10 {
            place.append(&format!("f{at}"), "1\n");
            let key = follower.add_file(&place.path(&format!("f{at}")), OPTIONS).unwrap();
            follower.request(key);
        }
        while calls.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let ended = Arc::clone(&follower.hub.ended);
        let is_last = Arc::strong_count(&follower.hub) == 1;
        drop(follower);
        *closed.lock().unwrap() = true;
        // Other tests of this process may hold the thread that all share.
        assert!(!is_last || *ended.has_ended.lock().unwrap());
    }
}

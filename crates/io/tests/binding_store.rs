//! The store by itself: its file, its operations, owners (cases A5 and S8), damage.

mod bindings;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_lifecycle_core::runtime::binding::{BindingCode, BindingState, Expected, Filter, Mode};
use agent_lifecycle_io::binding_store::{BindingStore, Options, Repair, sqlite_version};
use agent_lifecycle_io::process::{Identity, Seen};
use agent_lifecycle_io::storage::{Machine, System};
use bindings::{
    ask, claim, close, code, create, folder, get, history, id, list, native, normal, open, open_at, release,
    store_file, tamper, update,
};
use serde_json::{Value, json};

fn mode(revision: u64, mode: Mode) -> Expected {
    Expected { revision, mode, generation: None }
}

#[test]
fn sqlite_is_new_enough() {
    let parts: Vec<u32> = sqlite_version().split('.').map(|part| part.parse().expect("a number")).collect();
    assert!(parts >= vec![3, 51, 3], "{parts:?}");
}

#[cfg(unix)]
#[test]
fn the_file_is_private_durable_and_of_this_program() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = store_file(&folder);
    let store = open_at(&path);
    create(&store, "ps_1", &json!({})).expect("a binding");
    for name in ["bindings.db", "bindings.db-wal", "bindings.db-shm"] {
        let mode = fs::metadata(folder.path().join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    close(&store);
    let connection = rusqlite::Connection::open(&path).expect("the file");
    let pragma = |name: &str| -> String {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| format!("{value:?}"))
            .expect(name)
    };
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma("user_version"), "Integer(1)");
    assert_eq!(pragma("application_id"), format!("Integer({})", 0x6167_6c62));
    let loose: i64 = connection
        .query_row("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%' AND NOT strict", [], |row| row.get(0))
        .expect("a number");
    assert_eq!(loose, 0);
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(
        at("text"),
        "not a database, but long enough to have the length of a head of one: 100 bytes.............",
    )
    .expect("a file");
    fs::create_dir(at("folder")).expect("a folder");
    tamper(&at("foreign"), "CREATE TABLE t (a)");
    tamper(&at("other"), "PRAGMA application_id = 7");
    for name in ["text", "folder", "foreign", "other"] {
        let before = fs::read(at(name)).ok();
        assert_eq!(code(open(Options::new(at(name))).map(|_| ())), BindingCode::NoStore, "{name}");
        assert_eq!(fs::read(at(name)).ok(), before, "{name}");
    }
    fs::write(at("empty"), "").expect("a file");
    for name in ["absent", "empty"] {
        let options = Options { must_exist: true, ..Options::new(at(name)) };
        assert_eq!(code(open(options).map(|_| ())), BindingCode::NoStore, "{name}");
    }
    assert!(!at("absent").exists());
    assert_eq!(fs::metadata(at("empty")).expect("it is there").len(), 0);
    assert_eq!(code(open(Options::new(at("no/such"))).map(|_| ())), BindingCode::Io);
    // An empty file is what a crash leaves that came after the file was made.
    close(&open_at(&at("empty")));
}

#[test]
fn a_file_of_a_newer_version_is_refused_with_what_to_do() {
    let folder = folder();
    let path = store_file(&folder);
    close(&open_at(&path));
    tamper(&path, "PRAGMA user_version = 2");
    let fault = open(Options::new(&path)).map(|_| ()).expect_err("newer");
    assert_eq!(fault.code, BindingCode::NewerFormat);
    assert_eq!((fault.details.format, fault.details.supported_format), (Some(2), Some(1)));
    assert!(fault.message.contains("newer agent-lifecycle"), "{}", fault.message);
}

#[test]
fn create_get_list_and_update() {
    let folder = folder();
    let store = open_at(&store_file(&folder));
    assert_eq!(get(&store, "ps_1"), None);
    let made = create(&store, "ps_1", &json!({ "protocol": "acp", "metadata": { "b": 1, "a": "x" } }))
        .expect("made");
    assert_eq!((made.revision, made.generation, made.content.state), (1, 0, BindingState::Unbound));
    assert_eq!(get(&store, "ps_1").as_ref(), Some(&made));
    assert_eq!(code(create(&store, "ps_1", &json!({}))), BindingCode::Exists);
    create(&store, "ps_0", &json!({ "adapterId": "claude", "state": "bound", "nativeSessionId": "n0" }))
        .expect("made");
    let ids: Vec<_> = list(&store).iter().map(|one| one.content.product_session_id.to_string()).collect();
    assert_eq!(ids, ["ps_0", "ps_1"]);
    for (filter, expected) in [
        (Filter { adapter_id: Some("claude".to_owned()), ..Filter::default() }, 1),
        (Filter { state: Some(BindingState::Bound), ..Filter::default() }, 1),
        (Filter { runtime_instance_id: Some("main".to_owned()), ..Filter::default() }, 2),
        (Filter { runtime_instance_id: Some("other".to_owned()), ..Filter::default() }, 0),
    ] {
        assert_eq!(ask(|done| store.list(filter, done)).expect("a list").len(), expected);
    }
    let bound = json!({ "state": "bound", "nativeSessionId": "n1" });
    let next = update(&store, "ps_1", &bound, normal(1)).expect("bound");
    assert_eq!(
        (next.revision, next.content.metadata.is_some(), next.created_at),
        (2, false, made.created_at)
    );
    // Equal content writes nothing.
    assert_eq!(update(&store, "ps_1", &bound, normal(2)).expect("the same"), next);
    assert_eq!(history(&store, "ps_1").len(), 2);
    assert_eq!(code(update(&store, "ps_1", &bound, normal(1))), BindingCode::Conflict);
    let gone = update(&store, "ps_9", &bound, normal(1)).expect_err("gone");
    assert_eq!((gone.code, gone.details.actual_revision), (BindingCode::Conflict, Some(0)));
    let fault = create(&store, "ps_2", &json!({ "state": "missing" })).expect_err("rule 6");
    assert_eq!(
        (fault.code, fault.details.rule, fault.details.from),
        (BindingCode::Transition, Some(6), None)
    );
    assert_eq!(get(&store, "ps_2"), None);
}

#[test]
fn a_native_id_has_one_session_until_it_is_rebound() {
    let folder = folder();
    let store = open_at(&store_file(&folder));
    let bound = |native: &str| json!({ "state": "bound", "nativeSessionId": native });
    create(&store, "ps_1", &bound("n1")).expect("bound");
    create(&store, "ps_2", &json!({})).expect("unbound");
    let fault = update(&store, "ps_2", &bound("n1"), normal(1)).expect_err("taken");
    assert_eq!((fault.code, fault.details.other_session_id), (BindingCode::NativeTaken, Some(id("ps_1"))));
    assert!(!fault.message.contains("n1"), "{}", fault.message);
    assert_eq!(code(create(&store, "ps_3", &bound("n1"))), BindingCode::NativeTaken);
    // Of another adapter it is another native session.
    create(&store, "ps_4", &json!({ "adapterId": "claude", "state": "bound", "nativeSessionId": "n1" }))
        .expect("bound");
    update(&store, "ps_1", &bound("n5"), mode(1, Mode::Rebind)).expect("rebound");
    update(&store, "ps_2", &bound("n1"), normal(1)).expect("free now");
    update(&store, "ps_1", &json!({}), mode(2, Mode::Rebind)).expect("let go");
    create(&store, "ps_5", &bound("n5")).expect("free now");
    // The same id under another adapter.
    let moved = json!({ "adapterId": "other", "state": "bound", "nativeSessionId": "n5" });
    update(&store, "ps_5", &moved, mode(1, Mode::Rebind)).expect("moved");
    create(&store, "ps_6", &bound("n5")).expect("free now");
}

#[test]
fn reservations_are_consumed_released_and_never_part_of_a_binding() {
    let folder = folder();
    let path = store_file(&folder);
    let (store, other) = (open_at(&path), open_at(&path));
    let reserve = |store: &BindingStore, name: &str, id: &str| {
        ask(|done| store.reserve(native(name, "codex", id), done)).map(|kept| kept.reservation)
    };
    let unreserve = |store: &BindingStore, name: String| {
        ask(|done| store.unreserve(name, done)).expect("it can be written")
    };
    create(&store, "ps_1", &json!({})).expect("made");
    create(&store, "ps_2", &json!({})).expect("made");
    let first = reserve(&store, "ps_1", "n1").expect("reserved");
    assert_eq!(get(&store, "ps_1").expect("it is there").content.native_session_id, None);
    assert_eq!(code(reserve(&other, "ps_2", "n1")), BindingCode::NativeTaken);
    assert_eq!(code(reserve(&store, "ps_1", "n1")), BindingCode::NativeTaken);
    let bound = json!({ "state": "bound", "nativeSessionId": "n1" });
    assert_eq!(code(update(&other, "ps_2", &bound, normal(1))), BindingCode::NativeTaken);
    // Consumed by the write that records it, also through another store.
    update(&other, "ps_1", &bound, normal(1)).expect("bound");
    assert!(!unreserve(&store, first));
    assert_eq!(code(reserve(&store, "ps_2", "n1")), BindingCode::NativeTaken);
    let second = reserve(&store, "ps_2", "n2").expect("reserved");
    assert!(unreserve(&store, second.clone()));
    assert!(!unreserve(&store, second));
    // With the store that kept it a reservation ends.
    reserve(&other, "ps_2", "n3").expect("reserved");
    close(&other);
    reserve(&store, "ps_1", "n3").expect("free now");
}

#[test]
fn a5_a_late_write_and_a_late_release_have_no_effect() {
    let folder = folder();
    let path = store_file(&folder);
    let (store, other) = (open_at(&path), open_at(&path));
    create(&store, "ps_1", &json!({})).expect("made");
    let first = claim(&store, "ps_1").expect("claimed");
    assert_eq!((first.generation, first.binding.revision), (1, 2));
    let bound = json!({ "state": "bound", "nativeSessionId": "n1" });
    let under =
        |revision, generation| Expected { revision, mode: Mode::Normal, generation: Some(generation) };
    assert_eq!(update(&store, "ps_1", &bound, under(2, 1)).expect("bound").revision, 3);
    assert_eq!(code(claim(&other, "ps_1")), BindingCode::Owned);
    assert!(release(&store, "ps_1", 1));
    let second = claim(&other, "ps_1").expect("claimed again");
    assert_eq!((second.generation, second.binding.revision), (2, 4));
    // A write that expects what generation 1 left, and one that knows the revision but is of generation 1.
    let late = json!({ "state": "missing", "nativeSessionId": "n1" });
    assert_eq!(code(update(&store, "ps_1", &late, under(3, 1))), BindingCode::Conflict);
    let fault = update(&store, "ps_1", &late, under(4, 1)).expect_err("fenced");
    assert_eq!(fault.code, BindingCode::Fenced);
    assert_eq!((fault.details.generation, fault.details.current_generation), (Some(1), Some(2)));
    assert!(!release(&store, "ps_1", 1));
    assert_eq!(get(&store, "ps_1"), Some(second.binding));
    assert_eq!(code(claim(&store, "ps_1")), BindingCode::Owned);
    assert!(release(&other, "ps_1", 2));
    // It grows over restarts too.
    close(&store);
    close(&other);
    let again = open_at(&path);
    assert_eq!(claim(&again, "ps_1").expect("claimed").generation, 3);
    let changes: Vec<String> = history(&again, "ps_1")
        .iter()
        .map(|entry| entry["change"].as_str().expect("a word").to_owned())
        .collect();
    assert_eq!(changes, ["created", "claimed", "updated", "released", "claimed", "released", "claimed"]);
}

#[test]
fn repair_and_rebind_need_the_generation_of_a_live_owner() {
    let folder = folder();
    let path = store_file(&folder);
    let (store, other) = (open_at(&path), open_at(&path));
    create(&store, "ps_1", &json!({ "state": "missing", "nativeSessionId": "n1" })).expect("made");
    assert_eq!(code(claim(&store, "ps_1")), BindingCode::Missing);
    let claimed = ask(|done| store.claim(id("ps_1"), true, done)).expect("claimed for repair");
    let bound = json!({ "state": "bound", "nativeSessionId": "n1" });
    let expected = Expected { revision: 2, mode: Mode::Repair, generation: None };
    assert_eq!(code(update(&other, "ps_1", &bound, expected)), BindingCode::Owned);
    let own = Expected { generation: Some(claimed.generation), ..expected };
    assert_eq!(update(&other, "ps_1", &bound, own).expect("repaired").revision, 3);
    close(&store);
    let freed = update(&other, "ps_1", &json!({}), mode(3, Mode::Rebind)).expect("nobody owns it");
    assert_eq!(freed.content.state, BindingState::Unbound);
}

/// A machine on which processes are as a test says.
struct Stage {
    look: fn(i32) -> Seen,
}

impl System for Stage {
    fn now(&self) -> i64 {
        0
    }
    fn elapsed(&self) -> Duration {
        Machine.elapsed()
    }
    fn sleep(&self, time: Duration) {
        Machine.sleep(time);
    }
    fn random(&self) -> u64 {
        Machine.random()
    }
    fn identity(&self) -> Identity {
        Identity {
            pid: 10,
            host_name: Some("host".to_owned()),
            boot_id: Some("boot".to_owned()),
            pid_namespace: Some("pid:[1]".to_owned()),
            time_namespace: Some("time:[1]".to_owned()),
            process_start_time: Some(50),
        }
    }
    fn look(&self, pid: i32) -> Seen {
        (self.look)(pid)
    }
}

/// What a claim and a taking of a reserved id come to where both owners are what `owner` says.
fn taken_over(owner: &Value, look: fn(i32) -> Seen) -> bool {
    let folder = folder();
    let path = store_file(&folder);
    let store = open(Options { system: Arc::new(Stage { look }), ..Options::new(&path) }).expect("a store");
    create(&store, "ps_1", &json!({})).expect("made");
    create(&store, "ps_2", &json!({})).expect("made");
    tamper(
        &path,
        &format!(
            "UPDATE bindings SET generation = 1, revision = 2, owner = '{owner}', owner_environment = 'e' \
             WHERE product_session_id = 'ps_1'; \
             INSERT INTO native_ids VALUES ('codex', 'n1', 'ps_1', 'reservation', 'r', '{owner}', 'e')"
        ),
    );
    let bound = json!({ "state": "bound", "nativeSessionId": "n1" });
    let reserved = update(&store, "ps_2", &bound, normal(1)).map(|_| ()).map_err(|fault| fault.code);
    let claimed = claim(&store, "ps_1").map(|_| ()).map_err(|fault| fault.code);
    match (reserved, claimed) {
        (Ok(()), Ok(())) => true,
        (Err(BindingCode::NativeTaken), Err(BindingCode::Owned)) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn s8_only_a_provably_dead_owner_loses_what_it_has() {
    let record = |pid: Value| {
        json!({ "pid": pid, "hostName": "host", "bootId": "boot", "pidNamespace": "pid:[1]",
        "timeNamespace": "time:[1]", "processStartTime": 100, "environment": "e" })
    };
    let never = |pid| -> Seen { panic!("probed {pid}") };
    // The pid is there but started later: another process.
    assert!(taken_over(&record(json!(20)), |_| Seen::Present { started: Some(101), zombie: false }));
    assert!(taken_over(&record(json!(20)), |_| Seen::Absent));
    assert!(taken_over(&record(json!(20)), |_| Seen::Present { started: Some(100), zombie: true }));
    assert!(!taken_over(&record(json!(20)), |_| Seen::Present { started: Some(100), zombie: false }));
    // EPERM.
    assert!(!taken_over(&record(json!(20)), |_| Seen::Forbidden { started: Some(100) }));
    assert!(!taken_over(&record(json!(20)), |_| Seen::Untold));
    for pid in [json!(0), json!(-1), json!(1.5), Value::Null] {
        assert!(!taken_over(&record(pid), never));
    }
    let elsewhere = json!({ "pid": 20, "hostName": "other", "bootId": "boot" });
    assert!(!taken_over(&elsewhere, never));
    let before =
        json!({ "pid": 20, "hostName": "host", "bootId": "an earlier boot", "pidNamespace": "pid:[1]" });
    assert!(taken_over(&before, never));
    assert!(!taken_over(&json!({}), never));
}

#[test]
fn a_damaged_row_is_an_error_with_its_id() {
    let damages = [
        "UPDATE bindings SET state = 'gone' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET metadata = '{' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET metadata = '[]' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET native_session_id = NULL WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET native_session_id = ' ' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET native_session_id = 'n9' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET adapter_id = 'Codex' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET revision = 0, generation = 0 WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET protocol = CAST(x'ff' AS TEXT) WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET locator = '{\"kind\":\"file\"}' WHERE product_session_id = 'ps_2'",
        "UPDATE bindings SET diagnostic = '{}' WHERE product_session_id = 'ps_2'",
        "DELETE FROM native_ids",
    ];
    for damage in damages {
        let folder = folder();
        let path = store_file(&folder);
        let store = open_at(&path);
        create(&store, "ps_1", &json!({})).expect("made");
        create(&store, "ps_2", &json!({ "state": "bound", "nativeSessionId": "n2" })).expect("made");
        tamper(&path, damage);
        let bound = json!({ "state": "bound", "nativeSessionId": "n2", "protocol": "p" });
        for fault in [
            ask(|done| store.get(id("ps_2"), done)).map(|_| ()),
            ask(|done| store.list(Filter::default(), done)).map(|_| ()),
            ask(|done| store.inspect(id("ps_2"), done)).map(|_| ()),
            claim(&store, "ps_2").map(|_| ()),
            update(&store, "ps_2", &bound, normal(1)).map(|_| ()),
            create(&store, "ps_2", &json!({})).map(|_| ()),
        ] {
            let fault = fault.expect_err(damage);
            assert_eq!(fault.code, BindingCode::Corrupt, "{damage}");
            assert_eq!(fault.details.product_session_id, Some(id("ps_2")), "{damage}");
        }
        assert!(get(&store, "ps_1").is_some());
        let overview = ask(|done| store.overview(Filter::default(), done)).expect("an overview");
        assert_eq!((overview.bindings.len(), overview.corrupt.len()), (1, 1), "{damage}");
        let found = ask(|done| store.repair(Repair::default(), done)).expect("a report");
        assert_eq!(found.corrupt[0].product_session_id, Some(id("ps_2")), "{damage}");
    }
}

#[test]
fn damage_of_the_file_is_no_empty_store() {
    let folder = folder();
    let path = store_file(&folder);
    let store = open_at(&path);
    for at in 0..40 {
        create(&store, &format!("ps_{at}"), &json!({ "metadata": { "a": "x".repeat(2_000) } }))
            .expect("made");
    }
    close(&store);
    let mut bytes = fs::read(&path).expect("the file");
    let half = bytes.len() / 2;
    bytes[4096..half].fill(0xa5);
    fs::write(&path, bytes).expect("the file");
    let outcome = open(Options::new(&path)).and_then(|store| ask(|done| store.list(Filter::default(), done)));
    assert_eq!(code(outcome), BindingCode::Corrupt);
}

#[test]
fn repair_frees_what_the_dead_own_and_what_is_named() {
    let dead = |environment: &str| {
        let mut identity = serde_json::to_value(Identity::own()).expect("plain data");
        identity["bootId"] = json!("an earlier boot");
        identity["environment"] = json!(environment);
        identity.to_string()
    };
    let folder = folder();
    let path = store_file(&folder);
    let (store, other) = (open_at(&path), open_at(&path));
    for name in ["ps_dead", "ps_live", "ps_free", "ps_away"] {
        create(&store, name, &json!({})).expect("made");
    }
    claim(&other, "ps_live").expect("claimed");
    let own = |name: &str, owner: &str| {
        tamper(
            &path,
            &format!(
                "UPDATE bindings SET generation = 1, revision = 2, owner = '{owner}', owner_environment = 'e' \
            WHERE product_session_id = '{name}'"
            ),
        );
    };
    own("ps_dead", &dead("e"));
    own("ps_away", r#"{"pid":1,"hostName":"elsewhere"}"#);
    tamper(
        &path,
        &format!(
            "INSERT INTO native_ids VALUES ('codex', 'n1', 'ps_dead', 'reservation', 'r', '{}', 'e')",
            dead("e")
        ),
    );
    let run = |repair: Repair| ask(|done| store.repair(repair, done)).expect("a report");
    let looked = run(Repair { dry_run: true, release: None });
    assert_eq!((looked.freed.clone(), looked.freed_reservations), (vec![id("ps_dead")], 1));
    assert_eq!(looked.owned, [id("ps_away"), id("ps_live")]);
    assert_eq!(run(Repair { dry_run: true, release: None }), looked);
    let done = run(Repair::default());
    assert_eq!(done, looked);
    let after = run(Repair { dry_run: false, release: Some(id("ps_away")) });
    assert_eq!((after.freed, after.freed_reservations), (vec![id("ps_away")], 0));
    assert_eq!(after.owned, [id("ps_live")]);
    for name in ["ps_dead", "ps_away"] {
        assert_eq!(history(&store, name).last().expect("an entry")["change"], "freed");
        assert_eq!(claim(&store, name).expect("free").generation, 2);
    }
    let unknown = Repair { dry_run: true, release: Some(id("ps_9")) };
    assert_eq!(code(ask(|done| store.repair(unknown, done))), BindingCode::NotFound);
}

#[test]
fn an_orphan_is_noted_and_changes_nothing() {
    let folder = folder();
    let store = open_at(&store_file(&folder));
    let made = create(&store, "ps_1", &json!({})).expect("made");
    ask(|done| store.orphan(native("ps_1", "codex", "lost"), done)).expect("noted");
    let entries = history(&store, "ps_1");
    assert_eq!((&entries[1]["change"], &entries[1]["nativeSessionId"]), (&json!("orphaned"), &json!("lost")));
    assert_eq!(get(&store, "ps_1"), Some(made));
    assert_eq!(code(ask(|done| store.orphan(native("ps_9", "codex", "lost"), done))), BindingCode::NotFound);
}

#[test]
fn the_history_is_bounded_and_keeps_no_values() {
    let folder = folder();
    let store = open_at(&store_file(&folder));
    create(&store, "ps_1", &json!({})).expect("made");
    for revision in 1..=1_005_u64 {
        let next = json!({ "metadata": { "n": revision, "s": "metadata-value" },
            "locator": { "kind": "uri", "value": "locator-value" } });
        update(&store, "ps_1", &next, normal(revision)).expect("written");
    }
    let entries = history(&store, "ps_1");
    assert_eq!(entries.len(), 1_000);
    assert_eq!((&entries[0]["revision"], &entries[999]["revision"]), (&json!(7), &json!(1_006)));
    assert_eq!(
        (&entries[999]["metadataKeys"], &entries[999]["locatorKind"]),
        (&json!(["n", "s"]), &json!("uri"))
    );
    let text = serde_json::to_string(&entries).expect("JSON");
    assert!(!text.contains("metadata-value") && !text.contains("locator-value"));
}

#[test]
fn other_writers_are_waited_for_and_then_told() {
    let folder = folder();
    let path = store_file(&folder);
    let store =
        open(Options { busy_timeout: Duration::from_millis(50), ..Options::new(&path) }).expect("a store");
    let writer = rusqlite::Connection::open(&path).expect("the file");
    writer.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    assert_eq!(code(create(&store, "ps_1", &json!({}))), BindingCode::Busy);
    // Readers do not wait.
    assert_eq!(get(&store, "ps_1"), None);
    writer.execute_batch("ROLLBACK").expect("free");
    create(&store, "ps_1", &json!({})).expect("made");
}

#[test]
fn a_closed_store_says_so_and_has_released_what_it_owned() {
    let folder = folder();
    let path = store_file(&folder);
    let store = open_at(&path);
    create(&store, "ps_1", &json!({})).expect("made");
    claim(&store, "ps_1").expect("claimed");
    close(&store);
    close(&store);
    assert_eq!(code(claim(&store, "ps_1")), BindingCode::Closed);
    store.end();
    let again = open_at(&path);
    let entries = history(&again, "ps_1");
    assert_eq!(entries.last().expect("an entry")["change"], "released");
    assert_eq!(claim(&again, "ps_1").expect("free").generation, 2);
    // What could not be released in time lapses with the environment.
    let writer = rusqlite::Connection::open(&path).expect("the file");
    writer.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    again.end();
    writer.execute_batch("ROLLBACK").expect("free");
    drop(writer);
    let last = open_at(&path);
    assert_ne!(history(&last, "ps_1").last().expect("an entry")["change"], "released");
    assert_eq!(claim(&last, "ps_1").expect("its environment is over").generation, 3);
}

#[test]
fn a_link_is_followed_to_the_one_file() {
    let folder = folder();
    let path = store_file(&folder);
    create(&open_at(&path), "ps_1", &json!({})).expect("made");
    #[cfg(unix)]
    {
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(get(&open_at(&link), "ps_1").is_some());
        let dangling = folder.path().join("dangling.db");
        std::os::unix::fs::symlink(Path::new("/no/such/file"), &dangling).expect("a link");
        assert_eq!(code(open(Options::new(&dangling)).map(|_| ())), BindingCode::Io);
    }
}

//! What the tests of the store share: a file, and answers that are waited for.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use agent_lifecycle_core::runtime::binding::{
    Binding, BindingCode, Content, Expected, Filter, Mode, NativeSession, ProductSessionId, native_session,
    new_binding,
};
use agent_lifecycle_io::binding_store::{Answer, BindingStore, Claimed, Options};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder for a store, removed afterwards; in memory where there is such a place, for the tests of rules.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder")
}

/// Waits for an answer.
pub fn ask<T: Send + 'static>(start: impl FnOnce(Box<dyn FnOnce(Answer<T>) + Send>)) -> Answer<T> {
    let (tell, told) = sync_channel(1);
    start(Box::new(move |answer| tell.send(answer).expect("it waits")));
    told.recv().expect("an answer")
}

/// Opens a store and waits until it is open.
pub fn open(options: Options) -> Answer<BindingStore> {
    let store = BindingStore::open(options)?;
    ask(|done| store.ready(done)).map(|()| store)
}

pub fn open_at(path: &Path) -> BindingStore {
    open(Options::new(path)).expect("a store")
}

/// Closes a store and waits until it is.
pub fn close(store: &BindingStore) {
    let (tell, told) = sync_channel(1);
    store.close(move || tell.send(()).expect("it waits"));
    told.recv().expect("an answer");
}

pub fn id(text: &str) -> ProductSessionId {
    ProductSessionId::new(text).expect("an id")
}

/// A value of session `id` with members that are set.
pub fn value(id: &str, members: &Value) -> Content {
    let mut value = json!({ "productSessionId": id, "runtimeInstanceId": "main", "adapterId": "codex" });
    for (name, member) in members.as_object().expect("members") {
        value[name] = member.clone();
    }
    new_binding(&value.to_string()).expect("values")
}

pub fn native(id: &str, adapter: &str, native: &str) -> NativeSession {
    let value = json!({ "productSessionId": id, "adapterId": adapter, "nativeSessionId": native });
    native_session(&value.to_string()).expect("values")
}

pub fn normal(revision: u64) -> Expected {
    Expected { revision, mode: Mode::Normal, generation: None }
}

pub fn create(store: &BindingStore, id: &str, members: &Value) -> Answer<Binding> {
    ask(|done| store.create(value(id, members), done))
}

pub fn update(store: &BindingStore, id: &str, members: &Value, expected: Expected) -> Answer<Binding> {
    ask(|done| store.update(value(id, members), expected, done))
}

pub fn get(store: &BindingStore, name: &str) -> Option<Binding> {
    ask(|done| store.get(id(name), done)).expect("it can be read")
}

pub fn list(store: &BindingStore) -> Vec<Binding> {
    ask(|done| store.list(Filter::default(), done)).expect("it can be read")
}

pub fn claim(store: &BindingStore, name: &str) -> Answer<Claimed> {
    ask(|done| store.claim(id(name), false, done))
}

pub fn release(store: &BindingStore, name: &str, generation: u64) -> bool {
    ask(|done| store.release(id(name), generation, done)).expect("it can be written")
}

/// The entries of the history as values.
pub fn history(store: &BindingStore, name: &str) -> Vec<Value> {
    let entries = ask(|done| store.history(id(name), done)).expect("it can be read");
    entries.iter().map(|entry| serde_json::from_str(entry).expect("JSON")).collect()
}

pub fn code<T: std::fmt::Debug>(answer: Answer<T>) -> BindingCode {
    answer.expect_err("a fault").code
}

/// A statement on the file itself, past the store's checks and the table's.
pub fn tamper(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).expect("the file");
    connection.pragma_update(None, "ignore_check_constraints", true).expect("a pragma");
    connection.execute_batch(sql).expect("the statement");
}

/// Each revision has one entry, one after the other; generations only grow; the last entry is what the binding is.
pub fn check_history(store: &BindingStore, binding: &Binding) {
    let name = binding.content.product_session_id.as_str();
    let entries = history(store, name);
    let made: Vec<&Value> = entries
        .iter()
        .filter(|entry| ["created", "updated", "claimed"].iter().any(|change| entry["change"] == *change))
        .collect();
    for (at, entry) in made.iter().enumerate() {
        assert_eq!(entry["revision"], at as u64 + 1, "{name}: {entries:#?}");
    }
    let generations: Vec<u64> =
        entries.iter().map(|entry| entry["generation"].as_u64().expect("a number")).collect();
    assert!(generations.is_sorted(), "{name}: {generations:?}");
    let claims = made.iter().filter(|entry| entry["change"] == "claimed").count() as u64;
    assert_eq!(claims, binding.generation, "{name}");
    let last = made.last().expect("an entry");
    assert_eq!(last["revision"], binding.revision);
    assert_eq!(last["state"], binding.content.state.as_str());
    assert_eq!(
        last.get("nativeSessionId").and_then(Value::as_str),
        binding.content.native_session_id.as_ref().map(|id| id.as_str())
    );
}

/// No native id is that of two sessions.
pub fn check_natives(bindings: &[Binding]) {
    let mut taken: Vec<_> = bindings
        .iter()
        .filter_map(|binding| {
            Some((&binding.content.adapter_id, binding.content.native_session_id.as_ref()?))
        })
        .collect();
    taken.sort();
    let before = taken.len();
    taken.dedup();
    assert_eq!(taken.len(), before);
}

pub fn store_file(folder: &TempDir) -> PathBuf {
    folder.path().join("bindings.db")
}

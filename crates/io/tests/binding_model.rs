//! Random operations through two stores on one file, against a plain model that was written from the rules in words.

mod bindings;

use std::cell::RefCell;
use std::collections::BTreeMap;

use agent_lifecycle_core::runtime::binding::{BindingFault, Expected, Mode};
use agent_lifecycle_io::binding_store::BindingStore;
use bindings::{
    ask, check_history, check_natives, close, folder, id, list, native, open_at, store_file, value,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const SESSIONS: [&str; 3] = ["ps_a", "ps_b", "ps_c"];

#[derive(Clone, Debug, PartialEq)]
struct Content {
    instance: &'static str,
    adapter: &'static str,
    state: &'static str,
    native: Option<&'static str>,
    label: u8,
}

const BEGIN: Content =
    Content { instance: "main", adapter: "codex", state: "unbound", native: None, label: 0 };

#[derive(Clone, Debug)]
enum Op {
    Create { who: usize, session: usize, content: Content },
    Update { who: usize, session: usize, content: Content, off: i64, mode: usize, generation: Option<u64> },
    Claim { who: usize, session: usize, repairs: bool },
    Release { who: usize, session: usize, back: u64 },
    Reserve { who: usize, session: usize, adapter: &'static str, native: &'static str },
    Unreserve { who: usize, nth: usize },
    Restart { who: usize },
}

fn content() -> impl Strategy<Value = Content> {
    let often = |usual: &'static str, other: &'static str| prop_oneof![8 => Just(usual), 1 => Just(other)];
    (
        often("main", "second"),
        often("codex", "claude"),
        select(vec!["unbound", "bound", "bound", "missing", "error"]),
        prop_oneof![1 => Just(None), 3 => select(vec!["n1", "n2"]).prop_map(Some)],
        0..2_u8,
    )
        .prop_map(|(instance, adapter, state, native, label)| Content {
            instance,
            adapter,
            state,
            native,
            label,
        })
}

fn op() -> impl Strategy<Value = Op> {
    let who = || 0..2_usize;
    let session = || 0..SESSIONS.len();
    // A generation is named as so many before the current one.
    let generation = prop_oneof![2 => Just(None), 2 => Just(Some(0)), 1 => Just(Some(1))];
    let off = prop_oneof![8 => Just(0_i64), 1 => Just(-1), 1 => Just(1)];
    prop_oneof![
        3 => (who(), session(), content()).prop_map(|(who, session, content)| Op::Create { who, session, content }),
        9 => (who(), session(), content(), off, 0..3_usize, generation).prop_map(
            |(who, session, content, off, mode, generation)| Op::Update { who, session, content, off, mode, generation }
        ),
        3 => (who(), session(), any::<bool>()).prop_map(|(who, session, repairs)| Op::Claim { who, session, repairs }),
        2 => (who(), session(), 0..2_u64).prop_map(|(who, session, back)| Op::Release { who, session, back }),
        3 => (who(), session(), Just("codex"), select(vec!["n1", "n2", "n3"]))
            .prop_map(|(who, session, adapter, native)| Op::Reserve { who, session, adapter, native }),
        2 => (who(), 0..3_usize).prop_map(|(who, nth)| Op::Unreserve { who, nth }),
        1 => who().prop_map(|who| Op::Restart { who }),
    ]
}

#[derive(Clone, Debug)]
struct Row {
    content: Content,
    revision: u64,
    generation: u64,
    owner: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum Has {
    Binding(usize),
    Reservation { session: usize, who: usize, number: usize },
}

/// The store as plain data.
#[derive(Default)]
struct Model {
    rows: BTreeMap<usize, Row>,
    natives: BTreeMap<(&'static str, &'static str), Has>,
    reservations: usize,
}

/// The first of rules 2 to 6 that forbids it, in the words of the page.
fn forbidden(from: &Content, to: &Content, mode: usize) -> Option<u8> {
    let (normal, rebind) = (mode == 0, mode == 2);
    if (from.instance != to.instance || from.adapter != to.adapter) && !rebind {
        return Some(2);
    }
    if ["missing", "error"].contains(&from.state) && to.state == "bound" && normal {
        return Some(3);
    }
    let lets_go = to.state == "unbound"
        && match from.state {
            "bound" | "missing" => !rebind,
            "error" => from.native.is_some() && !rebind,
            _ => false,
        };
    if lets_go || (from.state == "unbound" && to.state == "missing") {
        return Some(4);
    }
    if from.native.is_some() && from.native != to.native && !rebind {
        return Some(5);
    }
    shape(to)
}

fn shape(to: &Content) -> Option<u8> {
    let needs = ["bound", "missing"].contains(&to.state);
    let wrong = (needs && to.native.is_none()) || (to.state == "unbound" && to.native.is_some());
    wrong.then_some(6)
}

impl Model {
    /// Rule 7, and the rows of native ids where it holds.
    fn record(&mut self, session: usize, before: Option<&Content>, next: &Content) -> Result<(), String> {
        let key = |content: &Content| content.native.map(|native| (content.adapter, native));
        if let Some(new) = key(next)
            && let Some(Has::Binding(other) | Has::Reservation { session: other, .. }) =
                self.natives.get(&new)
            && *other != session
        {
            return Err("binding_native_taken".to_owned());
        }
        if let Some(old) = before.and_then(key) {
            self.natives.remove(&old);
        }
        if let Some(new) = key(next) {
            self.natives.insert(new, Has::Binding(session));
        }
        Ok(())
    }

    fn apply(&mut self, op: &Op, kept: &mut [Vec<(usize, String)>; 2]) -> String {
        match op {
            Op::Create { session, content, .. } => {
                if self.rows.contains_key(session) {
                    return "binding_exists".to_owned();
                }
                if let Some(rule) = shape(content) {
                    return format!("create rule {rule}");
                }
                if let Err(code) = self.record(*session, None, content) {
                    return code;
                }
                let row = Row { content: content.clone(), revision: 1, generation: 0, owner: None };
                self.rows.insert(*session, row);
                "created".to_owned()
            }
            Op::Update { session, content, off, mode, generation, .. } => {
                let Some(row) = self.rows.get(session).cloned() else {
                    return "binding_conflict gone".to_owned();
                };
                if *off != 0 {
                    return "binding_conflict".to_owned();
                }
                match generation {
                    Some(back) if *back > 0 && row.generation > 0 => return "binding_fenced".to_owned(),
                    None if row.owner.is_some() && *mode > 0 => return "update binding_owned".to_owned(),
                    _ => {}
                }
                if let Some(rule) = forbidden(&row.content, content, *mode) {
                    return format!("rule {rule} in mode {mode}");
                }
                if row.content == *content {
                    return "same".to_owned();
                }
                if let Err(code) = self.record(*session, Some(&row.content), content) {
                    return code;
                }
                let row = Row { content: content.clone(), revision: row.revision + 1, ..row };
                self.rows.insert(*session, row);
                format!("updated in mode {mode}")
            }
            Op::Claim { who, session, repairs } => {
                let Some(row) = self.rows.get_mut(session) else { return "binding_not_found".to_owned() };
                if row.owner.is_some() {
                    return "claim binding_owned".to_owned();
                }
                if ["missing", "error"].contains(&row.content.state) && !repairs {
                    return format!("binding_{}", row.content.state);
                }
                (row.owner, row.generation, row.revision) =
                    (Some(*who), row.generation + 1, row.revision + 1);
                "claimed".to_owned()
            }
            Op::Release { session, back, .. } => {
                let Some(row) = self.rows.get_mut(session) else { return "released false".to_owned() };
                let is_current = *back == 0 || row.generation == 0;
                let released = is_current && row.owner.take().is_some();
                format!("released {released}")
            }
            Op::Reserve { who, session, adapter, native } => {
                if self.natives.contains_key(&(*adapter, *native)) {
                    return "reserve binding_native_taken".to_owned();
                }
                self.reservations += 1;
                let has = Has::Reservation { session: *session, who: *who, number: self.reservations };
                self.natives.insert((*adapter, *native), has);
                "reserved".to_owned()
            }
            Op::Unreserve { who, nth } => {
                let Some((number, _)) = kept[*who].get(*nth) else { return "nothing kept".to_owned() };
                let before = self.natives.len();
                self.natives
                    .retain(|_, has| !matches!(has, Has::Reservation { number: n, .. } if n == number));
                format!("unreserved {}", self.natives.len() < before)
            }
            Op::Restart { who } => {
                for row in self.rows.values_mut().filter(|row| row.owner == Some(*who)) {
                    row.owner = None;
                }
                self.natives.retain(|_, has| !matches!(has, Has::Reservation { who: w, .. } if w == who));
                kept[*who].clear();
                "restarted".to_owned()
            }
        }
    }
}

fn members(content: &Content) -> Value {
    json!({ "runtimeInstanceId": content.instance, "adapterId": content.adapter, "state": content.state,
        "nativeSessionId": content.native, "metadata": { "label": content.label } })
}

/// What the store says, in the words of the model.
fn run(
    stores: &mut [BindingStore; 2],
    path: &std::path::Path,
    model: &Model,
    op: &Op,
    kept: &mut [Vec<(usize, String)>; 2],
) -> String {
    let code = |fault: &BindingFault| fault.code.as_str().to_owned();
    match op {
        Op::Create { who, session, content } => {
            let content = value(SESSIONS[*session], &members(content));
            match ask(|done| stores[*who].create(content, done)) {
                Ok(_) => "created".to_owned(),
                Err(fault) => fault
                    .details
                    .rule
                    .filter(|rule| *rule < 7)
                    .map_or_else(|| code(&fault), |rule| format!("create rule {rule}")),
            }
        }
        Op::Update { who, session, content, off, mode, generation } => {
            let row = model.rows.get(session);
            let (revision, current) = row.map_or((1, 0), |row| (row.revision, row.generation));
            let expected = Expected {
                revision: revision.saturating_add_signed(*off),
                mode: Mode::ALL[*mode],
                generation: generation.map(|back| current.saturating_sub(back)),
            };
            let content = value(SESSIONS[*session], &members(content));
            match ask(|done| stores[*who].update(content, expected, done)) {
                Ok(binding) if binding.revision == revision => "same".to_owned(),
                Ok(_) => format!("updated in mode {mode}"),
                Err(fault) if fault.details.actual_revision == Some(0) => format!("{} gone", code(&fault)),
                Err(fault) if code(&fault) == "binding_owned" => "update binding_owned".to_owned(),
                Err(fault) => fault
                    .details
                    .rule
                    .filter(|rule| *rule < 7)
                    .map_or_else(|| code(&fault), |rule| format!("rule {rule} in mode {mode}")),
            }
        }
        Op::Claim { who, session, repairs } => {
            match ask(|done| stores[*who].claim(id(SESSIONS[*session]), *repairs, done)) {
                Ok(_) => "claimed".to_owned(),
                Err(fault) if code(&fault) == "binding_owned" => "claim binding_owned".to_owned(),
                Err(fault) => code(&fault),
            }
        }
        Op::Release { who, session, back } => {
            let current = model.rows.get(session).map_or(0, |row| row.generation);
            let generation = current.saturating_sub(*back);
            let released = ask(|done| stores[*who].release(id(SESSIONS[*session]), generation, done));
            format!("released {}", released.expect("it can be written"))
        }
        Op::Reserve { who, session, adapter, native: name } => {
            match ask(|done| stores[*who].reserve(native(SESSIONS[*session], adapter, name), done)) {
                Ok(reserved) => {
                    kept[*who].push((model.reservations + 1, reserved.reservation));
                    "reserved".to_owned()
                }
                Err(fault) => format!("reserve {}", code(&fault)),
            }
        }
        Op::Unreserve { who, nth } => {
            let Some((_, name)) = kept[*who].get(*nth).cloned() else { return "nothing kept".to_owned() };
            format!(
                "unreserved {}",
                ask(|done| stores[*who].unreserve(name, done)).expect("it can be written")
            )
        }
        Op::Restart { who } => {
            close(&stores[*who]);
            stores[*who] = open_at(path);
            "restarted".to_owned()
        }
    }
}

#[test]
fn the_store_does_what_the_model_does() {
    let counts: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let config =
        Config { cases: 128, max_shrink_iters: 2_000, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&prop::collection::vec(op(), 1..70), |ops| {
        let folder = folder();
        let path = store_file(&folder);
        let mut stores = [open_at(&path), open_at(&path)];
        let mut model = Model::default();
        let mut kept = [Vec::new(), Vec::new()];
        let begin = [0, 1].map(|session| Op::Create { who: session, session, content: BEGIN });
        for op in begin.iter().chain(&ops) {
            let said = run(&mut stores, &path, &model, op, &mut kept);
            let expected = model.apply(op, &mut kept);
            prop_assert_eq!(&said, &expected, "{:?}", op);
            *counts.borrow_mut().entry(said).or_default() += 1;
        }
        let bindings = list(&stores[0]);
        prop_assert_eq!(bindings.len(), model.rows.len());
        for (binding, (session, row)) in bindings.iter().zip(&model.rows) {
            let content = value(SESSIONS[*session], &members(&row.content));
            prop_assert_eq!(&binding.content, &content);
            prop_assert_eq!((binding.revision, binding.generation), (row.revision, row.generation));
            check_history(&stores[1], binding);
        }
        check_natives(&bindings);
        Ok(())
    });
    outcome.expect("the model agrees");
    let counts = counts.into_inner();
    let mut expected = vec![
        "created",
        "create rule 6",
        "binding_exists",
        "binding_native_taken",
        "binding_conflict",
        "binding_conflict gone",
        "binding_fenced",
        "update binding_owned",
        "same",
        "updated in mode 0",
        "updated in mode 1",
        "updated in mode 2",
        "claimed",
        "claim binding_owned",
        "binding_missing",
        "binding_error",
        "binding_not_found",
        "released true",
        "released false",
        "reserved",
        "reserve binding_native_taken",
        "unreserved true",
        "unreserved false",
        "restarted",
        "rule 3 in mode 0",
        "rule 4 in mode 2",
        "rule 6 in mode 2",
    ];
    let forbidden: Vec<String> = [2, 4, 5, 6]
        .iter()
        .flat_map(|rule| [0, 1].map(|mode| format!("rule {rule} in mode {mode}")))
        .collect();
    expected.extend(forbidden.iter().map(String::as_str));
    for label in expected {
        assert!(counts.get(label).is_some_and(|times| *times > 1), "{label}: {counts:#?}");
    }
}

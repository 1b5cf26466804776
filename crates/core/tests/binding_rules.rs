//! The rules of a binding against a table that was written by hand: every state, mode and id, and the order of the rules.

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::runtime::binding::{
    Binding, BindingCode, BindingState, Content, Expected, Holder, Mode, NativeSessionId, NativeStep,
    ProductSessionId, Rule, Step, claim, may_become, may_begin, take_native, update,
};

/// `from: to | normal | repair | rebind`, in each mode one mark for each id that `to` may have: the claimed one, another one, none.
/// Where nothing is claimed there is no claimed one: `-`. A digit is the rule that forbids it.
const TABLE: &str = "
    unbound:   unbound | - 6 . | - 6 . | - 6 .
    unbound:   bound   | - . 6 | - . 6 | - . 6
    unbound:   missing | - 4 4 | - 4 4 | - 4 4
    unbound:   error   | - . . | - . . | - . .
    bound:     unbound | 4 4 4 | 4 4 4 | 6 6 .
    bound:     bound   | . 5 5 | . 5 5 | . . 6
    bound:     missing | . 5 5 | . 5 5 | . . 6
    bound:     error   | . 5 5 | . 5 5 | . . .
    missing:   unbound | 4 4 4 | 4 4 4 | 6 6 .
    missing:   bound   | 3 3 3 | . 5 5 | . . 6
    missing:   missing | . 5 5 | . 5 5 | . . 6
    missing:   error   | . 5 5 | . 5 5 | . . .
    error+id:  unbound | 4 4 4 | 4 4 4 | 6 6 .
    error+id:  bound   | 3 3 3 | . 5 5 | . . 6
    error+id:  missing | . 5 5 | . 5 5 | . . 6
    error+id:  error   | . 5 5 | . 5 5 | . . .
    error:     unbound | - 6 . | - 6 . | - 6 .
    error:     bound   | - 3 3 | - . 6 | - . 6
    error:     missing | - . 6 | - . 6 | - . 6
    error:     error   | - . . | - . . | - . .
";

fn id(text: &str) -> ProductSessionId {
    ProductSessionId::new(text).expect("an id")
}

fn content(state: BindingState, native: Option<&str>) -> Content {
    Content {
        product_session_id: id("ps_1"),
        runtime_instance_id: "main".to_owned(),
        adapter_id: "codex".to_owned(),
        native_session_id: native.map(|text| NativeSessionId::new(text).expect("an id")),
        state,
        protocol: None,
        protocol_version: None,
        adapter_version: None,
        locator: None,
        metadata: None,
        diagnostic: None,
    }
}

fn binding(content: Content) -> Binding {
    let at = Moment::from_unix_millis(0);
    Binding { content, revision: 3, generation: 2, created_at: at, updated_at: at }
}

fn expected(mode: Mode) -> Expected {
    Expected { revision: 3, mode, generation: None }
}

/// The cells of the table: from, to, mode, and the rule that forbids it.
fn cells() -> Vec<(Content, Content, Mode, Option<u8>)> {
    let mut cells = Vec::new();
    for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (from, rest) = line.split_once(':').expect("a from");
        let (to, marks) = rest.split_once('|').expect("marks");
        let (from, claimed) = match from {
            "bound" | "missing" => (from, Some("claimed")),
            "error+id" => ("error", Some("claimed")),
            _ => (from, None),
        };
        let from = content(BindingState::from_word(from).expect("a state"), claimed);
        let to = BindingState::from_word(to.trim()).expect("a state");
        for (&mode, marks) in Mode::ALL.iter().zip(marks.split('|')) {
            let marks: Vec<&str> = marks.split_whitespace().collect();
            assert_eq!(marks.len(), 3, "{line}");
            for (native, mark) in [Some("claimed"), Some("other"), None].into_iter().zip(marks) {
                if mark == "-" {
                    assert_eq!(claimed, None, "{line}");
                    continue;
                }
                let rule = (mark != ".").then(|| mark.parse().expect("a rule"));
                cells.push((from.clone(), content(to, native), mode, rule));
            }
        }
    }
    cells
}

#[test]
fn each_change_is_as_in_the_table() {
    let cells = cells();
    // 3 froms with a claim, each to 4 states with 3 ids, and 2 without with 2; in 3 modes.
    assert_eq!(cells.len(), (3 * 4 * 3 + 2 * 4 * 2) * 3);
    for (from, to, mode, rule) in cells {
        let verdict = may_become(&from, &to, mode).err().map(Rule::number);
        let what = format!("{:?} to {:?} in {mode:?}", from.state, to.state);
        assert_eq!(verdict, rule, "{what}");
        let said = update(&binding(from.clone()), false, &to, expected(mode));
        match rule {
            Some(rule) => {
                let fault = said.expect_err("a rule forbids it");
                assert_eq!(fault.code, BindingCode::Transition);
                let details = &fault.details;
                assert_eq!(
                    (details.from, details.to, details.mode, details.rule),
                    (Some(from.state), Some(to.state), Some(mode), Some(rule))
                );
            }
            None if from == to => assert_eq!(said, Ok(Step::Same)),
            None => assert_eq!(said, Ok(Step::Write { revision: 4 })),
        }
    }
}

#[test]
fn another_instance_or_adapter_needs_rebind_and_comes_before_the_other_rules() {
    for (from, to, mode, rule) in cells() {
        for elsewhere in [
            Content { runtime_instance_id: "other".to_owned(), ..to.clone() },
            Content { adapter_id: "other".to_owned(), ..to.clone() },
        ] {
            let expected = if mode == Mode::Rebind { rule } else { Some(2) };
            assert_eq!(may_become(&from, &elsewhere, mode).err().map(Rule::number), expected);
        }
    }
}

#[test]
fn what_a_binding_may_begin_as() {
    for (state, with_id, without) in [
        (BindingState::Unbound, Some(6), None),
        (BindingState::Bound, None, Some(6)),
        (BindingState::Missing, None, Some(6)),
        (BindingState::Error, None, None),
    ] {
        let rule = |native| may_begin(&content(state, native)).err().map(Rule::number);
        assert_eq!((rule(Some("a")), rule(None)), (with_id, without), "{state:?}");
    }
}

#[test]
fn revision_then_generation_then_owner_then_the_rest() {
    use BindingCode::{Conflict, Fenced, Owned, Transition};

    // Each of these breaks rule 3 as well.
    let current = binding(content(BindingState::Missing, Some("a")));
    let next = content(BindingState::Bound, Some("a"));
    let unbound = content(BindingState::Unbound, None);
    for (revision, generation, mode, is_owned, next, code) in [
        (2, Some(1), Mode::Normal, true, &next, Some(Conflict)),
        (4, None, Mode::Rebind, false, &next, Some(Conflict)),
        (3, Some(1), Mode::Normal, true, &next, Some(Fenced)),
        (3, Some(3), Mode::Rebind, false, &next, Some(Fenced)),
        (3, None, Mode::Repair, true, &unbound, Some(Owned)),
        (3, None, Mode::Rebind, true, &next, Some(Owned)),
        (3, None, Mode::Normal, true, &next, Some(Transition)),
        (3, Some(2), Mode::Repair, true, &unbound, Some(Transition)),
        (3, Some(2), Mode::Repair, true, &next, None),
        (3, Some(2), Mode::Rebind, false, &unbound, None),
        (3, None, Mode::Repair, false, &next, None),
    ] {
        let said = update(&current, is_owned, next, Expected { revision, mode, generation });
        assert_eq!(said.err().map(|fault| fault.code), code, "{revision} {generation:?} {mode:?} {is_owned}");
    }
    let conflict = update(&current, false, &next, Expected { revision: 2, ..expected(Mode::Normal) })
        .expect_err("another revision");
    assert_eq!((conflict.details.expected_revision, conflict.details.actual_revision), (Some(2), Some(3)));
}

#[test]
fn who_may_claim() {
    use BindingCode::{Error, Missing, Owned};

    for (state, is_owned, repairs, code) in [
        (BindingState::Unbound, false, false, None),
        (BindingState::Bound, false, false, None),
        (BindingState::Bound, false, true, None),
        (BindingState::Missing, false, false, Some(Missing)),
        (BindingState::Error, false, false, Some(Error)),
        (BindingState::Missing, false, true, None),
        (BindingState::Error, false, true, None),
        (BindingState::Bound, true, false, Some(Owned)),
        (BindingState::Missing, true, true, Some(Owned)),
        (BindingState::Missing, true, false, Some(Owned)),
    ] {
        let said = claim(&binding(content(state, None)), is_owned, repairs);
        assert_eq!(said.err().map(|fault| fault.code), code, "{state:?} {is_owned} {repairs}");
    }
}

#[test]
fn a_native_id_has_one_session() {
    let (own, other) = (id("ps_1"), id("ps_2"));
    for (holder, step) in [
        (None, Some(NativeStep::Insert)),
        (Some(Holder::Binding(own.clone())), Some(NativeStep::Keep)),
        (Some(Holder::Reservation(own.clone())), Some(NativeStep::Replace)),
        (Some(Holder::Lapsed), Some(NativeStep::Replace)),
        (Some(Holder::Binding(other.clone())), None),
        (Some(Holder::Reservation(other.clone())), None),
    ] {
        let said = take_native(holder.as_ref(), &own);
        if let Err(fault) = &said {
            assert_eq!(fault.code, BindingCode::NativeTaken);
            assert_eq!(fault.details.other_session_id.as_ref(), Some(&other));
        }
        assert_eq!(said.ok(), step, "{holder:?}");
    }
}

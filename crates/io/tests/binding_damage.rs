//! A store that is damaged, and what a repair tells and frees.

mod bindings;

use std::fs;

use agent_lifecycle_core::runtime::binding::{BindingCode, Filter};
use agent_lifecycle_io::binding_store::{Options, Repair};
use agent_lifecycle_io::process::Identity;
use bindings::{
    ask, claim, close, code, create, folder, get, history, id, normal, open, open_at, store_file, tamper,
    update,
};
use serde_json::json;

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

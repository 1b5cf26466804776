//! What a caller may write of a binding, member by member, and what is shown of it.

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::json;
use agent_lifecycle_core::runtime::binding::{
    Binding, BindingFault, BindingState, Content, Expected, Inspection, Mode, OwnerStatus, OwnerView,
    binding_update, expected, new_binding,
};
use serde_json::{Value, json};

const SECRET: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";

fn with(members: &Value) -> Result<Content, BindingFault> {
    let mut value = json!({ "productSessionId": "ps_1", "runtimeInstanceId": "main", "adapterId": "codex" });
    for (name, member) in members.as_object().expect("members") {
        value[name] = member.clone();
    }
    new_binding(&value.to_string())
}

#[test]
fn strings_are_trimmed_and_blank_is_absent() {
    let read = with(&json!({
        "productSessionId": " ps_1\n",
        "adapterId": "\tcodex ",
        "nativeSessionId": "  ",
        "protocol": " acp ",
        "protocolVersion": "",
        "adapterVersion": null,
        "locator": { "kind": " uri ", "value": " " },
        "revision": 9, "generation": "x", "createdAt": 1, "updatedAt": [],
    }))
    .expect("values");
    let content = read;
    assert_eq!((content.product_session_id.as_str(), content.adapter_id.as_str()), ("ps_1", "codex"));
    assert_eq!(content.state, BindingState::Unbound);
    assert_eq!(content.native_session_id, None);
    assert_eq!(
        (content.protocol.as_deref(), content.protocol_version, content.adapter_version),
        (Some("acp"), None, None)
    );
    assert_eq!(json::write(&content.locator), r#"{"kind":"uri"}"#);
}

#[test]
fn what_is_no_value_is_refused_by_name_and_not_repeated() {
    let long = "x".repeat(70_000);
    for (members, member) in [
        (json!({ "productSessionId": "" }), "productSessionId"),
        (json!({ "productSessionId": 7 }), "productSessionId"),
        (json!({ "productSessionId": "x".repeat(513) }), "productSessionId"),
        (json!({ "runtimeInstanceId": "Main" }), "runtimeInstanceId"),
        (json!({ "adapterId": "a b" }), "adapterId"),
        (json!({ "adapterId": null }), "adapterId"),
        (json!({ "nativeSessionId": "x".repeat(4097) }), "nativeSessionId"),
        (json!({ "nativeSessionId": 1 }), "nativeSessionId"),
        (json!({ "state": "gone" }), "state"),
        (json!({ "protocol": "x".repeat(513) }), "protocol"),
        (json!({ "locator": { "kind": "file" } }), "locator"),
        (json!({ "locator": "here" }), "locator"),
        (json!({ "locator": { "kind": "uri", "value": 1 } }), "locator"),
        (json!({ "metadata": [] }), "metadata"),
        (json!({ "metadata": { "a": long } }), "metadata"),
        (json!({ "diagnostic": { "code": "a", "phase": "open", "message": "m" } }), "diagnostic"),
        (
            json!({ "diagnostic": { "code": "a", "phase": "open", "message": "m", "at": "soon" } }),
            "diagnostic",
        ),
        (json!({ "nativeSesionId": "secret-id" }), "binding"),
    ] {
        let fault = with(&members).expect_err("no value");
        assert_eq!(fault.details.member, Some(member), "{members}");
        assert!(
            fault.message.starts_with(member) && !fault.message.contains("secret-id"),
            "{}",
            fault.message
        );
        assert!(!fault.message.contains("xxx"), "{}", fault.message);
    }
    let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
    for text in [
        r#"{"productSessionId":"\ud800","runtimeInstanceId":"a","adapterId":"b"}"#.to_owned(),
        "[]".to_owned(),
        String::new(),
        format!(
            r#"{{"productSessionId":"a","runtimeInstanceId":"a","adapterId":"b","metadata":{{"a":{deep}}}}}"#
        ),
        "[".repeat(100_000),
    ] {
        assert!(new_binding(&text).is_err(), "{}", &text[..text.len().min(40)]);
    }
}

#[test]
fn the_bounds_of_metadata_are_bytes_of_its_text() {
    // {"a":"..."}: 8 bytes around the text.
    let fits = json!({ "metadata": { "a": "x".repeat(65_536 - 8) } });
    assert!(with(&fits).is_ok());
    assert!(with(&json!({ "metadata": { "a": "x".repeat(65_536 - 7) } })).is_err());
}

#[test]
fn equal_objects_are_equal_whatever_their_order() {
    let one = with(&json!({ "metadata": { "a": 1, "b": { "c": [1.5, true], "d": null } } })).expect("values");
    let text = r#"{"metadata":{"b":{"d":null,"c":[1.5,true]},"a":1.0},"adapterId":"codex","runtimeInstanceId":"main","productSessionId":"ps_1"}"#;
    assert_eq!(new_binding(text).expect("values"), one);
}

#[test]
fn a_diagnostic_is_redacted_and_bounded() {
    let diagnostic = json!({ "code": "crashed", "phase": "open", "at": "2026-05-17T22:29:21Z",
        "message": format!("it said api_key={SECRET} and {}", "y".repeat(5_000)) });
    let content = with(&json!({ "state": "error", "diagnostic": diagnostic })).expect("values");
    let shown = json::write(&content);
    assert!(!shown.contains(SECRET) && shown.contains("[REDACTED]"), "{shown}");
    assert_eq!(content.diagnostic.expect("one").message.len(), 4_000);
}

#[test]
fn what_is_shown_has_neither_native_id_nor_locator_nor_metadata() {
    let content = with(&json!({
        "state": "bound",
        "nativeSessionId": "thread-native",
        "locator": { "kind": "local-file", "value": "/home/locator" },
        "metadata": { "token": SECRET, "a": { "inner": 1 } },
        "protocol": "acp",
    }))
    .expect("values");
    let at = Moment::from_unix_millis(0);
    let binding = Binding { content, revision: 2, generation: 1, created_at: at, updated_at: at };
    let owner = OwnerView { pid: Some(7), status: OwnerStatus::Unknown };
    let shown: Value =
        serde_json::from_str(&json::write(&Inspection::of(binding, Some(owner)))).expect("JSON");
    assert_eq!(
        shown,
        json!({
            "productSessionId": "ps_1", "runtimeInstanceId": "main", "adapterId": "codex",
            "hasNativeSession": true, "state": "bound", "protocol": "acp",
            "locatorKind": "local-file", "metadataKeys": ["a", "token"],
            "revision": 2, "generation": 1,
            "createdAt": "1970-01-01T00:00:00Z", "updatedAt": "1970-01-01T00:00:00Z",
            "owner": { "pid": 7, "status": "unknown" },
        })
    );
}

#[test]
fn an_update_needs_its_state_and_the_revision_that_was_read() {
    let whole = r#"{"productSessionId":"ps_1","runtimeInstanceId":"main","adapterId":"codex"}"#;
    assert_eq!(binding_update(whole).expect_err("no state").details.member, Some("state"));
    assert!(new_binding(whole).is_ok());
    let right = Expected { revision: 3, mode: Mode::Rebind, generation: Some(0) };
    assert_eq!(expected(r#"{"expectedRevision":3,"mode":"rebind","generation":0}"#), Ok(right));
    let least = Expected { revision: 0, mode: Mode::Normal, generation: None };
    assert_eq!(expected(r#"{"expectedRevision":0,"mode":null}"#), Ok(least));
    for (text, member) in [
        ("{}", "expectedRevision"),
        (r#"{"expectedRevision":null}"#, "expectedRevision"),
        (r#"{"expectedRevision":"3"}"#, "expectedRevision"),
        (r#"{"expectedRevision":-1}"#, "expectedRevision"),
        (r#"{"expectedRevision":1.5}"#, "expectedRevision"),
        (r#"{"expectedRevision":9007199254740992}"#, "expectedRevision"),
        (r#"{"expectedRevision":1,"mode":"force"}"#, "mode"),
        (r#"{"expectedRevision":1,"generation":true}"#, "generation"),
    ] {
        assert_eq!(expected(text).expect_err(text).details.member, Some(member), "{text}");
    }
}

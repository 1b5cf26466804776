//! The types of records that are known, with or without an event.
//!
//! Input: the type of a record and of its payload. Output: the one name for both. Never: allocates.

/// Types whose payload has none of its own; `state` stands between the records of the oldest format.
const PLAIN: [&str; 5] = ["session_meta", "turn_context", "compacted", "world_state", "state"];

const RESPONSE_ITEMS: [&str; 17] = [
    "response_item/message",
    "response_item/reasoning",
    "response_item/agent_message",
    "response_item/function_call",
    "response_item/function_call_output",
    "response_item/custom_tool_call",
    "response_item/custom_tool_call_output",
    "response_item/local_shell_call",
    "response_item/local_shell_call_output",
    "response_item/web_search_call",
    "response_item/tool_search_call",
    "response_item/tool_search_output",
    "response_item/image_generation_call",
    "response_item/ghost_snapshot",
    "response_item/compaction",
    "response_item/compaction_summary",
    "response_item/context_compaction",
];

const EVENTS: [&str; 51] = [
    "event_msg/token_count",
    "event_msg/agent_message",
    "event_msg/agent_reasoning",
    "event_msg/agent_reasoning_raw_content",
    "event_msg/user_message",
    "event_msg/task_started",
    "event_msg/turn_started",
    "event_msg/task_complete",
    "event_msg/turn_complete",
    "event_msg/turn_aborted",
    "event_msg/item_completed",
    "event_msg/item_started",
    "event_msg/exec_command_begin",
    "event_msg/exec_command_end",
    "event_msg/patch_apply_begin",
    "event_msg/patch_apply_end",
    "event_msg/mcp_tool_call_begin",
    "event_msg/mcp_tool_call_end",
    "event_msg/dynamic_tool_call_request",
    "event_msg/dynamic_tool_call_response",
    "event_msg/web_search_begin",
    "event_msg/web_search_end",
    "event_msg/view_image_tool_call",
    "event_msg/image_generation_begin",
    "event_msg/image_generation_end",
    "event_msg/context_compacted",
    "event_msg/thread_rolled_back",
    "event_msg/thread_name_updated",
    "event_msg/thread_settings_applied",
    "event_msg/error",
    "event_msg/stream_error",
    "event_msg/warning",
    "event_msg/guardian_assessment",
    "event_msg/entered_review_mode",
    "event_msg/exited_review_mode",
    "event_msg/undo_completed",
    "event_msg/turn_diff",
    "event_msg/plan_update",
    "event_msg/sub_agent_activity",
    "event_msg/collab_agent_spawn_end",
    "event_msg/collab_agent_interaction_end",
    "event_msg/collab_waiting_end",
    "event_msg/collab_close_end",
    "event_msg/collab_resume_end",
    "event_msg/shutdown_complete",
    "event_msg/exec_approval_request",
    "event_msg/apply_patch_approval_request",
    "event_msg/request_permissions",
    "event_msg/request_user_input",
    "event_msg/elicitation_request",
    "event_msg/session_configured",
];

/// The name of a record's type: `event_msg/task_started`, or the type alone where a payload has none. `None` for an unknown one.
pub(super) fn known(kind: &str, of_payload: Option<&str>) -> Option<&'static str> {
    let table: &[&str] = match kind {
        "event_msg" => &EVENTS,
        "response_item" => &RESPONSE_ITEMS,
        _ => return PLAIN.into_iter().find(|known| *known == kind),
    };
    let of_payload = of_payload?;
    table.iter().copied().find(|known| &known[kind.len() + 1..] == of_payload)
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, PLAIN, RESPONSE_ITEMS, known};

    #[test]
    fn each_type_is_found_by_its_parts_and_nothing_else_is() {
        for name in PLAIN {
            assert_eq!(known(name, Some("anything")), Some(name));
        }
        for name in RESPONSE_ITEMS.into_iter().chain(EVENTS) {
            let (kind, of_payload) = name.split_once('/').unwrap();
            assert_eq!(known(kind, Some(of_payload)), Some(name));
        }
        for (kind, of_payload) in
            [("event_msg", None), ("event_msg", Some("message")), ("x", Some("task_started")), ("", None)]
        {
            assert_eq!(known(kind, of_payload), None, "{kind} {of_payload:?}");
        }
    }
}

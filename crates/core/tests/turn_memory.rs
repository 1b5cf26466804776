//! A harness that says too much of everything costs bounded memory. A binary of its own, because it counts every allocation.

mod common;

use common::turns::{Turns, accepted_as, begin, seen_of, terminal_of};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const MIB: usize = 1024 * 1024;

#[test]
fn a_harness_that_says_too_much_of_everything() {
    // The rules of redaction are compiled once for the process.
    let _ = agent_lifecycle_core::redact::redact_text("password=open sesame");
    let long = "n".repeat(20_000);
    let mut turns = Turns::named();
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let (mut said, mut overflowed) = (0, 0);
    for turn in 0..20 {
        let turn = format!("t{turn}");
        turns.push(begin(&turn));
        if turn.ends_with('0') {
            // What waits has 5 MiB when it is too much.
            for at in 0..257 {
                let text = json!({"kind": "assistant", "nativeItemId": at, "text": {"delta": long}});
                overflowed += turns.push(seen_of(&turn, text)).len();
            }
            continue;
        }
        turns.push(accepted_as(&turn));
        for at in 0..40 {
            let name = format!("{at}-{long}");
            for kind in ["assistant", "tool_updated"] {
                let event = format!("{kind}-{name}");
                let more = json!({"kind": kind, "scope": name, "nativeItemId": name, "nativeEventId": event,
                    "text": {"delta": format!("{} ", &long[..4_000])}});
                said += turns.push(seen_of(&turn, more)).len();
            }
        }
        said += turns.push(terminal_of(&turn, "completed")).len();
    }
    // A start and an end of each turn that was too much; of the others two pieces for each of 40 items, and their ends.
    assert_eq!((overflowed, said), (2 * 2, 18 * (40 * 6 + 1)));
    let (kept, peak) = (ALLOCATED.current_usage() - before, ALLOCATED.peak_usage() - before);
    assert!(kept < 2 * MIB, "{kept} bytes are kept");
    assert!(peak < 24 * MIB, "{peak} bytes at most");
}

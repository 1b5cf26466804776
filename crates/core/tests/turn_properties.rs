//! Whatever comes in whatever order, twice, late or never: what a sequencer says keeps every rule.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;

use common::turn_rules::{Counters, REVISED, Rules, SECRET};
use common::turns::{Turns, begin, seen};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// One thing that a turn does: what, with which item, of which agent.
type Piece = (u8, u8, bool);
/// A turn: how it is accepted, what it does, how it ends.
type Story = (u8, Vec<Piece>, u8);

const PIECES: u8 = 20;
const ENDINGS: u8 = 11;

/// What the harness and the host do in one turn, in the right order.
fn told(at: usize, (acceptance, pieces, ending): &Story) -> Vec<Value> {
    let turn = format!("t{at}");
    let native = format!("native-{turn}");
    let host = |input: &str| json!({"input": input, "turnId": turn});
    let accepted = json!({"input": "accepted", "turnId": turn, "nativeTurnId": native});
    let mut done: Vec<Value> = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        for mut input in does(&turn, number, *piece) {
            if input["input"] == "observation" && input["kind"] != "warning" {
                input["nativeTurnId"] = json!(native);
                if piece.2 {
                    input["scope"] = json!("native-sub");
                }
            }
            done.push(input);
        }
    }
    let end = |status: &str| {
        json!({"input": "terminal", "status": status, "nativeTurnId": native,
        "message": format!("of-{turn} said {SECRET}"), "usage": {"output": 3}})
    };
    let mut all = vec![begin(&turn)];
    match acceptance % 4 {
        _ if *ending == 7 => all.push(host("rejected")),
        0 => all.push(accepted),
        1 => all.extend(done.drain(..done.len().min(3)).collect::<Vec<_>>().into_iter().chain([accepted])),
        2 => all.extend([host("accepted"), seen(json!({"kind": "turn_started", "nativeTurnId": native}))]),
        _ => all.extend([seen(json!({"kind": "turn_started", "nativeTurnId": native})), host("accepted")]),
    }
    if *ending == 8 {
        all.truncate(1);
        let flood = seen(json!({"kind": "assistant", "text": {"delta": "x "}, "nativeTurnId": native}));
        done.extend(vec![flood; 300]);
    }
    all.append(&mut done);
    match ending {
        0 | 1 => all.push(end("completed")),
        2 => all.push(end("interrupted")),
        3 => all.push(end("failed")),
        4 => all.push(host("deadline")),
        5 => all.extend([host("abort"), end("interrupted")]),
        6 => all.extend([host("abort"), host("deadline")]),
        9 => all.push(json!({"input": "exit", "exitCode": 1, "message": "gone"})),
        // It is left to the next turn, or to the end of everything.
        _ => {}
    }
    all
}

fn does(turn: &str, number: usize, (what, item, _): Piece) -> Vec<Value> {
    // A message that comes as a whole has ids of its own: with the rest of another it would be revised.
    let item = format!(
        "native-{}{}",
        item % 4,
        match what {
            1 => "-whole",
            17 => "-other",
            _ => "",
        }
    );
    let text = |kind: &str, text: Value| seen(json!({"kind": kind, "nativeItemId": item, "text": text}));
    let delta = |kind: &str, said: &str| text(kind, json!({"delta": format!("{said} of-{turn} ")}));
    let tool = |kind: &str, more: Value| {
        let mut input = seen(json!({"kind": kind, "nativeItemId": item, "toolName": "Bash"}));
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let request = |id: &str| {
        json!({"input": "requestOpened", "approval": {"requestId": id, "turnId": turn, "kind": "command",
            "detail": format!("of-{turn} {SECRET}"), "decisions": []}})
    };
    let resolved =
        |id: &str, outcome: &str| json!({"input": "requestResolved", "requestId": id, "outcome": outcome});
    let id = format!("r-{turn}-{number}");
    match what {
        0 => vec![
            delta("assistant", "one"),
            delta("assistant", "two"),
            seen(json!({"kind": "assistant", "nativeItemId": item, "done": true})),
        ],
        1 => {
            let whole = |most: usize| ["a ", "b ", "c "][..most].concat() + "of-" + turn;
            let mut end = text("assistant", json!({"cumulative": whole(3)}));
            end["done"] = json!(true);
            if number % 2 == 0 {
                return vec![end];
            }
            // Each is more of the last: the mark comes with the end only.
            vec![
                text("assistant", json!({"cumulative": "a "})),
                text("assistant", json!({"cumulative": "a b "})),
                end,
            ]
        }
        2 => vec![seen(json!({"kind": "assistant", "text": {"delta": "open "}}))],
        3 => vec![
            delta("reasoning", "so"),
            seen(json!({"kind": "reasoning", "nativeItemId": item, "done": true})),
        ],
        4 => vec![
            tool("tool_call", json!({"args": {"command": "l"}, "argsComplete": false})),
            tool("tool_call", json!({"args": {"command": format!("ls {SECRET}")}})),
            tool("tool_started", json!({})),
            tool("tool_updated", json!({"text": {"delta": SECRET[..5]}})),
            tool("tool_updated", json!({"text": {"delta": SECRET[5..]}})),
            tool("tool_finished", json!({"result": format!("of-{turn}")})),
        ],
        5 => vec![tool("tool_finished", json!({"isError": true}))],
        6 => ["tool_call", "tool_started", "tool_finished"]
            .map(|kind| seen(json!({"kind": kind, "toolName": "Read"})))
            .to_vec(),
        7 => ["compaction_started", "compaction_finished"]
            .map(|kind| seen(json!({"kind": kind, "nativeItemId": item})))
            .to_vec(),
        8 => vec![request(&id), resolved(&id, "responded")],
        9 => vec![request(&id), resolved(&id, "expired")],
        10 => vec![request(&id)],
        11 => vec![
            seen(json!({"kind": "usage", "usage": {"input": 1}})),
            seen(json!({"kind": "plan", "plan": [format!("of-{turn}")]})),
            seen(json!({"kind": "diff", "diff": SECRET})),
        ],
        12 => vec![
            seen(json!({"kind": "native", "name": "x", "payload": {"a": [SECRET, format!("of-{turn}")]}})),
            seen(json!({"kind": "error", "message": SECRET})),
            seen(json!({"kind": "warning", "message": "of the whole session"})),
            seen(json!({"kind": "adapter", "state": "ready"})),
        ],
        13 => {
            let mut end = text("assistant", json!({"cumulative": format!("{REVISED} of-{turn}")}));
            end["done"] = json!(true);
            vec![delta("assistant", "draft"), end]
        }
        14 => vec![
            text("assistant", json!({"delta": format!("key {}", &SECRET[..7])})),
            text("assistant", json!({"delta": format!("{} of-{turn} ", &SECRET[7..])})),
        ],
        15 => vec![
            tool("tool_updated", json!({"partialResult": 1})),
            seen(json!({"kind": "compaction_started"})),
        ],
        16 => vec![
            seen(
                json!({"kind": "assistant", "nativeEventId": number, "text": {"delta": format!("e of-{turn} ")}}),
            ),
            seen(json!({"kind": "compaction_finished"})),
        ],
        17 => vec![
            text("assistant", json!({"cumulative": "a b "})),
            text("assistant", json!({"cumulative": "Another beginning "})),
        ],
        18 => vec![json!({"input": "terminal", "status": "failed", "scope": "native-sub"})],
        _ => (0..70)
            .map(|at| {
                seen(json!({"kind": "usage", "usage": {"input": at}, "nativeTurnId": format!("native-{at}")}))
            })
            .chain((0..80).map(|at| {
                let plan = json!({"kind": "plan", "plan": 1, "scope": format!("native-scope-{at}")});
                seen(plan)
            }))
            .collect(),
    }
}

/// The same, lost, doubled and late: each byte says what becomes of an input.
fn disturbed(inputs: Vec<Value>, fates: &[u8]) -> Vec<Value> {
    let mut placed: Vec<(usize, Value)> = Vec::new();
    for (at, input) in inputs.into_iter().enumerate() {
        let fate = fates[at % fates.len()];
        let later = at + usize::from(fate % 12);
        match fate {
            0..170 => placed.push((at, input)),
            170..190 => {}
            190..210 => placed.extend([(at, input.clone()), (at, input)]),
            210..235 => placed.push((later, input)),
            _ => placed.extend([(at, input.clone()), (later, input)]),
        }
    }
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().map(|(_, input)| input).collect()
}

fn ends(input: &Value) -> bool {
    matches!(input["input"].as_str(), Some("terminal" | "exit" | "deadline" | "close"))
}

/// Whether an event of a turn holds text of another.
fn strays(event: &Value) -> bool {
    let whole = event.to_string();
    let mine = format!("of-{}", event["turnId"].as_str().unwrap_or("none"));
    event.get("turnId").is_some()
        && whole.match_indices("of-t").any(|(at, _)| !whole[at..].starts_with(&mine))
}

fn stories() -> impl Strategy<Value = (Vec<Story>, Vec<u8>)> {
    let piece = (0..PIECES, any::<u8>(), any::<bool>());
    let story = (any::<u8>(), vec(piece, 0..8), 0..ENDINGS);
    (vec(story, 1..6), vec(any::<u8>(), 64))
}

#[test]
fn any_order_duplication_loss_and_lateness() {
    let counters = RefCell::new(Counters::new());
    let drops = RefCell::new(BTreeMap::<String, u64>::new());
    let named = RefCell::new(0);
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    for names_turns in [true, false] {
        TestRunner::new(config.clone())
            .run(&stories(), |(stories, fates)| {
                let told = stories.iter().enumerate().flat_map(|(at, story)| told(at, story)).collect();
                let mut inputs = disturbed(told, &fates);
                inputs.push(json!({"input": "close"}));
                let after = inputs.iter().take(5).cloned().collect::<Vec<_>>();
                let mut turns = Turns::new(names_turns, &[SECRET]);
                let mut rules = Rules::default();
                // Where the beginning that names a turn can be lost, the next one names it: then nobody can tell.
                let are_named = names_turns && stories.iter().all(|(acceptance, ..)| acceptance % 4 < 2);
                *named.borrow_mut() += usize::from(are_named && stories.len() > 1);
                for input in inputs.into_iter().chain(after) {
                    let said = turns.push(input.clone());
                    let judged = rules.judge(&said, ends(&input), input["input"] == "close");
                    prop_assert!(judged.is_ok(), "{judged:?} after {input}");
                    if are_named {
                        prop_assert!(!said.iter().any(strays), "{input} made {said:?}");
                        let ended = said.last().filter(|_| input["input"] == "terminal");
                        if let Some(ended) = ended {
                            let named = format!("native-{}", ended["turnId"].as_str().unwrap());
                            prop_assert_eq!(&input["nativeTurnId"], &json!(named));
                        }
                    }
                }
                let stats = turns.stats();
                prop_assert!(stats["diagnostics"].as_array().unwrap().len() <= 32);
                prop_assert!(!stats.to_string().contains("native-"));
                for (reason, count) in stats["dropped"].as_object().unwrap() {
                    *drops.borrow_mut().entry(reason.clone()).or_default() += count.as_u64().unwrap();
                }
                for (rule, count) in rules.counters {
                    *counters.borrow_mut().entry(rule).or_default() += count;
                }
                Ok(())
            })
            .unwrap();
    }
    let (counters, drops) = (counters.into_inner(), drops.into_inner());
    for rule in [
        "adapter",
        "all closed at disposal",
        "call that grows",
        "closing in order",
        "compaction ended",
        "completed",
        "failed",
        "failed by deadline",
        "failed by exit",
        "failed by overflow",
        "index stable over deltas",
        "inferred call",
        "inferred start of a compaction",
        "inferred start of a tool",
        "interrupted",
        "interrupted, unconfirmed",
        "message as a whole",
        "message of its deltas",
        "note of a turn",
        "note of none",
        "reasoning finished",
        "redacted",
        "request aborted",
        "request cleared",
        "request expired",
        "request opened",
        "request responded",
        "revised message",
        "silence after disposal",
        "tool ended as an error",
        "tool finished",
        "truncated message",
        "turn started",
        "usage before the end",
    ] {
        assert!(counters.get(rule).is_some_and(|&count| count >= 5), "{rule}: {counters:?}");
    }
    for reason in drops.keys() {
        assert!(drops[reason] >= 5, "{reason}: {drops:?}");
    }
    assert_eq!(drops.len(), 14);
    assert!(*named.borrow() > 10, "{named:?}");
}

#[test]
fn a_harness_without_turn_ids_that_answers_in_order_is_never_mixed_up() {
    // For each turn: how much it says, and where there is a deadline, how much of all is heard before it.
    let turn = (0..6_usize, proptest::option::of(0..8_usize));
    let (late, clean) = (RefCell::new(0), RefCell::new(0));
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&vec(turn, 1..8), |script| {
            let mut turns = Turns::nameless();
            let mut harness = std::collections::VecDeque::new();
            let mut said: Vec<Value> = Vec::new();
            for (at, &(texts, deadline)) in script.iter().enumerate() {
                let turn = format!("t{at}");
                said.extend(turns.push(begin(&turn)));
                said.extend(turns.push(json!({"input": "accepted", "turnId": turn})));
                harness.extend(
                    (0..texts).map(|_| {
                        seen(json!({"kind": "assistant", "text": {"delta": format!("of-{turn} ")}}))
                    }),
                );
                harness.push_back(json!({"input": "terminal", "status": "completed"}));
                let heard = deadline.unwrap_or(usize::MAX).min(harness.len());
                for input in harness.drain(..heard) {
                    said.extend(turns.push(input));
                }
                if deadline.is_some() {
                    said.extend(turns.push(json!({"input": "deadline", "turnId": turn})));
                }
            }
            prop_assert!(!said.iter().any(strays), "{said:?}");
            for (at, &(texts, deadline)) in
                script.iter().enumerate().filter(|(_, (_, deadline))| deadline.is_none())
            {
                let turn = json!(format!("t{at}"));
                let mine: Vec<_> = said.iter().filter(|event| event["turnId"] == turn).collect();
                prop_assert_eq!(mine.last().map(|event| &event["status"]), Some(&json!("completed")));
                let message = mine.iter().find(|event| event["kind"] == "assistant_message");
                let text = message.map_or("", |event| event["text"].as_str().unwrap());
                prop_assert_eq!(text, format!("of-t{at} ").repeat(texts));
                let was_late = at > 0 && script[at - 1].1.is_some();
                *if was_late { late.borrow_mut() } else { clean.borrow_mut() } += 1;
                prop_assert_eq!(deadline, None);
            }
            Ok(())
        })
        .unwrap();
    assert!(*late.borrow() > 60 && *clean.borrow() > 60, "{late:?} {clean:?}");
}

#[test]
fn a_registered_secret_cut_at_every_index_over_two_events() {
    // A4: deltas, cumulative texts, output of tools, and pieces that follow each other.
    let shows = |events: &[Value]| {
        let whole: String = events.iter().map(Value::to_string).collect();
        (0..=SECRET.len() - 4).any(|from| whole.contains(&SECRET[from..from + 4]))
    };
    for cut in 0..=SECRET.len() {
        let (head, tail) = SECRET.split_at(cut);
        let (head, tail) = (format!("say {head}"), format!("{tail} on"));
        let text = |kind: &str, item: u8, text: Value| {
            seen(json!({"kind": kind, "nativeItemId": item, "text": text}))
        };
        let whole = format!("{head}{tail}");
        for (inputs, joined) in [
            (
                vec![
                    text("assistant", 1, json!({"delta": head})),
                    text("assistant", 1, json!({"delta": tail})),
                ],
                true,
            ),
            (
                vec![
                    text("reasoning", 1, json!({"delta": head})),
                    text("reasoning", 1, json!({"delta": tail})),
                ],
                true,
            ),
            (
                vec![
                    text("assistant", 1, json!({"cumulative": head})),
                    text("assistant", 1, json!({"cumulative": whole})),
                ],
                true,
            ),
            (
                vec![
                    text("tool_updated", 1, json!({"delta": head})),
                    text("tool_updated", 1, json!({"delta": tail})),
                ],
                true,
            ),
            (
                vec![
                    text("assistant", 1, json!({"delta": head})),
                    text("assistant", 2, json!({"delta": tail})),
                ],
                false,
            ),
            (
                vec![
                    text("tool_updated", 1, json!({"delta": head})),
                    text("assistant", 1, json!({"delta": tail})),
                ],
                false,
            ),
            (
                vec![
                    seen(
                        json!({"kind": "tool_call", "nativeItemId": 1, "args": {"a": head}, "argsComplete": false}),
                    ),
                    seen(json!({"kind": "tool_call", "nativeItemId": 1, "args": {"a": whole}})),
                ],
                true,
            ),
            (
                vec![
                    seen(json!({"kind": "tool_updated", "nativeItemId": 1, "partialResult": [head]})),
                    seen(json!({"kind": "tool_updated", "nativeItemId": 1, "partialResult": [tail]})),
                ],
                false,
            ),
            (
                vec![
                    seen(json!({"kind": "warning", "message": head})),
                    seen(json!({"kind": "error", "message": tail})),
                ],
                false,
            ),
        ] {
            let mut turns = Turns::new(false, &[SECRET]);
            let mut said = turns.push(begin("t1"));
            said.extend(turns.push(json!({"input": "accepted", "turnId": "t1"})));
            let name = inputs[1].to_string();
            said.extend(inputs.into_iter().flat_map(|input| turns.push(input)));
            said.extend(turns.push(json!({"input": "terminal", "status": "completed"})));
            assert!(!shows(&said), "{cut}: {name}: {said:?}");
            let hidden = said.iter().any(|event| event.to_string().contains("[REDACTED]"));
            // Cut between two texts, a piece of fewer than four units is left, on one side at least not.
            assert!(hidden || !joined, "{cut}: {name}: {said:?}");
        }
    }
}

#[test]
fn a_key_cut_at_every_index_over_two_deltas() {
    let key = "sk-abcdefghijklmnopqrstuvwx0123";
    let text = format!("the key {key} is gone, password=hunter22 too ");
    for cut in 0..=text.len() {
        let mut turns = Turns::nameless();
        turns.push(begin("t1"));
        turns.push(json!({"input": "accepted", "turnId": "t1"}));
        let mut said = Vec::new();
        for delta in [&text[..cut], &text[cut..]] {
            said.extend(turns.push(seen(json!({"kind": "assistant", "text": {"delta": delta}}))));
        }
        said.extend(turns.push(seen(json!({"kind": "assistant", "done": true}))));
        let message = said.last().unwrap()["text"].as_str().unwrap().to_owned();
        assert_eq!(message, "the key [REDACTED] is gone, password=[REDACTED] too ", "{cut}");
        let deltas = said.iter().filter(|event| event["kind"] == "assistant_delta");
        let joined: String = deltas.map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(joined, message, "{cut}");
    }
}

#[test]
fn a_secret_that_becomes_known_is_hidden_from_then_on() {
    let mut turns = Turns::nameless();
    turns.push(begin("t1"));
    turns.push(json!({"input": "accepted", "turnId": "t1"}));
    turns.push(seen(json!({"kind": "assistant", "text": {"delta": "it is zq7-K"}})));
    turns.0.hide(SECRET.to_owned()).expect("it is long enough");
    turns.0.hide(SECRET.to_owned()).expect("it is known");
    assert!(turns.0.hide("short".to_owned()).is_err());
    let rest = format!("{} and {SECRET} ", &SECRET[5..]);
    let said = turns.push(seen(json!({"kind": "assistant", "text": {"delta": rest}, "done": true})));
    assert_eq!(said.last().unwrap()["text"], json!("it is [REDACTED] and [REDACTED] "));
}

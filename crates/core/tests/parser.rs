//! The JSONL parser: framing, diagnostics and their bounds.

mod common;

use agent_lifecycle_core::decode::{Framer, JsonlParser};
use agent_lifecycle_core::text::units;
use common::event_text;

/// What a parser made of a stream: the ids of its events with their places, and its diagnostics as `code offset length`.
#[derive(Debug, PartialEq)]
struct Parsed {
    events: Vec<String>,
    diagnostics: Vec<String>,
    total: u64,
}

fn parse(stream: &[u8], chunk: usize) -> Parsed {
    let mut parser = JsonlParser::default();
    let mut events = Vec::new();
    for piece in stream.chunks(chunk) {
        parser.push(piece, &mut |event, (offset, length)| {
            events.push(format!("{} {offset} {length}", event.event_id));
        });
    }
    parser.end();
    let diagnostics = parser.diagnostics().kept().iter();
    let diagnostics =
        diagnostics.map(|fault| format!("{} {} {}", fault.code.as_str(), fault.offset, fault.length));
    Parsed { events, diagnostics: diagnostics.collect(), total: parser.diagnostics().total() }
}

/// Checks a stream in chunks of several sizes (case D7).
#[track_caller]
fn check(stream: &[u8], events: &[&str], diagnostics: &[&str]) {
    for chunk in [1, 7, 4096, 65_536, usize::MAX] {
        let parsed = parse(stream, chunk);
        assert_eq!(
            (parsed.events, parsed.diagnostics),
            (
                events.iter().map(ToString::to_string).collect(),
                diagnostics.iter().map(ToString::to_string).collect(),
            ),
            "chunks of {chunk}"
        );
        assert_eq!(parsed.total, diagnostics.len() as u64);
    }
}

/// An event with this id, padded with white space to `length` bytes.
fn line(id: &str, length: usize) -> String {
    let text = event_text(&[("eventId", &format!("{id:?}"))]);
    format!("{text}{}", " ".repeat(length - text.len()))
}

#[test]
fn valid_lines_around_bad_ones_are_delivered() {
    let (first, last) = (line("first", 300), line("last", 300));
    for (bad, code) in [
        (&b"log: starting up"[..], "malformed"),
        (b"{\"type\":", "malformed"),
        (b"\"\xff\"", "invalid_utf8"),
        (b"{\"a\":\"\xed\xa0\x80\"}", "invalid_utf8"),
        (b"{\"schemaVersion\":1}", "invalid_event"),
        (b"[]", "invalid_event"),
        (b"null", "invalid_event"),
        ("[".repeat(513).as_bytes(), "malformed"),
        (format!("{}{}", "[".repeat(513), "]".repeat(513)).as_bytes(), "too_deep"),
        (format!("{}{}", "[".repeat(512), "]".repeat(512)).as_bytes(), "invalid_event"),
    ] {
        let stream = [first.as_bytes(), b"\n", bad, b"\n", last.as_bytes(), b"\r\n"].concat();
        let at = 301 + bad.len() + 1;
        check(&stream, &["first 0 300", &format!("last {at} 301")], &[&format!("{code} 301 {}", bad.len())]);
    }
}

#[test]
fn blank_lines_are_no_errors() {
    let event = line("e", 300);
    let stream = format!("\n \t\r\n\r\n\u{3000}\u{feff}\n{event}\n\n  ");
    // 1 + 4 + 2 + 7 bytes come before the event; the white space after it is no torn record.
    check(stream.as_bytes(), &["e 14 300"], &[]);
}

#[test]
fn a_line_of_exactly_the_limit_passes() {
    let (longest, longer) = (line("longest", 262_144), line("longer", 262_145));
    check(format!("{longest}\n").as_bytes(), &["longest 0 262144"], &[]);
    check(format!("{longest}\r\n").as_bytes(), &["longest 0 262145"], &[]);
    check(format!("{longer}\n{longest}\n").as_bytes(), &["longest 262146 262144"], &["oversize 0 262145"]);
    // Not taken for a record for want of its line end.
    check(longest.as_bytes(), &[], &["truncated 0 262144"]);
    check(longer.as_bytes(), &[], &["oversize 0 262145"]);
}

#[test]
fn excerpts_are_short() {
    for (line, expected) in [
        ("x".repeat(512), "x".repeat(512)),
        ("x".repeat(600), "x".repeat(512)),
        ("é".repeat(600), "é".repeat(512)),
        ("x".repeat(511) + "😀", "x".repeat(511)),
        ("x".repeat(300_000), "x".repeat(512)),
        ("😀".repeat(100_000), "😀".repeat(256)),
    ] {
        for end in ["\n", ""] {
            let mut parser = JsonlParser::default();
            parser.push(format!("{line}{end}").as_bytes(), &mut |_, _| unreachable!("no event"));
            parser.end();
            let [fault] = parser.diagnostics().kept() else { panic!("one diagnostic") };
            // Where the line is cut off, its last run of characters may be the beginning of a secret.
            let is_cut = end.is_empty() || line.len() > 262_144;
            assert_eq!(fault.raw, if is_cut { "" } else { &expected });
            assert!(units(&fault.raw) <= 512);
            assert!(!fault.message.is_empty());
        }
    }
    // Bytes that are no text are shown as such, within the bound.
    let mut parser = JsonlParser::default();
    parser.push(&[[0xff; 2000].as_slice(), b"\n"].concat(), &mut |_, _| {});
    assert_eq!(parser.diagnostics().kept()[0].raw, "\u{fffd}".repeat(512));
}

#[test]
fn thirty_two_diagnostics_are_kept_and_the_rest_counted() {
    let stream = format!("{}{}\n{}", "x\n".repeat(40), line("e", 300), "y\n".repeat(5));
    let parsed = parse(stream.as_bytes(), 7);
    let expected: Vec<String> = (0..32).map(|number| format!("malformed {} 1", 2 * number)).collect();
    assert_eq!(parsed, Parsed { events: vec!["e 80 300".to_owned()], diagnostics: expected, total: 45 });
}

#[test]
fn d1_a_record_counts_when_its_line_ends() {
    let event = line("e", 300);
    let (begin, rest) = event.split_at(250);
    let (mut parser, mut framer) = (JsonlParser::default(), Framer::new(262_144));
    let mut ids: Vec<String> = Vec::new();
    let mut push = |bytes: &str| {
        parser.push(bytes.as_bytes(), &mut |event, _| ids.push(event.event_id.to_string()));
        framer.push(bytes.as_bytes(), &mut |_| {});
        (ids.len(), framer.consumed(), framer.pending(), parser.pending(), parser.diagnostics().total())
    };
    assert_eq!(push(begin), (0, 0, 250, 250, 0));
    assert_eq!(push(rest), (0, 0, 300, 300, 0));
    assert_eq!(push("\n"), (1, 301, 0, 0, 0));
    // A complete but malformed line moves the offset and gives one diagnostic.
    assert_eq!(push("{\"type\""), (1, 301, 7, 7, 0));
    assert_eq!(push("\n"), (1, 309, 0, 0, 1));
    // A restart at the offset reads on as if nothing had happened.
    let mut again = JsonlParser::default();
    let (stream, mut seen) = (format!("{event}\n"), 0);
    again.push(&stream.as_bytes()[..250], &mut |_, _| seen += 1);
    let mut restarted = JsonlParser::default();
    restarted.push(stream.as_bytes(), &mut |_, _| seen += 1);
    assert_eq!(seen, 1);
}

#[test]
fn d7_chunks_do_not_matter() {
    let oversize = "x".repeat(300_000);
    let mut stream = Vec::from("\u{feff}");
    for part in [
        line("a", 300).as_bytes(),
        b"\r\n\xff\n\r\r\n",
        line("é😀", 400).as_bytes(),
        b"\0\0\0\n",
        oversize.as_bytes(),
        b"\n{\"a\":\"\\ud8\n",
        line("b", 70_000).as_bytes(),
        b"\n{\"torn\":",
    ] {
        stream.extend_from_slice(part);
    }
    check(
        &stream,
        &["a 3 301", "é😀 310 403", "b 300726 70000"],
        &[
            "invalid_utf8 305 1",
            "nul_padding 310 403",
            "oversize 714 300000",
            "malformed 300715 10",
            "truncated 370727 8",
        ],
    );
}

#[test]
fn d8_byte_order_mark_and_crlf() {
    let (a, b) = (line("a", 300), line("b", 300));
    check(format!("\u{feff}{a}\r\n{b}\r\n").as_bytes(), &["a 3 301", "b 305 301"], &[]);
    // Elsewhere it is content, and no JSON.
    check(format!("{a}\n\u{feff}{b}\n").as_bytes(), &["a 0 300"], &["malformed 301 303"]);
    // A CR inside a line ends nothing.
    check(format!("{a}\r{b}\n").as_bytes(), &[], &["malformed 0 601"]);
}

#[test]
fn d9_nul_padding() {
    let (a, b, c) = (line("a", 300), line("b", 300), line("c", 300));
    let nuls = "\0".repeat(5000);
    // The padded record is delivered, as is every other.
    check(
        format!("{a}\n{b}{nuls}\n{c}\n").as_bytes(),
        &["a 0 300", "b 301 5300", "c 5602 300"],
        &["nul_padding 301 5300"],
    );
    check(format!("{a}{nuls}\r\n{c}\n").as_bytes(), &["a 0 5301", "c 5302 300"], &["nul_padding 0 5301"]);
    // A line of nothing else, a tail without a line end, and more padding than a line may have bytes.
    check(format!("{nuls}\n{c}\n").as_bytes(), &["c 5001 300"], &["malformed 0 5000"]);
    check(format!("{a}\n{nuls}").as_bytes(), &["a 0 300"], &["truncated 301 5000"]);
    let many = "\0".repeat(600_000);
    check(
        format!("{a}{many}\n{c}\n{many}").as_bytes(),
        &["a 0 600300", "c 600301 300"],
        &["nul_padding 0 600300", "truncated 600602 600000"],
    );
    // A torn record before the padding is one fault, as is padding before a record.
    let torn = &b[..100];
    check(format!("{torn}{nuls}\n{c}\n").as_bytes(), &["c 5101 300"], &["malformed 0 5100"]);
    check(format!("{nuls}{b}\n{c}\n").as_bytes(), &["c 5301 300"], &["malformed 0 5300"]);
}

#[test]
fn d10_nothing_is_no_error() {
    check(b"", &[], &[]);
    check(b"\n", &[], &[]);
    check(b"\r\n", &[], &[]);
    check("\u{feff}".as_bytes(), &[], &[]);
}

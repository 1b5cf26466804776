//! The record decoder without Node: texts, places, counts.

use agent_lifecycle_core::decode::records::{Batch, Counts, RecordDecoder};
use agent_lifecycle_core::decode::{DiagnosticCode, Select};

/// The texts of a batch, in order.
fn texts(batch: &Batch) -> Vec<String> {
    let (mut narrow, mut wide) = (0, 0);
    batch
        .ends()
        .map(|(is_wide, end)| {
            if is_wide {
                String::from_utf16_lossy(&batch.wide()[std::mem::replace(&mut wide, end)..end])
            } else {
                String::from_utf8_lossy(&batch.narrow()[std::mem::replace(&mut narrow, end)..end])
                    .into_owned()
            }
        })
        .collect()
}

fn decode(decoder: &mut RecordDecoder, stream: &[u8], size: usize) -> Vec<String> {
    stream.chunks(size).flat_map(|chunk| texts(decoder.push(chunk))).collect()
}

fn faults(decoder: &RecordDecoder) -> Vec<(&'static str, u64, u64)> {
    decoder
        .diagnostics()
        .kept()
        .iter()
        .map(|fault| (fault.code.as_str(), fault.offset, fault.length))
        .collect()
}

#[test]
fn texts_of_both_forms_come_in_order_from_any_chunks() {
    let stream =
        "\u{feff}{\"a\":1}\r\n\"é\u{2028}\"\n\n  \n[]\n\"🙂\"\n{\"long\":\"0123456789\"}\n7\n\"x".as_bytes();
    for size in 1..=stream.len() {
        let mut decoder = RecordDecoder::new(12, None);
        let seen = decode(&mut decoder, stream, size);
        assert_eq!(seen, ["{\"a\":1}", "\"é\u{2028}\"", "[]", "\"🙂\"", "7"], "chunks of {size}");
        decoder.end();
        assert_eq!(faults(&decoder), [("oversize", 34, 21), ("truncated", 58, 2)], "chunks of {size}");
        assert_eq!(decoder.counts(), Counts { records: 5, bytes: stream.len() as u64, skipped: 0 });
    }
}

#[test]
fn a_refused_record_is_reported_in_its_place() {
    let mut decoder = RecordDecoder::new(100, None);
    let batch = decoder.push("{bad\n\"ü\u{1}\"\n\"\u{7}\"\n\u{e9}\n1\0\0\n".as_bytes());
    assert_eq!(texts(batch), ["{bad", "\"ü\u{1}\"", "\"\u{7}\"", "é", "1"]);
    for index in [0, 1, 2, 3] {
        decoder.refuse(index);
    }
    // No such record.
    decoder.refuse(5);
    let expected = [
        ("malformed", 0, 4),
        ("malformed", 5, 5),
        ("malformed", 11, 3),
        ("malformed", 15, 2),
        ("nul_padding", 18, 3),
    ];
    assert_eq!(faults(&decoder), expected);
    assert_eq!(decoder.diagnostics().kept()[1].raw, "\"ü\u{1}\"");
    assert_eq!(decoder.counts().records, 1);
    assert_eq!(decoder.faults(DiagnosticCode::Malformed), 4);
}

#[test]
fn the_last_faults_are_kept() {
    let mut decoder = RecordDecoder::new(100, None);
    for _ in 0..100 {
        decoder.push(b"\xff\n");
    }
    assert_eq!(decoder.faults(DiagnosticCode::InvalidUtf8), 100);
    let offsets: Vec<u64> = decoder.diagnostics().kept().iter().map(|fault| fault.offset).collect();
    assert_eq!(offsets, (68..100).map(|line| line * 2).collect::<Vec<u64>>());
}

#[test]
fn with_a_selection_every_line_is_judged_here() {
    let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    let mut decoder = RecordDecoder::new(100, Select::new([(units("t"), vec![units("x")])]));
    let stream = b"{\"t\":\"x\"}\n{\"t\":\"y\"}\n{\"t\":\"x\"\n3\n{\"t\":\"y\"}\0\n{\"t\":\"\\u0078\"}\n";
    assert_eq!(texts(decoder.push(stream)), ["{\"t\":\"x\"}", "{\"t\":\"\\u0078\"}"]);
    assert_eq!(decoder.counts(), Counts { records: 2, bytes: stream.len() as u64, skipped: 3 });
    assert_eq!(faults(&decoder), [("malformed", 20, 8), ("nul_padding", 31, 10)]);
    decoder.reset();
    assert_eq!(decoder.counts(), Counts::default());
    assert_eq!(faults(&decoder), []);
    assert_eq!(texts(decoder.push(b"\xef\xbb\xbf{\"t\":\"y\"}\n{\"t\":\"x\"}\n")), ["{\"t\":\"x\"}"]);
}

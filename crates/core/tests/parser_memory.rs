//! Case D4: an over-long line costs no memory. A binary of its own, because it counts every allocation.

mod common;

use agent_lifecycle_core::decode::JsonlParser;
use common::event_text;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// The most bytes allocated at a time, beyond what was allocated before, while `run` runs.
fn peak(run: impl FnOnce()) -> usize {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    run();
    ALLOCATED.peak_usage() - before
}

#[test]
fn d4_sixteen_mib_line() {
    const LENGTH: usize = 16 * 1024 * 1024;
    let event = format!("\n{}\n", event_text(&[("activity", r#""task complete""#)]));
    // The rules of redaction are compiled once for the process.
    let _ = agent_lifecycle_core::redact::redact_excerpt(b"password=open sesame", 512, true);
    for chunk in [vec![b'x'; 65_536], vec![0; 65_536], vec![b'\r'; 4096], vec![b'"'; 7]] {
        let mut parser = JsonlParser::default();
        let mut seen = Vec::with_capacity(1);
        let peak = peak(|| {
            for _ in 0..LENGTH / chunk.len() {
                parser.push(&chunk, &mut |_, _| unreachable!("no line ends"));
            }
            // NUL bytes at the end would be padding, which is no content; behind them is some.
            parser.push(&[b'x'; 9], &mut |_, _| unreachable!("no line ends"));
            parser.push(event.as_bytes(), &mut |event, (offset, _)| seen.push((event.to_static(), offset)));
        });
        let [fault] = parser.diagnostics().kept() else { panic!("one diagnostic") };
        let length = (LENGTH / chunk.len() * chunk.len() + 9) as u64;
        assert_eq!((fault.code.as_str(), fault.offset, fault.length), ("oversize", 0, length));
        assert_eq!(seen[0].0.activity.as_deref(), Some("task complete"));
        assert_eq!(seen[0].1, length + 1);
        // The longest line that passes, as a buffer grows to hold it.
        assert!(peak < 3 * 262_144, "{peak} bytes for a line of {length}");
    }
}

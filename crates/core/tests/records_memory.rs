//! Case D4 and long records: what a record decoder holds. A binary of its own, because it counts every allocation.

use agent_lifecycle_core::decode::RecordDecoder;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const MIB: usize = 1024 * 1024;
const LENGTH: usize = 16 * MIB;

/// The most bytes held beyond what was held before, and those held in the end, while a line of 16 MiB is pushed.
fn held(decoder: &mut RecordDecoder, letter: &str) -> (usize, usize) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let chunk = letter.repeat(65_536 / letter.len());
    decoder.push(b"\"");
    for _ in 0..LENGTH / chunk.len() {
        decoder.push(chunk.as_bytes());
    }
    let records = decoder.push(b"\"\n{}\n").ends().len();
    let peak = ALLOCATED.peak_usage() - before;
    assert_eq!(records as u64, 2 - decoder.diagnostics().total());
    decoder.push(b"{}\n");
    drop(chunk);
    (peak, ALLOCATED.current_usage() - before)
}

#[test]
fn d4_a_line_of_sixteen_mib() {
    // The rules of redaction are compiled once for the process.
    let _ = agent_lifecycle_core::redact::redact_excerpt(b"password=open sesame", 512, true);
    for letter in ["x", "é"] {
        let (peak, kept) = held(&mut RecordDecoder::new(262_144, None), letter);
        assert!(peak < 2 * MIB, "{peak} bytes for a dropped line");
        assert!(kept < MIB, "{kept} bytes after a dropped line");
    }
    // Gathered (a vector grows by doubling), then once more as the text that is given out.
    for (letter, bound) in [("x", 4 * LENGTH), ("é", 8 * LENGTH)] {
        let (peak, kept) = held(&mut RecordDecoder::new(2 * LENGTH, None), letter);
        assert!(peak < bound, "{peak} bytes for a record");
        assert!(kept < 2 * MIB, "{kept} bytes after a record");
    }
}

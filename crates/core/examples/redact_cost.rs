//! Prints what redaction costs on short harmless texts, in nanoseconds per call.

use std::hint::black_box;
use std::time::Instant;

use agent_lifecycle_core::redact::{Redactor, is_secret_key, redact_text};

fn main() {
    let long = "The build finished; 12 files changed, and the summary is in the report under out/report.html, as before. \
                Next we look at the layout of the second page and how the parser reads it.";
    let redactor = Redactor::new(["not-a-real-secret-0001"]).expect("it is long enough");
    for text in ["Read src/main.rs now", &long[..64], &long[..120], long] {
        measure(&format!("text, {} bytes", text.len()), || redact_text(black_box(text)).len());
        measure(&format!("text and one secret, {} bytes", text.len()), || {
            redactor.text(black_box(text)).len()
        });
    }
    measure("text with a trigger", || redact_text(black_box("input tokens: 5, output tokens: 12")).len());
    measure("key", || usize::from(is_secret_key(black_box("parentToolUseId"))));
}

/// The least of several measurements, so that other work on the machine does not count.
fn measure(name: &str, call: impl Fn() -> usize) {
    const CALLS: u32 = 20_000;
    black_box(call());
    let least = (0..50).map(|_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    });
    println!("{name}: {:.0} ns", least.fold(f64::INFINITY, f64::min));
}

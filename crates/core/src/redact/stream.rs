//! Text that arrives in pieces: a piece in, what of the text so far is safe to show out.
//! Held back is what a continuation can still make a secret: the last run of characters, the context of a value
//! that has not come, an open value, a beginning of a registered secret.
//! Invariant: what is held is bounded; a secret longer than that is hidden as it passes.

use std::sync::Arc;

use super::{REDACTED, Redactor, Span, assign, settle, tail};

/// How much text may wait for its continuation.
const HOLD: usize = 4096;
/// More memory than this is given back after each piece: a stream may be open for long after its largest one.
const MOST_CAPACITY: usize = 4 * HOLD;
/// How much of a run that holds no secret yet goes on waiting when too much waits.
const KEEP: usize = 1024;
/// How much of either end of an open secret is kept as the context of what follows.
const ENDS: usize = 64;

/// Redacts text that arrives in pieces, as [`Redactor::text`] would redact the whole.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: String,
    /// How much of `held` was shown, or hidden, and is only kept as context.
    spent: usize,
    /// Whether something left `held`: its start is no longer the start of the text.
    started: bool,
}

impl StreamRedactor {
    /// A stream of which nothing has arrived.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>) -> StreamRedactor {
        StreamRedactor { redactor, held: String::new(), spent: 0, started: false }
    }

    /// From now on other secrets are hidden, in what is held back too.
    pub fn set_redactor(&mut self, redactor: Arc<Redactor>) {
        self.redactor = redactor;
    }

    /// Takes the next piece; the result is the text that is safe to show now, after what was shown before.
    pub fn push(&mut self, piece: &str) -> String {
        let out = self.take(piece);
        if self.held.capacity() > MOST_CAPACITY {
            self.held.shrink_to(HOLD);
        }
        out
    }

    fn take(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let spans = self.redactor.spans(&self.held, !self.started, false);
        let open = self.open_from(&spans);
        let spans = settle(&self.held, spans);
        let cut = self.whole_before(open, &spans);
        if self.held.len() - cut <= HOLD {
            let out = self.shown(cut, &spans);
            self.drop_before(cut);
            return out;
        }
        match spans.last() {
            Some(&last) if last.end == self.held.len() => {
                let out = self.shown(last.end, &spans);
                self.keep_ends(last);
                out
            }
            _ => {
                let most = self.redactor.open_from(&self.held).min(self.held.len() - KEEP);
                let cut = spans
                    .iter()
                    .find(|span| span.start < most && most < span.end)
                    .map_or(most, |span| span.end);
                let cut = self.held.floor_char_boundary(cut.max(self.spent));
                let out = self.shown(cut, &spans);
                self.drop_before(cut);
                out
            }
        }
    }

    /// Ends the text; the result is the rest of it.
    #[must_use]
    pub fn finish(self) -> String {
        let spans = self.redactor.spans(&self.held, !self.started, true);
        self.shown(self.held.len(), &settle(&self.held, spans))
    }

    /// Where the part of `held` begins whose redaction is not settled, before whole runs and spans are respected.
    fn open_from(&self, spans: &[Span]) -> usize {
        if !self.started && self.redactor.holds(&self.held) {
            return 0;
        }
        let len = self.held.len();
        // A span that ends this close to the end of the text may have ended at a quote that closes nothing.
        let value = spans.iter().filter(|span| span.end + 4 > len).map(|span| span.context).min();
        let known = self.redactor.open_from(&self.held).min(tail::open_from(&self.held));
        value.map_or(known, |value| value.min(known))
    }

    /// The last place up to `open` that is in no run of characters, no span and no context of one.
    fn whole_before(&self, open: usize, spans: &[Span]) -> usize {
        let mut cut = open;
        loop {
            let run = tail::run_start(&self.held, cut);
            let run = run - assign::lead_len(&self.held[..run]);
            let whole = spans
                .iter()
                .find(|span| span.context < run && run < span.end)
                .map_or(run, |span| span.context);
            if whole == cut {
                return cut;
            }
            cut = whole;
        }
    }

    /// What is to be shown of `held` up to `cut`, after what is spent.
    fn shown(&self, cut: usize, spans: &[Span]) -> String {
        let mut out = String::new();
        let mut at = self.spent;
        for span in spans.iter().filter(|span| span.end > self.spent && span.end <= cut) {
            if span.start >= at {
                out.push_str(&self.held[at..span.start]);
                out.push_str(REDACTED);
            }
            at = span.end;
        }
        out.push_str(self.held.get(at..cut).unwrap_or_default());
        out
    }

    fn drop_before(&mut self, cut: usize) {
        self.held.drain(..cut);
        self.spent = self.spent.saturating_sub(cut);
        self.started |= cut > 0;
    }

    /// Keeps of an open secret what tells how the text after it is to be read.
    fn keep_ends(&mut self, last: Span) {
        let from = self.held.floor_char_boundary(last.context.max(last.start.saturating_sub(KEEP)));
        let head = self.held.floor_char_boundary(last.start + ENDS);
        let back = self.held.floor_char_boundary(self.held.len() - ENDS);
        if head < back {
            self.held.replace_range(head..back, "");
        }
        self.held.drain(..from);
        self.spent = self.held.len();
        self.started = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_piece_is_not_held_when_it_was_shown() {
        let redactor = Arc::new(Redactor::default());
        for piece in
            ["word ".repeat(200_000), "x".repeat(1_000_000), format!("password={}", "y".repeat(1_000_000))]
        {
            let mut stream = StreamRedactor::new(redactor.clone());
            let shown = stream.push(&piece);
            assert!(!shown.is_empty());
            assert!(stream.held.capacity() <= MOST_CAPACITY, "{} bytes are held", stream.held.capacity());
        }
    }
}

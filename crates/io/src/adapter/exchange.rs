//! What the host and the thread of a process hand each other.
//!
//! Input: messages to write and orders from any thread, and what the process's thread tells. Output: each to the other side, in
//! its order. Invariant: both ways are bounded; the end is told last and once. Never: waits.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{End, Told};

/// Bytes of messages after which a batch is full.
const BATCH_BYTES: usize = 256 * 1024;
/// Bytes that may wait for the host; beyond, nothing more is read.
const INBOX_BYTES: usize = 1024 * 1024;
/// Messages and bytes that may wait for the pipe. One that is larger is taken when nothing else waits.
const OUTBOX_MESSAGES: usize = 1024;
const OUTBOX_BYTES: usize = 64 * 1024 * 1024;

/// What the host wants done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) close: bool,
    pub(super) stop: bool,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRefusal {
    /// Too much waits for the pipe.
    Full,
    /// The process has ended, or is to.
    Over,
}

#[derive(Default)]
struct State {
    orders: Orders,
    outbox: VecDeque<Vec<u8>>,
    outbox_bytes: usize,
    accepted: u64,
    written: u64,
    told_written: u64,
    takes_no_more: bool,
    inbox: VecDeque<Told>,
    inbox_bytes: usize,
    has_ended: bool,
    is_awake: bool,
}

type Call = Box<dyn Fn() + Send + Sync>;

/// See the module.
pub(super) struct Exchange {
    state: Mutex<State>,
    /// Tells the host that there is something to take.
    tell: Mutex<Option<Call>>,
    /// Tells the thread that there is something to do.
    wake: Mutex<Option<Call>>,
}

impl Exchange {
    pub(super) fn new(tell: Call, wake: Call) -> Self {
        Self { state: Mutex::default(), tell: Mutex::new(Some(tell)), wake: Mutex::new(Some(wake)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // The host's side.

    /// Accepts a message; the how-manieth it is.
    pub(super) fn write(&self, message: Vec<u8>) -> Result<u64, WriteRefusal> {
        let mut state = self.state();
        if state.takes_no_more {
            return Err(WriteRefusal::Over);
        }
        let is_full =
            state.outbox.len() >= OUTBOX_MESSAGES || state.outbox_bytes + message.len() > OUTBOX_BYTES;
        if is_full && state.outbox_bytes > 0 {
            return Err(WriteRefusal::Full);
        }
        state.outbox_bytes += message.len();
        state.outbox.push_back(message);
        state.accepted += 1;
        let number = state.accepted;
        drop(state);
        call(&self.wake);
        Ok(number)
    }

    pub(super) fn order(&self, orders: Orders) {
        let mut state = self.state();
        state.orders.close |= orders.close;
        state.orders.stop |= orders.stop;
        state.takes_no_more = true;
        drop(state);
        call(&self.wake);
    }

    /// The next thing that was told.
    pub(super) fn take(&self) -> Option<Told> {
        let mut state = self.state();
        if state.told_written < state.written {
            state.told_written = state.written;
            return Some(Told::Written(state.written));
        }
        let Some(told) = state.inbox.pop_front() else {
            state.is_awake = false;
            return None;
        };
        let was_full = state.inbox_bytes >= INBOX_BYTES;
        state.inbox_bytes -= told.size();
        let is_room = was_full && state.inbox_bytes < INBOX_BYTES;
        drop(state);
        if is_room {
            call(&self.wake);
        }
        Some(told)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    // The thread's side.

    pub(super) fn orders(&self) -> Orders {
        self.state().orders
    }

    pub(super) fn is_full(&self) -> bool {
        self.state().inbox_bytes >= INBOX_BYTES
    }

    /// The message that is to be written next, if there is one; it stays the first until it was [written](Self::written).
    pub(super) fn next_message(&self) -> Option<Vec<u8>> {
        self.state().outbox.pop_front()
    }

    /// The message that was taken last is in the pipe.
    pub(super) fn written(&self, length: usize) {
        let mut state = self.state();
        state.outbox_bytes -= length;
        state.written += 1;
        self.told(state);
    }

    /// Nothing can be written any more; what waits is dropped.
    pub(super) fn take_no_more(&self) {
        let mut state = self.state();
        state.takes_no_more = true;
        state.outbox = VecDeque::new();
    }

    pub(super) fn message(&self, text: &str) {
        let mut state = self.state();
        state.inbox_bytes += text.len() + 1;
        match state.inbox.back_mut() {
            Some(Told::Messages(batch)) if batch.len() + text.len() < BATCH_BYTES => {
                batch.push('\n');
                batch.push_str(text);
            }
            _ => {
                let first = Told::Messages(text.to_owned());
                state.inbox.push_back(first);
            }
        }
        self.told(state);
    }

    /// A line that is no message. Of those that come in a row while nobody takes them, the excerpt of the first is kept.
    pub(super) fn noise(&self, excerpt: impl FnOnce() -> String) {
        let mut state = self.state();
        if let Some(Told::Noise { count, .. }) = state.inbox.back_mut() {
            *count += 1;
        } else {
            let told = Told::Noise { excerpt: excerpt(), count: 1 };
            state.inbox_bytes += told.size();
            state.inbox.push_back(told);
        }
        self.told(state);
    }

    pub(super) fn started(&self, pid: i32) {
        let mut state = self.state();
        state.inbox.push_back(Told::Started { pid });
        self.told(state);
    }

    /// The last thing that is told.
    pub(super) fn end(&self, end: End) {
        let mut state = self.state();
        if std::mem::replace(&mut state.has_ended, true) {
            return;
        }
        state.takes_no_more = true;
        state.outbox = VecDeque::new();
        state.inbox.push_back(Told::Ended(end));
        self.told(state);
        // Both are let go with the process, not with whoever holds its handle: they hold a descriptor each.
        for way in [&self.tell, &self.wake] {
            way.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    fn told(&self, mut state: MutexGuard<'_, State>) {
        let was_awake = std::mem::replace(&mut state.is_awake, true);
        drop(state);
        if was_awake {
            return;
        }
        call(&self.tell);
    }
}

fn call(way: &Mutex<Option<Call>>) {
    if let Some(call) = way.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        call();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{End, Exit, Reason, Told};
    use super::{Exchange, INBOX_BYTES, OUTBOX_BYTES, OUTBOX_MESSAGES, Orders, WriteRefusal};

    fn exchange() -> (Exchange, Arc<[AtomicUsize; 2]>) {
        let calls = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let count = |place: usize| {
            let calls = Arc::clone(&calls);
            Box::new(move || {
                calls[place].fetch_add(1, Ordering::Relaxed);
            })
        };
        (Exchange::new(count(0), count(1)), Arc::clone(&calls))
    }

    fn end() -> End {
        End {
            reason: Reason::Exited,
            exit: Some(Exit::Code(0)),
            stderr: String::new(),
            message: String::new(),
        }
    }

    #[test]
    fn the_host_is_told_once_until_it_has_taken_all() {
        let (exchange, calls) = exchange();
        exchange.started(7);
        exchange.message("{}");
        exchange.message("{1}");
        exchange.noise(|| "a".to_owned());
        exchange.noise(|| panic!("the second excerpt"));
        exchange.message("{2}");
        exchange.end(end());
        exchange.end(End { reason: Reason::Closed, ..end() });
        assert_eq!(calls[0].load(Ordering::Relaxed), 1);
        let told: Vec<Told> = std::iter::from_fn(|| exchange.take()).collect();
        let expected = [
            Told::Started { pid: 7 },
            Told::Messages("{}\n{1}".to_owned()),
            Told::Noise { excerpt: "a".to_owned(), count: 2 },
            Told::Messages("{2}".to_owned()),
            Told::Ended(end()),
        ];
        assert_eq!(told, expected);
        assert_eq!(exchange.write(vec![1]), Err(WriteRefusal::Over));
    }

    #[test]
    fn batches_and_what_waits_are_bounded() {
        let (exchange, calls) = exchange();
        let line = "x".repeat(100_000);
        while !exchange.is_full() {
            exchange.message(&line);
        }
        let mut bytes = 0;
        let woken = calls[1].load(Ordering::Relaxed);
        while let Some(Told::Messages(batch)) = exchange.take() {
            assert!(batch.len() <= 256 * 1024);
            bytes += batch.len() + 1;
        }
        assert!((INBOX_BYTES..INBOX_BYTES + 200_000).contains(&bytes));
        assert_eq!(calls[1].load(Ordering::Relaxed), woken + 1, "reading goes on");
    }

    #[test]
    fn messages_are_written_in_order_and_refused_when_too_many_wait() {
        let (exchange, calls) = exchange();
        assert_eq!(exchange.write(vec![0; OUTBOX_BYTES + 1]), Ok(1), "one that is larger, alone");
        assert_eq!(exchange.write(vec![1]), Err(WriteRefusal::Full));
        let message = exchange.next_message().expect("the first");
        exchange.written(message.len());
        assert_eq!(exchange.take(), Some(Told::Written(1)));
        assert_eq!(exchange.take(), None);
        for number in 0..OUTBOX_MESSAGES as u64 {
            assert_eq!(exchange.write(number.to_le_bytes().to_vec()), Ok(number + 2));
        }
        assert_eq!(exchange.write(vec![1]), Err(WriteRefusal::Full));
        for number in 0..OUTBOX_MESSAGES as u64 {
            let message = exchange.next_message().expect("a message");
            assert_eq!(message, number.to_le_bytes());
            exchange.written(message.len());
        }
        assert_eq!(exchange.take(), Some(Told::Written(OUTBOX_MESSAGES as u64 + 1)));
        assert_eq!(exchange.take(), None);
        assert_eq!(calls[0].load(Ordering::Relaxed), 2);
        exchange.order(Orders { close: true, stop: false });
        assert_eq!(exchange.write(vec![1]), Err(WriteRefusal::Over));
        assert_eq!(exchange.orders(), Orders { close: true, stop: false });
    }
}

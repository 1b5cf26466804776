//! What a thread used, and how full its context is.
//!
//! Input: `token_count` records, whose totals go up over the whole thread. Output: [`Facts`]. Invariant: each token counts once, those
//! of copied records not at all. Never: adds a total to a total.

use super::shapes::{TokenCounts, TokenInfo};
use crate::json::Scalar;
use crate::providers::say::Say;
use crate::providers::shape::Shape;
use crate::providers::{ContextUse, Facts, MessageUsage, Said};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// The total as last recorded.
    total: Counts,
    /// What this life used of it.
    own: Counts,
    /// Lives before this one.
    lives: u64,
    context: Option<ContextUse>,
}

/// Input that no cache had, input from one, output.
type Counts = [u64; 3];

impl Usage {
    /// A copied record: what it counts was used by another thread.
    pub(super) fn skip(&mut self, info: &TokenInfo<'_>) {
        if let Shape(Some(total)) = &info.total {
            self.total = counts(total);
        }
    }

    /// A new life begins at 0.
    pub(super) fn start_again(&mut self) {
        self.own = [0; 3];
        self.lives += 1;
        self.context = None;
    }

    pub(super) fn count(&mut self, info: &TokenInfo<'_>, say: &mut Say<'_>) {
        let last = match &info.last {
            Shape(Some(last)) => Some(last),
            Shape(None) => None,
        };
        let used = self.used(info, last);
        let facts = Facts {
            usage: used.map(|[input, cached, output]| MessageUsage {
                // One count that replaces the one before; a new life adds its own.
                message_id: format!("total:{}", self.lives),
                input,
                cached,
                output,
            }),
            context: self.context(info, last),
            ..Facts::default()
        };
        if facts != Facts::default() {
            say.said(Said::Facts(facts));
        }
    }

    /// What this life used by now, where that is news.
    fn used(&mut self, info: &TokenInfo<'_>, last: Option<&TokenCounts<'_>>) -> Option<Counts> {
        let more = if let Shape(Some(total)) = &info.total {
            let (total, before) = (counts(total), self.total);
            self.total = total;
            let goes_on = total.iter().sum::<u64>() >= before.iter().sum::<u64>();
            // A total that went back counts anew; what the last request used is part of it.
            if goes_on { minus(total, before) } else { last.map_or(total, counts) }
        } else {
            let more = counts(last?);
            self.total = plus(self.total, more);
            more
        };
        self.own = plus(self.own, more);
        (more != [0; 3]).then_some(self.own)
    }

    fn context(&mut self, info: &TokenInfo<'_>, last: Option<&TokenCounts<'_>>) -> Option<ContextUse> {
        let used = last?.total.safe_integer()?;
        let window = info.window.safe_integer().filter(|window| *window > 0);
        let context = Some(ContextUse { used, window });
        (self.context != context).then(|| self.context = context)?;
        context
    }
}

fn counts(tokens: &TokenCounts<'_>) -> Counts {
    let number = |member: &Scalar<'_>| member.safe_integer().unwrap_or(0);
    let (input, cached) = (number(&tokens.input), number(&tokens.cached));
    [input.saturating_sub(cached), cached, number(&tokens.output)]
}

fn plus(left: Counts, right: Counts) -> Counts {
    std::array::from_fn(|at| left[at].saturating_add(right[at]))
}

fn minus(left: Counts, right: Counts) -> Counts {
    std::array::from_fn(|at| left[at].saturating_sub(right[at]))
}

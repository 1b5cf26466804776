//! A first look: a text in, whether it can hold one of some literals out, in any case of ASCII letters.
//! Of each literal the three bytes that are rarest in prose are looked up at every place of the text.
//! Invariant: no literal is missed; a yes may be wrong.
//! It must never cost more than a few instructions per byte: nearly all texts end here.

/// Letters from common to rare; everything else is rarer.
const COMMON: &[u8] = b"etaoinsrhldcumfpgwybvkxjqz";

const SLOTS: usize = 1 << 12;

/// The chosen three bytes of each literal, each in a slot of its own.
pub(super) struct Filter {
    slots: Box<[u32; SLOTS]>,
    factor: u32,
}

impl Filter {
    /// A filter for `literals` of three bytes or more; a shorter one gives no filter.
    pub(super) fn new<'l>(literals: impl Iterator<Item = &'l str>) -> Option<Filter> {
        let mut chosen: Vec<u32> =
            literals.map(|literal| rarest(literal.as_bytes())).collect::<Option<_>>()?;
        chosen.sort_unstable();
        chosen.dedup();
        (1..1000_u32).map(|step| step.wrapping_mul(0x9E37_79B2) | 1).find_map(|factor| {
            let mut slots = Box::new([u32::MAX; SLOTS]);
            let free = chosen.iter().all(|&bytes| {
                let slot = &mut slots[slot(bytes, factor)];
                std::mem::replace(slot, bytes) == u32::MAX
            });
            free.then_some(Filter { slots, factor })
        })
    }

    pub(super) fn may_hold(&self, text: &[u8]) -> bool {
        text.windows(3).any(|window| {
            let bytes = fold(window[0], window[1], window[2]);
            self.slots[slot(bytes, self.factor)] == bytes
        })
    }
}

fn rarest(literal: &[u8]) -> Option<u32> {
    let rarity = |byte: &u8| COMMON.iter().position(|common| common == byte).unwrap_or(2 * COMMON.len());
    let window = literal.windows(3).max_by_key(|window| window.iter().map(rarity).sum::<usize>())?;
    Some(fold(window[0], window[1], window[2]))
}

/// Three bytes in one number, small letters and capitals alike (and some signs, which only makes a yes wrong).
fn fold(first: u8, second: u8, third: u8) -> u32 {
    (u32::from(first) << 16 | u32::from(second) << 8 | u32::from(third)) | 0x20_20_20
}

fn slot(bytes: u32, factor: u32) -> usize {
    (bytes.wrapping_mul(factor) >> 20) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_literal_is_missed() {
        let literals = ["token", "sk-", "://", "authorization"];
        let filter = Filter::new(literals.into_iter()).expect("all are long enough");
        for literal in literals {
            for text in [literal.to_owned(), literal.to_uppercase(), format!("xx{literal}yy")] {
                assert!(filter.may_hold(text.as_bytes()), "{text}");
            }
        }
        for text in ["", "to", "a plain line of text", "1234567890"] {
            assert!(!filter.may_hold(text.as_bytes()), "{text}");
        }
        assert!(Filter::new(["ab"].into_iter()).is_none());
    }
}

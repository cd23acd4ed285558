//! Random numbers that are the same in each run.

/// A generator of pseudo-random numbers (splitmix64). The same seed gives the same numbers.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number less than `limit`, and 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % u64::try_from(limit.max(1)).expect("64 bits")).expect("below a usize")
    }

    pub fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }

    /// Returns one of several elements. There must be at least one.
    pub fn pick<'all, T>(&mut self, all: &'all [T]) -> &'all T {
        all.get(self.below(all.len())).expect("in range")
    }
}

//! Numbers that are the same in each run.

/// Pseudo-random numbers (splitmix64), the same for the same seed.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % u64::try_from(limit.max(1)).expect("64 bits")).expect("below a usize")
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }

    /// One of several, which must not be empty.
    pub fn pick<'all, T>(&mut self, all: &'all [T]) -> &'all T {
        all.get(self.below(all.len())).expect("in range")
    }
}

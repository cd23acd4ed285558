//! VPP's random numbers.

/// A generator of VPP's random numbers (`vppinfra/random.h`), which are the same after each start.
#[derive(Debug, Default)]
pub(crate) struct Random(u32);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }
}

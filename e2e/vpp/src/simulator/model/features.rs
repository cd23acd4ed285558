//! The L2 features of an interface.

use usnet_vpp::messages::{L2InputFeatures, L2OutputFeatures};

/// The L2 features that clients have set. VPP resets them when the interface leaves its bridge
/// domain, and only then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Features {
    pub(crate) input: L2InputFeatures,
    pub(crate) output: L2OutputFeatures,
}

impl Features {
    pub(crate) fn set_input(&mut self, feature: L2InputFeatures, is_set: bool) {
        self.input = L2InputFeatures(with(self.input.0, feature.0, is_set));
    }

    pub(crate) fn set_output(&mut self, feature: L2OutputFeatures, is_set: bool) {
        self.output = L2OutputFeatures(with(self.output.0, feature.0, is_set));
    }
}

const fn with(bits: u32, bit: u32, is_set: bool) -> u32 {
    if is_set { bits | bit } else { bits & !bit }
}

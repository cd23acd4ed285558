//! The numbers of VXLAN (RFC 7348).

use super::names::{NetworkName, fnv1a};
use super::number::number;
use serde::{Deserialize, Serialize};

number!(
    /// The id of a VXLAN network. usnet does not use 0.
    Vni: u32, "VNI", 1, 16_777_215
);
number!(UdpPort, "UDP port", 1, 65_535);

/// Who encapsulates the frames of an overlay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Encapsulation {
    /// A VXLAN device of Linux encapsulates.
    #[default]
    Kernel,
    /// The software switch itself encapsulates.
    Engine,
}

impl Vni {
    /// The first VNI that usnet chooses. Users choose small ones.
    const FIRST_CHOSEN: u32 = 0x80_0000;

    /// The VNI of a network for which users choose none, unless another network has it. It follows
    /// from the network's name.
    pub fn default_for(network: &NetworkName) -> Self {
        let chosen = fnv1a(network.as_str().as_bytes()) & u64::from(Self::FIRST_CHOSEN - 1);
        // The mask leaves 23 bits.
        Self(Self::FIRST_CHOSEN | u32::try_from(chosen).unwrap_or_default())
    }

    /// The next one that usnet chooses; the first follows the last.
    #[must_use]
    pub const fn next_chosen(self) -> Self {
        Self(Self::FIRST_CHOSEN | (self.0.wrapping_add(1) & (Self::FIRST_CHOSEN - 1)))
    }
}

impl Default for UdpPort {
    /// The port that IANA assigned to VXLAN.
    fn default() -> Self {
        Self(4789)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vnis_and_ports_are_those_of_the_protocols() {
        assert!(Vni::try_from(0).is_err() && Vni::try_from(1 << 24).is_err() && Vni::try_from((1 << 24) - 1).is_ok());
        assert!(UdpPort::try_from(0).is_err() && UdpPort::try_from(65_535).is_ok());
        assert_eq!(Vni::try_from(65_536 + 7).map(Vni::get), Ok(65_543));
    }

    #[test]
    fn a_chosen_vni_is_stable_and_above_those_that_users_choose() {
        let vni = |network: &str| Vni::default_for(&network.parse().unwrap());
        assert_eq!(vni("blue"), vni("blue"));
        assert_ne!(vni("blue"), vni("red"));
        assert!(vni("blue").get() >= Vni::FIRST_CHOSEN);
        assert_eq!(vni("blue").next_chosen().get(), vni("blue").get() + 1);
        assert_eq!(Vni(Vni::MAXIMUM).next_chosen().get(), Vni::FIRST_CHOSEN, "and never 0");
    }
}

//! The directions of a rate limit.

use usnet_crds::{KilobitsPerSecond, RateLimit};

/// The direction of packets, as seen from the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::vpp) enum Direction {
    /// To the pod: what VPP sends.
    Ingress,
    /// From the pod: what VPP receives.
    Egress,
}

impl Direction {
    pub(in crate::engine::vpp) const ALL: [Self; 2] = [Self::Ingress, Self::Egress];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }

    pub(super) const fn of(self, limits: &RateLimit) -> Option<KilobitsPerSecond> {
        match self {
            Self::Ingress => limits.ingress_kbps,
            Self::Egress => limits.egress_kbps,
        }
    }
}

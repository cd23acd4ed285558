//! What this VPP can limit, and what it reports of it.

use super::direction::Direction;
use usnet_crds::RateLimit;
use usnet_vpp::messages::{L2FlagsGet, PolicerInput, PolicerOutput};
use usnet_vpp::{Api, Message, Remedy};

/// What a VPP can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::vpp) struct LimitSupport {
    has_policers: bool,
    /// Whether policers apply to the output of a bridge domain. They do since 26.06, which also has
    /// a message for reading it.
    sees_bridged_output: bool,
}

impl LimitSupport {
    pub(in crate::engine::vpp) fn of(api: &impl Api) -> Self {
        Self {
            has_policers: api.supports::<PolicerInput>() && api.supports::<PolicerOutput>(),
            sees_bridged_output: api.supports::<L2FlagsGet>(),
        }
    }

    /// Why a port cannot have these limits.
    pub(in crate::engine::vpp) fn refusal(self, limits: &RateLimit) -> Option<String> {
        if *limits != RateLimit::default() && !self.has_policers {
            let remedy = PolicerInput::PLUGIN.map_or(Remedy::UseRelease, Remedy::LoadPlugin);
            return Some(format!(
                "it cannot limit rates, because it does not know the message {}; {remedy}",
                PolicerInput::NAME
            ));
        }
        let is_blind = limits.ingress_kbps.is_some() && !self.sees_bridged_output;
        is_blind.then(|| {
            "releases before 26.06 cannot limit what a pod receives; use 26.06, or remove ingressKbps".to_owned()
        })
    }

    /// The policers of an unbridged or new interface. Outside of a bridge domain its output is not
    /// policed. Before 26.06 input is policed independently of bridge domains.
    pub(in crate::engine::vpp) const fn unbridged(self, is_old: bool) -> Policed {
        let egress = if is_old && !self.sees_bridged_output { None } else { Some(false) };
        Policed { ingress: Some(false), egress }
    }
}

/// Whether policers are attached to an interface; `None` if VPP does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Policed {
    pub(in crate::engine::vpp) ingress: Option<bool>,
    pub(in crate::engine::vpp) egress: Option<bool>,
}

impl Policed {
    #[cfg(test)]
    pub(super) const NOT: Self = Self { ingress: Some(false), egress: Some(false) };

    pub(in crate::engine::vpp) const fn in_direction(self, direction: Direction) -> Option<bool> {
        match direction {
            Direction::Ingress => self.ingress,
            Direction::Egress => self.egress,
        }
    }
}

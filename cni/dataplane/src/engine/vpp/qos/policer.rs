//! Policers: how usnet names, creates and recognises them.

use super::direction::Direction;
use super::support::Policed;
use crate::model::port::PortName;
use std::collections::BTreeMap;
use usnet_crds::{KilobitsPerSecond, RateLimit};
use usnet_vpp::messages::{PolicerAction, PolicerActionType, PolicerAddDel, PolicerDetails};
use usnet_vpp::wire::FixedText;

const PREFIX: &str = "usnet";
const BYTES_PER_KILOBIT: u64 = 125;

/// A policer that usnet owns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::vpp) struct Policer {
    pub(in crate::engine::vpp) port: PortName,
    pub(in crate::engine::vpp) direction: Direction,
    pub(in crate::engine::vpp) rate: KilobitsPerSecond,
}

impl Policer {
    pub(in crate::engine::vpp) fn name(&self) -> FixedText<64> {
        let Self { port, direction, rate } = self;
        // Port names have 14 bytes and rates at most 10 digits, so that it always fits.
        FixedText::new(format!("{PREFIX}:{port}:{}:{}", direction.name(), rate.get())).unwrap_or_default()
    }

    /// The policers that a port with these limits has.
    pub(in crate::engine::vpp) fn all_of(port: &PortName, limits: &RateLimit) -> Vec<Self> {
        let of = |direction: Direction| Some(Self { port: port.clone(), direction, rate: direction.of(limits)? });
        Direction::ALL.into_iter().filter_map(of).collect()
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split(':');
        let [prefix, port, direction, rate] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let direction = Direction::ALL.into_iter().find(|known| known.name() == direction)?;
        let rate = KilobitsPerSecond::try_from(rate.parse::<i64>().ok()?).ok()?;
        let policer = Self { port: PortName::observed(port), direction, rate };
        (prefix == PREFIX && policer.name().as_str() == name).then_some(policer)
    }

    /// The request to create it: what exceeds the rate is dropped.
    pub(in crate::engine::vpp) fn request(&self) -> PolicerAddDel {
        let transmit = PolicerAction { r#type: PolicerActionType::Transmit, dscp: 0 };
        PolicerAddDel {
            is_add: true,
            name: self.name(),
            cir: self.rate.get(),
            cb: u64::from(self.rate.burst_kilobits()) * BYTES_PER_KILOBIT,
            conform_action: transmit,
            ..PolicerAddDel::default()
        }
    }

    /// Whether VPP's policer of this name has the same settings.
    fn matches_details(&self, details: &PolicerDetails) -> bool {
        let request = self.request();
        let numbers =
            (details.cir, details.cb, details.eir, details.eb) == (request.cir, request.cb, request.eir, request.eb);
        let kind = (details.rate_type, details.r#type) == (request.rate_type, request.r#type);
        // The exceed action is not compared: a single-rate two-colour policer never uses it.
        let actions =
            details.conform_action == request.conform_action && details.violate_action == request.violate_action;
        numbers && kind && actions
    }
}

/// The policers in VPP that usnet owns, each with whether its settings are unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Policers(BTreeMap<PortName, BTreeMap<Policer, bool>>);

impl Policers {
    pub(in crate::engine::vpp) fn new(details: &[PolicerDetails]) -> Self {
        let mut policers: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for details in details {
            if let Some(policer) = Policer::parse(details.name.as_str()) {
                let is_sound = policer.matches_details(details);
                policers.entry(policer.port.clone()).or_default().insert(policer, is_sound);
            }
        }
        Self(policers)
    }

    pub(in crate::engine::vpp) fn of(&self, port: &PortName) -> impl Iterator<Item = &Policer> {
        self.0.get(port).into_iter().flat_map(BTreeMap::keys)
    }

    /// The policers of one port alone.
    pub(in crate::engine::vpp) fn only(&self, port: &PortName) -> Self {
        Self(self.0.get_key_value(port).map(|(port, policers)| (port.clone(), policers.clone())).into_iter().collect())
    }

    /// The policers of ports that are not there.
    pub(in crate::engine::vpp) fn orphans(
        &self,
        is_there: impl Fn(&PortName) -> bool,
    ) -> impl Iterator<Item = &Policer> {
        self.0.iter().filter(move |(port, _)| !is_there(port)).flat_map(|(_, policers)| policers.keys())
    }

    pub(in crate::engine::vpp) fn in_direction(&self, port: &PortName, direction: Direction) -> Vec<(&Policer, bool)> {
        let policers = self.0.get(port).into_iter().flatten();
        let policers = policers.filter(|(policer, _)| policer.direction == direction);
        policers.map(|(policer, is_sound)| (policer, *is_sound)).collect()
    }

    /// The limits of a port; `None` if they are not ones that usnet sets.
    pub(in crate::engine::vpp) fn limits(&self, port: &PortName, policed: Policed) -> Option<RateLimit> {
        let rate = |direction| match self.in_direction(port, direction).as_slice() {
            // A policer of others is ignored.
            [] => Some(None),
            [(policer, true)] if policed.in_direction(direction) != Some(false) => Some(Some(policer.rate)),
            _ => None,
        };
        Some(RateLimit { ingress_kbps: rate(Direction::Ingress)?, egress_kbps: rate(Direction::Egress)? })
    }
}

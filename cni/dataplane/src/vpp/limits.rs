//! Rate limits: one policer for each direction of a port. Pure.
//!
//! A policer is found by its name, which has its port and its rate:
//! `usnet:<port>:<direction>:<kbit/s>`. For a changed limit a new policer is attached before the
//! previous one is deleted: an interrupted change leaves two.

use super::command::VppCommand;
use crate::port::PortName;
use std::collections::BTreeMap;
use usnet_crds::{KilobitsPerSecond, RateLimit};
use usnet_vpp::messages::{
    L2FlagsGet, PolicerAction, PolicerActionType, PolicerAddDel, PolicerDetails, PolicerInput, PolicerOutput,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Api, Message, Remedy};

const PREFIX: &str = "usnet";
const BYTES_PER_KILOBIT: u64 = 125;

/// The direction of packets, as seen from the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    /// To the pod: what VPP sends.
    Ingress,
    /// From the pod: what VPP receives.
    Egress,
}

impl Direction {
    pub(super) const ALL: [Self; 2] = [Self::Ingress, Self::Egress];

    const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }

    const fn of(self, limits: &RateLimit) -> Option<KilobitsPerSecond> {
        match self {
            Self::Ingress => limits.ingress_kbps,
            Self::Egress => limits.egress_kbps,
        }
    }
}

/// A policer that usnet owns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Policer {
    pub(super) port: PortName,
    pub(super) direction: Direction,
    pub(super) rate: KilobitsPerSecond,
}

impl Policer {
    /// What VPP calls it.
    pub(super) fn name(&self) -> FixedText<64> {
        let Self { port, direction, rate } = self;
        // Port names have 14 bytes and rates at most 10 digits, so that it always fits.
        FixedText::new(format!("{PREFIX}:{port}:{}:{}", direction.name(), rate.get())).unwrap_or_default()
    }

    /// What takes an interface from it.
    pub(super) fn end(&self, index: u32) -> VppCommand {
        VppCommand::AttachPolicer { index, policer: self.name(), direction: self.direction, apply: false }
    }

    /// Those that a port with these limits has.
    pub(super) fn all_of(port: &PortName, limits: &RateLimit) -> Vec<Self> {
        let of = |direction: Direction| Some(Self { port: port.clone(), direction, rate: direction.of(limits)? });
        Direction::ALL.into_iter().filter_map(of).collect()
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split(':');
        let [prefix, port, direction, rate] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let direction = Direction::ALL.into_iter().find(|known| known.name() == direction)?;
        let rate = KilobitsPerSecond::try_from(rate.parse::<i64>().ok()?).ok()?;
        let policer = Self { port: PortName::observed(port), direction, rate };
        (prefix == PREFIX && policer.name().as_str() == name).then_some(policer)
    }

    /// The request to create it: what exceeds the rate is dropped.
    pub(super) fn request(&self) -> PolicerAddDel {
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
pub(super) struct Policers(BTreeMap<PortName, BTreeMap<Policer, bool>>);

impl Policers {
    pub(super) fn new(details: &[PolicerDetails]) -> Self {
        let mut policers: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for details in details {
            if let Some(policer) = Policer::parse(details.name.as_str()) {
                let is_sound = policer.matches_details(details);
                policers.entry(policer.port.clone()).or_default().insert(policer, is_sound);
            }
        }
        Self(policers)
    }

    /// Those of a port.
    pub(super) fn of(&self, port: &PortName) -> impl Iterator<Item = &Policer> {
        self.0.get(port).into_iter().flat_map(BTreeMap::keys)
    }

    /// Those of a port alone.
    pub(super) fn only(&self, port: &PortName) -> Self {
        Self(self.0.get_key_value(port).map(|(port, policers)| (port.clone(), policers.clone())).into_iter().collect())
    }

    /// Those of ports that are not there.
    pub(super) fn orphans(&self, is_there: impl Fn(&PortName) -> bool) -> impl Iterator<Item = &Policer> {
        self.0.iter().filter(move |(port, _)| !is_there(port)).flat_map(|(_, policers)| policers.keys())
    }

    fn in_direction(&self, port: &PortName, direction: Direction) -> Vec<(&Policer, bool)> {
        let policers = self.0.get(port).into_iter().flatten();
        let policers = policers.filter(|(policer, _)| policer.direction == direction);
        policers.map(|(policer, is_sound)| (policer, *is_sound)).collect()
    }

    /// The limits of a port; `None` if they are not ones that usnet sets.
    pub(super) fn limits(&self, port: &PortName, policed: Policed) -> Option<RateLimit> {
        let rate = |direction| match self.in_direction(port, direction).as_slice() {
            // A policer of others is ignored.
            [] => Some(None),
            [(policer, true)] if policed.in_direction(direction) != Some(false) => Some(Some(policer.rate)),
            _ => None,
        };
        Some(RateLimit { ingress_kbps: rate(Direction::Ingress)?, egress_kbps: rate(Direction::Egress)? })
    }

    /// What has to be done so that the interface of a port has these limits and no others.
    pub(super) fn commands(
        &self,
        port: &PortName,
        desired: &RateLimit,
        index: u32,
        policed: Policed,
    ) -> Vec<VppCommand> {
        let desired = Policer::all_of(port, desired);
        let in_direction = |direction| {
            let found = self.in_direction(port, direction);
            let desired = desired.iter().find(|policer| policer.direction == direction);
            commands(&found, desired, (index, direction), policed.in_direction(direction))
        };
        Direction::ALL.into_iter().flat_map(in_direction).collect()
    }
}

/// What a VPP can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitSupport {
    has_policers: bool,
    /// Whether policers apply to the output of a bridge domain. They do since 26.06, which also has
    /// a message for reading it.
    sees_bridged_output: bool,
}

impl LimitSupport {
    pub(super) fn of(api: &impl Api) -> Self {
        Self {
            has_policers: api.supports::<PolicerInput>() && api.supports::<PolicerOutput>(),
            sees_bridged_output: api.supports::<L2FlagsGet>(),
        }
    }

    /// Why a port cannot have these limits.
    pub(super) fn refusal(self, limits: &RateLimit) -> Option<String> {
        if *limits != RateLimit::default() && !self.has_policers {
            let remedy = PolicerInput::PLUGIN.map_or(Remedy::UseRelease, Remedy::LoadPlugin);
            return Some(format!("it limits no rates, because it does not know {}; {remedy}", PolicerInput::NAME));
        }
        let is_blind = limits.ingress_kbps.is_some() && !self.sees_bridged_output;
        is_blind.then(|| "before 26.06 it does not limit what goes to a pod; use 26.06, or no ingressKbps".to_owned())
    }

    /// The policers of an unbridged or new interface. Outside of a bridge domain its output is not
    /// policed. Before 26.06 input is policed independently of bridge domains.
    pub(super) const fn unbridged(self, is_old: bool) -> Policed {
        let egress = if is_old && !self.sees_bridged_output { None } else { Some(false) };
        Policed { ingress: Some(false), egress }
    }
}

/// Whether policers are attached to an interface; `None` if VPP does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Policed {
    pub(super) ingress: Option<bool>,
    pub(super) egress: Option<bool>,
}

impl Policed {
    #[cfg(test)]
    const NOT: Self = Self { ingress: Some(false), egress: Some(false) };

    const fn in_direction(self, direction: Direction) -> Option<bool> {
        match direction {
            Direction::Ingress => self.ingress,
            Direction::Egress => self.egress,
        }
    }
}

/// The commands for one direction. An interface is detached from its policer before it is attached
/// to another one, because VPP counts attachments. It is not detached without a policer: VPP may
/// crash.
fn commands(
    found: &[(&Policer, bool)],
    desired: Option<&Policer>,
    (index, direction): (u32, Direction),
    is_policed: Option<bool>,
) -> Vec<VppCommand> {
    let is_desired = |policer: &Policer| desired == Some(policer);
    let is_there = found.iter().any(|(policer, is_sound)| is_desired(policer) && *is_sound);
    let has_others = found.iter().any(|(policer, is_sound)| !is_desired(policer) || !is_sound);
    let is_policed = is_policed.unwrap_or(!found.is_empty());
    if !has_others && is_there == desired.is_some() && is_policed == is_there {
        return Vec::new();
    }
    let attach_policer =
        |policer: &Policer, apply| VppCommand::AttachPolicer { index, policer: policer.name(), direction, apply };
    let mut list = Vec::new();
    let spoilt = found.iter().filter(|(policer, is_sound)| is_desired(policer) && !is_sound);
    list.extend(spoilt.map(|(policer, _)| VppCommand::DeletePolicer { name: policer.name() }));
    if let Some(policer) = desired.filter(|_| !is_there) {
        list.push(VppCommand::AddPolicer { policer: policer.clone() });
    }
    // Any name that VPP knows does.
    let known = desired.or(found.first().map(|(policer, _)| *policer));
    list.extend(known.filter(|_| is_policed).map(|policer| attach_policer(policer, false)));
    list.extend(desired.map(|policer| attach_policer(policer, true)));
    let others = found.iter().filter(|(policer, _)| !is_desired(policer));
    list.extend(others.map(|(policer, _)| VppCommand::DeletePolicer { name: policer.name() }));
    list
}

#[cfg(test)]
mod tests;

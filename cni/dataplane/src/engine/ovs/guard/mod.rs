//! Flows that refuse forged frames of a port (`antiSpoofing`), for bridges with `fail_mode=secure`.
//! No IO.
//!
//! What is allowed is listed, and the last flow of a port drops everything else: a list of what is
//! forbidden would be longer with each protocol. All flows are in table 0:
//!
//! | priority | frames | |
//! |---|---|---|
//! | 125 | what hides its type or ports in fragments, or by a length that is too short | dropped |
//! | 120 | neighbor solicitations and advertisements about own addresses | forwarded |
//! | 110 | other ones, router advertisements, redirects, servers of DHCP | dropped |
//! | 100 | IP, ARP and reverse ARP with own addresses | forwarded |
//! | 10 | everything else | dropped |
//!
//! What is forwarded has the MAC address of the port and, unless it is a trunk, no VLAN tag. The
//! switch looks behind one tag: a frame with two has a type that is not allowed.
//!
//! First fragments have types and ports only after
//! [`match_carried_fragments`](usnet_openflow::Connection::match_carried_fragments). Without it
//! those of UDP and of ICMPv6 are dropped, so that a restart of the switch opens nothing.
//!
//! A bridge with `fail_mode=secure` forwards nothing without a flow: the ports of the network
//! itself need [`trusted`] flows, and a port is closed until its flows are there.

mod ipv4;
mod ipv6;
mod port;
mod priority;

pub use port::{AntiSpoofing, GuardedPort};

use crate::engine::guard_identity::{Identity, identities};
use priority::Priority;
use usnet_crds::MacAddress;
use usnet_openflow::flow::{Action, Cookie, CookieFilter, Flow, Match, Output, Payload, Vlan};
use usnet_openflow::{FlowMod, InstalledFlow, PortNumber};

/// The first bits of the cookies of these flows.
const MARK: u16 = 0x7573;
const TABLE: u8 = 0;

/// Forwards like a switch that learns.
pub const FORWARD: Action = Action::Output(Output::Normal);

/// The flows of a port, which forward what is allowed.
#[must_use]
pub fn flows(port: &GuardedPort) -> Vec<Flow> {
    flows_with(port, &FORWARD)
}

/// The flows of a port, with what becomes of the frames that are allowed.
#[must_use]
pub fn flows_with(port: &GuardedPort, allowed: &Action) -> Vec<Flow> {
    let pairs = port.pairs.iter().map(|pair| (pair.mac, pair.ip));
    let identities = identities(port.mac, &port.addresses, pairs);
    let mut flows = match port.anti_spoofing {
        AntiSpoofing::Mac => identities.iter().map(|identity| port.flow_of_mac(identity.mac, allowed)).collect(),
        AntiSpoofing::Address => port.flows_of_addresses(&identities, allowed),
    };
    flows.push(flow(port.number, Priority::Rest, from(port.number, Payload::Any), Action::Drop));
    flows
}

/// The flows of a port whose frames are not checked: an uplink, a tunnel, the bridge's own device.
#[must_use]
pub fn trusted(number: PortNumber) -> Vec<Flow> {
    trusted_with(number, &FORWARD)
}

/// The same, with what becomes of the frames.
#[must_use]
pub fn trusted_with(number: PortNumber, allowed: &Action) -> Vec<Flow> {
    vec![flow(number, Priority::Allowed, from(number, Payload::Any), allowed.clone())]
}

/// The changes by which a port has these flows and no others, for one bundle. Flows stay when
/// their port is removed, and the switch uses numbers again. For kinds of frames that were just
/// forwarded, the switch uses the flows before for some milliseconds after its answer.
#[must_use]
pub fn replacement(number: PortNumber, flows: Vec<Flow>) -> Vec<FlowMod> {
    std::iter::once(deletion(number)).chain(flows.into_iter().map(FlowMod::Add)).collect()
}

/// The change by which a port has no flows.
#[must_use]
pub fn deletion(number: PortNumber) -> FlowMod {
    FlowMod::Delete(of_port(number))
}

/// What flows that are about frames of a port have in common.
#[must_use]
pub fn of_port(number: PortNumber) -> Match {
    from(number, Payload::Any)
}

/// The port that a flow with this cookie is about, if the flow is one of these.
#[must_use]
pub fn port_of(cookie: Cookie) -> Option<PortNumber> {
    cookie.port().filter(|_| cookie.mark() == MARK)
}

/// Selects the flows of all ports.
#[must_use]
pub const fn cookies() -> CookieFilter {
    CookieFilter::of_mark(MARK)
}

/// Selects the flows of a port.
#[must_use]
pub const fn cookies_of(number: PortNumber) -> CookieFilter {
    CookieFilter::of_port(MARK, number)
}

/// The number of frames of a port that were refused, since its flows were written.
#[must_use]
pub fn refused_frames(number: PortNumber, installed: &[InstalledFlow]) -> u64 {
    let is_of_port = |flow: &&InstalledFlow| flow.cookie.mark() == MARK && flow.cookie.port() == Some(number);
    let drops = installed.iter().filter(is_of_port).filter(|flow| flow.instructions.is_drop());
    drops.map(|flow| flow.packets).sum()
}

impl GuardedPort {
    fn flow_of_mac(&self, mac: MacAddress, allowed: &Action) -> Flow {
        let matches = Match { eth_src: Some(mac.octets().into()), ..from(self.number, Payload::Any) };
        flow(self.number, Priority::Allowed, matches, allowed.clone())
    }

    fn flows_of_addresses(&self, identities: &[Identity], allowed: &Action) -> Vec<Flow> {
        let allow = |mac, priority, payload| self.allow((mac, priority, payload), allowed);
        let refuse = |(priority, payload)| flow(self.number, priority, from(self.number, payload), Action::Drop);
        let mut flows: Vec<Flow> = ipv4::refused().map(refuse).to_vec();
        if identities.iter().any(|identity| !identity.ipv6.is_empty()) {
            flows.extend(ipv6::refused().map(refuse));
        }
        flows.push(allow(self.mac, Priority::Allowed, ipv4::announcement(self.mac)));
        if self.uses_dhcp {
            flows.push(allow(self.mac, Priority::Allowed, ipv4::dhcp_client()));
        }
        for identity in identities {
            let ipv4 = ipv4::allowed(identity).into_iter().map(|payload| (Priority::Allowed, payload));
            let all = ipv4.chain(ipv6::allowed(identity));
            flows.extend(all.map(|(priority, payload)| allow(identity.mac, priority, payload)));
        }
        flows
    }

    fn allow(&self, (mac, priority, payload): (MacAddress, Priority, Payload), allowed: &Action) -> Flow {
        let vlan = if self.is_trunk { Vlan::Any } else { Vlan::Untagged };
        let matches = Match { eth_src: Some(mac.octets().into()), vlan, ..from(self.number, payload) };
        flow(self.number, priority, matches, allowed.clone())
    }
}

fn from(number: PortNumber, payload: Payload) -> Match {
    Match { in_port: Some(number), payload, ..Match::default() }
}

fn flow(number: PortNumber, priority: Priority, matches: Match, action: Action) -> Flow {
    let cookie = Cookie::new(MARK, number, &matches, &action);
    Flow { table: TABLE, priority: priority as u16, cookie, matches, action }
}

#[cfg(test)]
mod tests;

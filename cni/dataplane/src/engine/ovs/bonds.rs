//! Bonds: ports whose interfaces are NICs. A port has always the column `bond_mode` if it is one,
//! also with one interface.

use super::ports::{self, NewInterface};
use crate::model::port::{Bond, BondMember, DesiredPort, PortBackend, PortName};
use usnet_crds::{BondMode, LacpRate, Queues};
use usnet_ovsdb::{Interface, Port, Row, Value};

/// In `other_config` of the port: how often the partner is asked to send messages.
const RATE_KEY: &str = "lacp-time";

const NO_LACP: &str = "off";
const MODES: [(BondMode, &str, &str); 3] = [
    (BondMode::ActiveBackup, "active-backup", NO_LACP),
    (BondMode::Lacp, "balance-tcp", "active"),
    (BondMode::BalanceSlb, "balance-slb", NO_LACP),
];
const RATES: [(LacpRate, &str); 2] = [(LacpRate::Fast, "fast"), (LacpRate::Slow, "slow")];

/// A bond, given its interfaces; `None` if it is not as usnet creates any.
pub(super) fn backend(port: &Port, interfaces: &[&Interface]) -> Option<PortBackend> {
    let (mode, _, _) = MODES.into_iter().find(|(_, name, lacp)| {
        port.bond_mode.as_deref() == Some(*name) && port.lacp.as_deref().unwrap_or(NO_LACP) == *lacp
    })?;
    let text = port.other_config.get(RATE_KEY).map_or("slow", String::as_str);
    let (rate, _) = RATES.into_iter().find(|(_, name)| *name == text)?;
    let members: Option<Vec<_>> = interfaces.iter().map(|interface| member(port, interface)).collect();
    Some(PortBackend::Bond { bond: Bond::new(mode, rate, members?) })
}

fn member(port: &Port, interface: &Interface) -> Option<BondMember> {
    let receive_queues = match ports::receive_queues(interface) {
        Some(queues) => Some(Queues::try_from(queues).ok()?),
        None => None,
    };
    let backend = ports::backend(port, interface)?;
    Some(BondMember { name: PortName::observed(&interface.name), backend, receive_queues })
}

/// An interface of a port to create: its name, and the queues on which it receives.
pub(super) type PortInterface<'a> = (&'a PortName, NewInterface<'a>, Option<Queues>);

/// The interfaces of a port to create, or why Open vSwitch does not support them.
pub(super) fn interfaces(port: &DesiredPort) -> Result<Vec<PortInterface<'_>>, &'static str> {
    let PortBackend::Bond { bond } = &port.backend else {
        return Ok(vec![(&port.name, NewInterface::of(&port.name, &port.backend)?, port.settings.receive_queues)]);
    };
    let members = bond.members().iter();
    members.map(|it| Ok((&it.name, NewInterface::of(&it.name, &it.backend)?, it.receive_queues))).collect()
}

/// Whether a port is a bond.
pub(super) const fn is_bond(port: &Port) -> bool {
    port.bond_mode.is_some()
}

/// Whether the switch waits for partners of LACP.
pub(super) fn has_lacp(port: &Port) -> bool {
    port.lacp.as_deref().is_some_and(|lacp| lacp != NO_LACP)
}

/// The columns of a port that is a bond, added to the others.
pub(super) fn port_row(backend: &PortBackend, settings: Row) -> Row {
    let PortBackend::Bond { bond } = backend else { return settings };
    let (_, mode, lacp) = MODES.into_iter().find(|(mode, ..)| *mode == bond.mode).unwrap_or(MODES[0]);
    let rate = RATES.into_iter().find(|(rate, _)| *rate == bond.lacp_rate).map_or("fast", |(_, name)| name);
    settings.with("bond_mode", mode).with("lacp", lacp).with("other_config", Value::map([(RATE_KEY, rate)]))
}

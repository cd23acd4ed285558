//! Computes the health of networks from their devices. Pure.

use crate::model::health::{Cause, NetworkHealth};
use std::collections::BTreeMap;
use std::fmt::Display;
use usnet_common::display::ErrorChain;
use usnet_crds::NetworkName;
use usnet_crds::conditions::message::overlay as message;
use usnet_crds::conditions::reason::{
    DEVICE_FAILED, MISSING_PRIVILEGE, MTU_TOO_LARGE, OVERLAY_UNPROTECTED, PEERS_UNKNOWN, PORT_TAKEN, VNI_TAKEN,
};
use usnet_crds::node_state::NetworkState;
use usnet_dataplane::links::{DesiredVxlan, LinkBlocker, LinkError, LinkOwner};
use usnet_dataplane::port::DeviceName;

/// The networks that do not work because of their overlay or uplink, with the reason.
pub(in super::super) type LinkHealth = BTreeMap<NetworkName, NetworkHealth>;

pub(super) type LinkFailures = BTreeMap<NetworkName, LinkError>;

pub(super) fn of(
    desired: &BTreeMap<NetworkName, DesiredVxlan>,
    joinable: &BTreeMap<NetworkName, u32>,
    blockers: &BTreeMap<NetworkName, LinkBlocker>,
    failures: &LinkFailures,
    problem: Option<&str>,
) -> LinkHealth {
    let health = |(network, device): (&NetworkName, &DesiredVxlan)| {
        let failed = |cause: Cause| Some((network.clone(), NetworkHealth::failed(cause.reason, cause.message)));
        match (blockers.get(network), failures.get(network)) {
            (Some(blocker), _) => failed(of_blocker(blocker)),
            (None, Some(error)) => failed(of_error(error, &DeviceName::of_vxlan(network), device)),
            (None, None) if problem.is_some() => problem.map(|problem| {
                let cause = NetworkHealth::failed(OVERLAY_UNPROTECTED, message::unprotected(problem));
                (network.clone(), NetworkHealth { attachable: joinable.contains_key(network), ..cause })
            }),
            (None, None) if joinable.contains_key(network) => None,
            (None, None) => Some((network.clone(), NetworkHealth::pending(message::DEVICE_PENDING.to_owned()))),
        }
    };
    desired.iter().filter_map(health).collect()
}

/// Merges the health of links into that of networks. A bridge that does not work is more important
/// than its overlay.
pub(in super::super) fn apply_to(network_health: &mut BTreeMap<NetworkName, NetworkHealth>, links: &LinkHealth) {
    for (network, of_link) in links {
        if let Some(health) = network_health.get_mut(network).filter(|health| health.attachable) {
            let is_worse = of_link.state == NetworkState::Failed || health.state == NetworkState::Programmed;
            if is_worse {
                health.clone_from(of_link);
            }
        }
    }
}

fn of_blocker(blocker: &LinkBlocker) -> Cause {
    match blocker {
        LinkBlocker::MissingPrivilege => {
            Cause { reason: MISSING_PRIVILEGE, message: message::MISSING_PRIVILEGE.to_owned() }
        }
        LinkBlocker::AddressMissing { address } => {
            Cause { reason: PEERS_UNKNOWN, message: message::address_missing(*address) }
        }
        LinkBlocker::VniTaken { device, owner, vni, port } => {
            let message = match owner {
                Some(LinkOwner { engine, network }) => message::vni_of_network(*vni, *port, network, *engine),
                None => message::vni_taken(*vni, *port, device),
            };
            Cause { reason: VNI_TAKEN, message }
        }
        LinkBlocker::PortTaken { device, port } => {
            let device = device.as_ref().map(|device| device as &dyn Display);
            Cause { reason: PORT_TAKEN, message: message::port_taken(*port, device) }
        }
        LinkBlocker::MtuTooLarge { underlay, underlay_mtu, mtu, overhead } => {
            Cause { reason: MTU_TOO_LARGE, message: message::mtu_too_large(*mtu, *overhead, underlay, *underlay_mtu) }
        }
    }
}

fn of_error(error: &LinkError, device: &DeviceName, desired: &DesiredVxlan) -> Cause {
    match error {
        LinkError::NotPermitted => of_blocker(&LinkBlocker::MissingPrivilege),
        LinkError::PortInUse => of_blocker(&LinkBlocker::PortTaken { device: None, port: desired.port }),
        LinkError::Exists
        | LinkError::Unsupported
        | LinkError::Isolation(_)
        | LinkError::Pci(_)
        | LinkError::Netlink { .. } => {
            Cause { reason: DEVICE_FAILED, message: message::device_failed(device, &ErrorChain(error)) }
        }
    }
}

//! Which NIC each uplink has on this node, and what is wrong with it. Pure.

use super::bonds::nic_requests;
use super::dpdk::{address_of, resolve_dpdk};
use super::find::{find, missing};
use super::model::{JoinedNic, KernelNic, NicBlocker, NodeNics, ObservedNic, ObservedNics, ResolvedNic};
use super::offloads::ReceiveOffload;
use super::resolved_uplink::{NicRequest, ResolvedMember, ResolvedUplink, UplinkRequest};
use crate::model::owner::NicIdentity;
use crate::model::port::PortBackend;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{
    EngineKind, MacAddress, NicDevice, NicDriver, NodeTraffic, NodeUplink, PciAddress, Queues, UplinkName,
};

/// The NICs that are described, by their indexes.
pub fn described(devices: &[NicDevice], observed: &ObservedNics) -> BTreeSet<u32> {
    devices.iter().filter_map(|device| find(device, observed).ok()).map(|(index, _)| index).collect()
}

/// The NICs of these uplinks. One that two ask for goes to the one whose engine has it, else to the
/// first. `others` have theirs before.
pub fn resolve(
    requests: &[UplinkRequest<'_>],
    others: &[Arc<NodeUplink>],
    node: NodeNics<'_>,
) -> BTreeMap<UplinkName, ResolvedUplink> {
    let of_others = others.iter().flat_map(|uplink| {
        let found = uplink.nic.device.nics().iter().filter_map(|device| find(device, node.kernel).ok());
        found.map(|(index, nic)| (identity(index, nic), &uplink.name))
    });
    let mut taken: BTreeMap<NicIdentity, &UplinkName> = of_others.collect();
    let is_dpdk = |request: &&UplinkRequest<'_>| request.uplink.nic.driver == NicDriver::Dpdk;
    let nics = requests.iter().filter(is_dpdk).flat_map(|request| nic_requests(request, node));
    let used: Vec<PciAddress> = nics.filter_map(|nic| address_of(nic.request(), node).ok()).collect();
    let (first, then): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.joined.is_some());
    let mut resolved = BTreeMap::new();
    for request in first.into_iter().chain(then) {
        let members = nic_requests(request, node).into_iter().map(|nic| {
            let found = resolve_nic(nic.request(), node, &used);
            let found = unless_taken(found, &request.uplink.name, node, &mut taken);
            ResolvedMember { kept: nic.kept().filter(|_| !found.may_join), ..found }
        });
        let members = members.collect();
        let bond = request.uplink.nic.device.bond().map(|bond| (bond.mode, bond.lacp_rate));
        resolved.insert(request.uplink.name.clone(), ResolvedUplink { members, bond });
    }
    resolved
}

fn resolve_nic(request: NicRequest<'_>, node: NodeNics<'_>, used: &[PciAddress]) -> ResolvedMember {
    match request.uplink.uplink.nic.driver {
        NicDriver::AfPacket | NicDriver::AfXdp => resolve_kernel(request, node.kernel),
        NicDriver::Dpdk => resolve_dpdk(request, node, used),
    }
}

/// Gives a NIC to an uplink, unless it is in `taken` already.
fn unless_taken<'a>(
    found: ResolvedMember,
    uplink: &'a UplinkName,
    node: NodeNics<'_>,
    taken: &mut BTreeMap<NicIdentity, &'a UplinkName>,
) -> ResolvedMember {
    let Some(nic) = &found.nic else { return found };
    let identity = match nic {
        ResolvedNic::Kernel(KernelNic { index, .. }) | ResolvedNic::AfXdp { nic: KernelNic { index, .. }, .. } => {
            match node.kernel.nics.get(index) {
                Some(nic) => identity(*index, nic),
                None => NicIdentity::KernelIndex(*index),
            }
        }
        ResolvedNic::Dpdk { address, .. } => NicIdentity::PciAddress(*address),
    };
    match taken.get(&identity) {
        Some(holder) => ResolvedMember::blocked(NicBlocker::Taken { nic: nic.to_string(), uplink: (*holder).clone() }),
        None => {
            taken.insert(identity, uplink);
            found
        }
    }
}

/// What is the same of a NIC whatever drives it: its place on the PCI bus, if it has one.
fn identity(index: u32, nic: &ObservedNic) -> NicIdentity {
    let address = nic.pci.as_deref().and_then(|address| address.parse().ok());
    address.map_or(NicIdentity::KernelIndex(index), NicIdentity::PciAddress)
}

fn resolve_kernel(request: NicRequest<'_>, observed: &ObservedNics) -> ResolvedMember {
    let NicRequest { uplink: UplinkRequest { uplink, is_used, is_untagged, .. }, device, joined } = request;
    let (is_used, is_untagged) = (*is_used, *is_untagged);
    if !observed.may_change {
        return ResolvedMember::blocked(NicBlocker::MissingPrivilege);
    }
    let (index, nic) = match find(device, observed) {
        Ok(found) => found,
        Err(NicBlocker::Missing { wanted }) => return ResolvedMember::blocked(missing(wanted, joined, observed)),
        Err(blocker) => return ResolvedMember::blocked(blocker),
    };
    let is_shared = uplink.node_traffic == NodeTraffic::Shared;
    let node_use = observed.node_use(index, nic);
    let refusal = match node_use {
        Some(what) if !is_shared => Some(NicBlocker::CarriesNode { nic: nic.name.clone(), what }),
        Some(_) if is_untagged => Some(NicBlocker::SharedUntagged { nic: nic.name.clone() }),
        _ => has_program(nic, uplink, joined),
    };
    let device = KernelNic { device: nic.name.clone(), index, mac: nic.mac() };
    let may_join = refusal.is_none();
    let is_needed = may_join && is_used;
    ResolvedMember {
        must_set_up: is_needed && !is_shared && !nic.is_up,
        must_disable: if is_needed { nic.offloads.to_disable(uplink.nic.driver) } else { BTreeSet::new() },
        must_set_promiscuous: is_needed && uplink.engine == EngineKind::Vpp && !nic.is_promiscuous,
        blocker: refusal.or_else(|| out_of_service(nic, uplink.nic.driver).filter(|_| is_used)),
        nic: Some(resolved_nic(device, nic, uplink)),
        mtu: Some(nic.mtu),
        numa_node: nic.numa_node,
        mac: nic.macs.first().and_then(|octets| MacAddress::from_octets(*octets)),
        may_join,
        must_bind: None,
        kept: None,
    }
}

fn resolved_nic(device: KernelNic, nic: &ObservedNic, uplink: &NodeUplink) -> ResolvedNic {
    match uplink.nic.driver {
        NicDriver::AfXdp => {
            let queues = Queues::try_from(i64::from(nic.queues)).unwrap_or_default();
            ResolvedNic::AfXdp { nic: device, mode: uplink.nic.xdp_mode, queues }
        }
        NicDriver::AfPacket | NicDriver::Dpdk => ResolvedNic::Kernel(device),
    }
}

/// A program that is there before the engine has the NIC is of others. One of an engine that died
/// stays, and the engine replaces it.
fn has_program(nic: &ObservedNic, uplink: &NodeUplink, joined: Option<&JoinedNic>) -> Option<NicBlocker> {
    let is_xdp = uplink.nic.driver == NicDriver::AfXdp;
    let is_new = !joined.is_some_and(|joined| matches!(joined.backend, PortBackend::AfXdp { .. }));
    (nic.has_program && is_xdp && is_new).then(|| NicBlocker::HasProgram { nic: nic.name.clone() })
}

/// A NIC without carrier is joined all the same: it comes back by itself.
fn out_of_service(nic: &ObservedNic, driver: NicDriver) -> Option<NicBlocker> {
    let name = nic.name.clone();
    match (nic.is_up, nic.has_carrier) {
        (false, _) => Some(NicBlocker::Down { nic: name }),
        (true, false) => Some(NicBlocker::NoCarrier { nic: name }),
        (true, true) => loses_frames(nic, driver),
    }
}

fn loses_frames(nic: &ObservedNic, driver: NicDriver) -> Option<NicBlocker> {
    let offloads = nic.offloads.harmful(driver);
    if offloads.contains(&ReceiveOffload::TagStripping) {
        return Some(NicBlocker::StripsTags { nic: nic.name.clone() });
    }
    (!offloads.is_empty()).then(|| NicBlocker::MergesPackets { nic: nic.name.clone(), offloads })
}

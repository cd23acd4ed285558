//! Which NIC each uplink has on this node, and what is wrong with it. Pure.

use super::model::{JoinedNic, KernelNic, NicBlocker, ObservedNic, ObservedNics};
use super::offloads::ReceiveOffload;
use crate::model::uplink::DesiredNic;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{EngineKind, MacAddress, NicDevice, NicDriver, NodeTraffic, NodeUplink, UplinkName};

/// An uplink of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedUplink {
    /// The device; none if there is none that fits.
    pub device: Option<KernelNic>,
    pub mtu: Option<u32>,
    pub mac: Option<MacAddress>,
    /// Whether the engine may have it; one that the engine has already stays.
    pub may_join: bool,
    /// Whether it has to be set up before.
    pub must_set_up: bool,
    /// Whether it has to take frames to any address. Open vSwitch cares for that itself.
    pub must_set_promiscuous: bool,
    /// What has to be switched off, because it merges received packets.
    pub must_disable: BTreeSet<ReceiveOffload>,
    pub blocker: Option<NicBlocker>,
}

impl ResolvedUplink {
    fn blocked(blocker: NicBlocker) -> Self {
        let (must_set_up, must_set_promiscuous) = (false, false);
        Self {
            device: None,
            mtu: None,
            mac: None,
            may_join: false,
            must_set_up,
            must_set_promiscuous,
            must_disable: BTreeSet::new(),
            blocker: Some(blocker),
        }
    }

    /// Keeps a NIC from being joined that cannot be isolated from the node. One that the engine has
    /// stays.
    pub fn refuse_unless_isolated(&mut self, why: &str) {
        if let Some(nic) = self.nic().map(|nic| nic.device.clone()) {
            (self.may_join, self.must_set_up, self.must_set_promiscuous) = (false, false, false);
            self.blocker = Some(NicBlocker::NotIsolated { nic, why: why.to_owned() });
        }
    }

    pub fn nic(&self) -> Option<&KernelNic> {
        self.device.as_ref().filter(|_| self.may_join)
    }

    /// The NIC to join, as it is in the desired state.
    pub fn desired(&self) -> Option<DesiredNic> {
        self.nic().map(DesiredNic::from)
    }

    /// The name of the NIC in logs and reports, whether it may be joined or not.
    pub fn name(&self) -> Option<&str> {
        self.device.as_ref().map(|nic| nic.device.as_str())
    }
}

/// What an uplink asks for, and what its engine has.
#[derive(Debug, Clone, Copy)]
pub struct UplinkRequest<'a> {
    pub uplink: &'a NodeUplink,
    /// Whether it has networks here.
    pub is_used: bool,
    /// Whether one of them has untagged frames.
    pub is_untagged: bool,
    /// The NIC that the engine has for it.
    pub joined: Option<&'a JoinedNic>,
}

/// The NICs that are described, by their indexes.
pub fn described(devices: &[NicDevice], observed: &ObservedNics) -> BTreeSet<u32> {
    devices.iter().filter_map(|device| find(device, observed).ok()).map(|(index, _)| index).collect()
}

/// The NICs of these uplinks. One that two ask for goes to the one whose engine has it, else to the
/// first. `others` have theirs before.
pub fn resolve(
    requests: &[UplinkRequest<'_>],
    others: &[Arc<NodeUplink>],
    observed: &ObservedNics,
) -> BTreeMap<UplinkName, ResolvedUplink> {
    let mut resolved = BTreeMap::new();
    let nic_of = |uplink: &NodeUplink| find(&uplink.nic.device, observed).ok().map(|(index, _)| index);
    let mut taken: BTreeMap<u32, &UplinkName> =
        others.iter().filter_map(|uplink| Some((nic_of(uplink)?, &uplink.name))).collect();
    type Requests<'a, 'b> = Vec<&'a UplinkRequest<'b>>;
    let (first, then): (Requests<'_, '_>, Requests<'_, '_>) =
        requests.iter().partition(|request| request.joined.is_some());
    for request in first.into_iter().chain(then) {
        let mut found = resolve_one(*request, observed);
        if let Some(nic) = &found.device {
            match taken.get(&nic.index) {
                Some(uplink) => {
                    let blocker = NicBlocker::Taken { nic: nic.device.clone(), uplink: (*uplink).clone() };
                    found = ResolvedUplink::blocked(blocker);
                }
                None => drop(taken.insert(nic.index, &request.uplink.name)),
            }
        }
        resolved.insert(request.uplink.name.clone(), found);
    }
    resolved
}

fn resolve_one(request: UplinkRequest<'_>, observed: &ObservedNics) -> ResolvedUplink {
    let UplinkRequest { uplink, is_used, is_untagged, joined } = request;
    // A driver that takes a NIC from Linux has its own way from here on.
    let NicDriver::AfPacket = uplink.nic.driver;
    if !observed.may_change {
        return ResolvedUplink::blocked(NicBlocker::MissingPrivilege);
    }
    let (index, nic) = match find(&uplink.nic.device, observed) {
        Ok(found) => found,
        Err(blocker) => {
            let lost = joined.filter(|_| matches!(blocker, NicBlocker::Missing { .. }));
            let lost = lost.map(|joined| NicBlocker::Lost {
                nic: joined.name(),
                renamed: joined.identity.kernel_index().and_then(|index| Some(observed.nics.get(&index)?.name.clone())),
            });
            return ResolvedUplink::blocked(lost.unwrap_or(blocker));
        }
    };
    let is_shared = uplink.node_traffic == NodeTraffic::Shared;
    let node_use = observed.node_use(nic);
    let refusal = match node_use {
        Some(what) if !is_shared => Some(NicBlocker::CarriesNode { nic: nic.name.clone(), what }),
        Some(_) if is_untagged => Some(NicBlocker::SharedUntagged { nic: nic.name.clone() }),
        _ => None,
    };
    let device = KernelNic { device: nic.name.clone(), index, mac: nic.mac() };
    let may_join = refusal.is_none();
    let is_needed = may_join && is_used;
    ResolvedUplink {
        must_set_up: is_needed && !is_shared && !nic.is_up,
        must_disable: if is_needed { nic.offloads.to_disable() } else { BTreeSet::new() },
        must_set_promiscuous: is_needed && uplink.engine == EngineKind::Vpp && !nic.is_promiscuous,
        blocker: refusal.or_else(|| out_of_service(nic).filter(|_| is_used)),
        device: Some(device),
        mtu: Some(nic.mtu),
        mac: nic.macs.first().and_then(|octets| MacAddress::from_octets(*octets)),
        may_join,
    }
}

/// A NIC without carrier is joined all the same: it comes back by itself.
fn out_of_service(nic: &ObservedNic) -> Option<NicBlocker> {
    let name = nic.name.clone();
    match (nic.is_up, nic.has_carrier) {
        (false, _) => Some(NicBlocker::Down { nic: name }),
        (true, false) => Some(NicBlocker::NoCarrier { nic: name }),
        (true, true) => merges_packets(nic),
    }
}

fn merges_packets(nic: &ObservedNic) -> Option<NicBlocker> {
    let offloads = nic.offloads.on.clone();
    (!offloads.is_empty()).then(|| NicBlocker::MergesPackets { nic: nic.name.clone(), offloads })
}

/// The device that is described.
fn find<'a>(device: &NicDevice, observed: &'a ObservedNics) -> Result<(u32, &'a ObservedNic), NicBlocker> {
    let (wanted, mut found): (String, Vec<_>) = match device {
        NicDevice::Name { name } => (name.to_string(), matching(observed, |nic| nic.name.as_str() == name.as_str())),
        NicDevice::MacAddress { mac_address } => {
            let has_mac = |nic: &ObservedNic| nic.is_physical && nic.macs.contains(&mac_address.octets());
            (format!("with MAC address {mac_address}"), matching(observed, has_mac))
        }
        NicDevice::PciAddress { pci_address } => {
            let address = pci_address.to_string();
            let is_there = |nic: &ObservedNic| nic.is_physical && nic.pci.as_deref() == Some(address.as_str());
            (format!("at PCI address {pci_address}"), matching(observed, is_there))
        }
    };
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(NicBlocker::Missing { wanted }),
        (Some(only), true) => Ok(only),
        (Some((_, last)), false) => {
            let names = found.iter().map(|(_, nic)| nic.name.clone()).chain([last.name.clone()]);
            Err(NicBlocker::Ambiguous { wanted, found: names.collect() })
        }
    }
}

fn matching(observed: &ObservedNics, is_it: impl Fn(&ObservedNic) -> bool) -> Vec<(u32, &ObservedNic)> {
    observed.nics.iter().filter(|(_, nic)| is_it(nic)).map(|(index, nic)| (*index, nic)).collect()
}

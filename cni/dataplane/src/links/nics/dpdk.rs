//! Which PCI device an uplink has whose engine drives its NIC itself, and what is wrong with it.
//! Pure.

use super::find::{find, missing};
use super::model::{NicBlocker, NodeNics, ObservedNic, ResolvedNic};
use super::resolved_uplink::{NicRequest, ResolvedMember};
use crate::links::pci::{ObservedPciNic, PciBlocker};
use crate::model::owner::NicIdentity;
use crate::store::bound_nics::BoundNic;
use usnet_crds::{Binding, Nic, NicDevice, PciAddress};

/// The NIC of an uplink with the driver DPDK. `used` are the devices of all of these.
pub(super) fn resolve_dpdk(request: NicRequest<'_>, node: NodeNics<'_>, used: &[PciAddress]) -> ResolvedMember {
    let Nic { bind, mtu, queues, .. } = request.uplink.uplink.nic;
    let address = match address_of(request, node) {
        Ok(address) => address,
        Err(blocker) => return ResolvedMember::blocked(blocker),
    };
    let Some(nic) = node.pci.nics.get(&address) else {
        return ResolvedMember::blocked(missing(format!("at PCI address {address}"), request.joined, node.kernel));
    };
    let is_joined = request.joined.is_some_and(|joined| joined.identity == NicIdentity::PciAddress(address));
    let blocker = blocker((address, nic), bind, node, used).filter(|blocker| !(is_joined && blocker.is_of_start()));
    let must_bind =
        (request.uplink.is_used && blocker.is_none() && !nic.is_bound()).then(|| bound(request, address, node));
    ResolvedMember {
        nic: Some(ResolvedNic::Dpdk { address, mtu, queues }),
        mtu: Some(mtu.unwrap_or_default().get().into()),
        numa_node: nic.numa_node,
        may_join: blocker.is_none() && nic.is_bound(),
        must_bind,
        blocker,
        ..ResolvedMember::default()
    }
}

/// The address of the device that an uplink describes. That of a NIC which Linux does not drive any
/// more is in the engine, and in what the agent remembers of those that it has bound.
pub(super) fn address_of(request: NicRequest<'_>, node: NodeNics<'_>) -> Result<PciAddress, NicBlocker> {
    let (by_name, by_mac) = match request.device {
        NicDevice::PciAddress { pci_address } => return Ok(*pci_address),
        NicDevice::Name { name } => (Some(name.as_str()), None),
        NicDevice::MacAddress { mac_address } => (None, Some(*mac_address)),
    };
    let is_it = |nic: &&BoundNic| match (by_name, by_mac) {
        (Some(name), _) => nic.device.as_deref() == Some(name),
        (None, mac) => nic.mac.is_some() && nic.mac == mac,
    };
    if let Some(nic) = node.bound.iter().find(is_it) {
        return Ok(nic.address);
    }
    let found = find(request.device, node.kernel);
    match found.map(|(_, nic)| (nic, node.pci.of_device(&nic.name))) {
        Ok((_, Some(address))) => Ok(address),
        Ok((nic, None)) => Err(NicBlocker::NotPci { nic: nic.name.clone() }),
        Err(NicBlocker::Missing { wanted }) => match request.joined.map(|joined| &joined.identity) {
            Some(NicIdentity::PciAddress(address)) => Ok(*address),
            _ => Err(missing(wanted, request.joined, node.kernel)),
        },
        Err(blocker) => Err(blocker),
    }
}

fn blocker(
    (address, nic): (PciAddress, &ObservedPciNic),
    bind: Binding,
    node: NodeNics<'_>,
    used: &[PciAddress],
) -> Option<NicBlocker> {
    let of_pci = |blocker: PciBlocker| NicBlocker::Pci { nic: address, blocker };
    if let Some(why) = &node.dpdk.unusable {
        return Some(NicBlocker::NoDpdk { why: why.clone() });
    }
    let others: Vec<_> = node.pci.bound_besides(used).collect();
    if node.dpdk.takes_all && (bind == Binding::WhenFree || !others.is_empty()) {
        return Some(NicBlocker::TakesAll { nic: address, others });
    }
    if nic.is_bound() || bind == Binding::Never {
        return nic.blocker().map(of_pci);
    }
    let kernel = nic.device.as_ref().and_then(|device| node.kernel.named(device.as_str()));
    let carries = kernel.and_then(|(index, found)| {
        Some(NicBlocker::CarriesNode { nic: found.name.clone(), what: node.kernel.node_use(index, found)? })
    });
    carries.or_else(|| nic.binding_blocker(node.pci).map(of_pci))
}

/// What has to be remembered of a NIC before it is bound.
fn bound(request: NicRequest<'_>, address: PciAddress, node: NodeNics<'_>) -> BoundNic {
    let nic = node.pci.nics.get(&address);
    let device = nic.and_then(|nic| nic.device.as_ref());
    let kernel: Option<&ObservedNic> = device.and_then(|device| node.kernel.named(device.as_str())).map(|(_, it)| it);
    BoundNic {
        address,
        uplink: request.uplink.uplink.name.clone(),
        driver: nic.and_then(|nic| nic.driver.clone()),
        device: device.map(ToString::to_string),
        mac: kernel.and_then(|kernel| usnet_crds::MacAddress::from_octets(kernel.mac())),
        was_up: kernel.is_some_and(|kernel| kernel.is_up),
    }
}

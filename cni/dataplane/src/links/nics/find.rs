//! The device that an uplink describes, among those of the kernel. Pure.

use super::model::{JoinedNic, NicBlocker, ObservedNic, ObservedNics};
use usnet_crds::NicDevice;

/// The device that is described.
pub(super) fn find<'a>(device: &NicDevice, observed: &'a ObservedNics) -> Result<(u32, &'a ObservedNic), NicBlocker> {
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

/// What is wrong when a node does not have the NIC that is wanted: the engine may have had it.
pub(super) fn missing(wanted: String, joined: Option<&JoinedNic>, observed: &ObservedNics) -> NicBlocker {
    let Some(joined) = joined else { return NicBlocker::Missing { wanted } };
    let present = joined.identity.kernel_index().and_then(|index| observed.nics.get(&index));
    match present.map(|nic| nic.name.clone()) {
        // The uplink names another one now.
        Some(name) if name.as_str() == joined.name() => NicBlocker::Missing { wanted },
        renamed => NicBlocker::Lost { nic: joined.name(), renamed },
    }
}

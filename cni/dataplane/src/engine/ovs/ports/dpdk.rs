//! NICs that the switch drives itself by DPDK. Only usnet writes their `dpdk-devargs`, as a PCI
//! address in its full form: with devices of other kinds (`net_virtio_user0,server=1`) the whole
//! switch would wait for a program at their other end.

use crate::model::port::PortBackend;
use std::collections::BTreeMap;
use usnet_crds::{PciAddress, Queues};
use usnet_ovsdb::{Interface, Row, Value};

pub(super) const INTERFACE_TYPE: &str = "dpdk";
/// The option with the address of the device.
const ADDRESS_KEY: &str = "dpdk-devargs";
/// The option with the number of queues on which the NIC receives.
const QUEUES_KEY: &str = "n_rxq";
/// The status of a NIC with the most queues that it can receive on.
const QUEUES_MAX_KEY: &str = "max_rx_queues";

pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    let text = interface.options.get(ADDRESS_KEY)?;
    let address: PciAddress = text.parse().ok()?;
    // There is one form of each address that usnet writes.
    (address.to_string() == *text).then_some(PortBackend::Dpdk { address })
}

/// The columns of an interface to create.
pub(super) fn row(address: PciAddress) -> Row {
    Row::new().with("type", INTERFACE_TYPE).with("options", Value::map([(ADDRESS_KEY, address.to_string().as_str())]))
}

/// The queues that were requested.
pub(in crate::engine::ovs) fn receive_queues(interface: &Interface) -> Option<i64> {
    interface.options.get(QUEUES_KEY)?.parse().ok()
}

/// The keys of the column `options` that settings have.
pub(in crate::engine::ovs) fn options(receive_queues: Option<Queues>) -> BTreeMap<String, String> {
    receive_queues.map(|queues| (QUEUES_KEY.to_owned(), queues.to_string())).into_iter().collect()
}

/// Whether its link is up.
pub(super) fn is_connected(interface: &Interface) -> bool {
    interface.link_state.as_deref() == Some("up")
}

/// Why a NIC that the switch has is not as it was asked for: what its driver refuses is in the log
/// of the switch alone.
pub(in crate::engine::ovs) fn refusal(interface: &Interface) -> Option<String> {
    let (asked, has) = (interface.mtu_request?, interface.mtu?);
    // Before the switch has set a NIC up for the first time, it has no MTU.
    if has != 0 && asked != has {
        return Some(format!("its driver refuses MTU {asked}, and it has {has}: set the mtu of the uplink to {has}"));
    }
    let most: i64 = interface.status.get(QUEUES_MAX_KEY)?.parse().ok()?;
    let queues = receive_queues(interface).filter(|queues| *queues > most)?;
    Some(format!(
        "it has at most {most} receive queues, and {queues} were asked for: set queues of the uplink to {most}"
    ))
}

/// The error of an interface, with what is left as its cause: the agent joins no NIC whose driver
/// or group is wrong, and the switch has one text for all causes.
pub(super) fn attach_error(error: &str) -> String {
    match error.contains("Error attaching device") {
        true => format!(
            "{error}: another program has it (fuser -v /dev/vfio/*), or vfio-pci was loaded after ovs-vswitchd was started: restart it, or see its log"
        ),
        false => error.to_owned(),
    }
}

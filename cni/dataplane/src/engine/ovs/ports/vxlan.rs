//! VXLAN of the switch itself: a tunnel to one peer. All tunnels are one port of the datapath.
//!
//! `local_ip` is not optional: a bridge with two addresses would send from either, and the peer
//! expects one.

use crate::model::port::{PortBackend, TunnelEnds};
use std::collections::BTreeMap;
use usnet_ovsdb::{Interface, Port, Row, Value};

pub(super) const INTERFACE_TYPE: &str = "vxlan";
const REMOTE_KEY: &str = "remote_ip";
const LOCAL_KEY: &str = "local_ip";
const VNI_KEY: &str = "key";
const PORT_KEY: &str = "dst_port";

/// Tunnels are protected ports: frames from one are never sent to another.
pub(super) fn backend(port: &Port, interface: &Interface) -> Option<PortBackend> {
    let ends = ends(interface).filter(|_| port.is_protected)?;
    Some(PortBackend::Vxlan { ends })
}

/// The columns of a port to create, added to those of its settings.
pub(super) fn port_row(settings: Row) -> Row {
    settings.with("protected", true)
}

/// The ends of a tunnel; `None` for an interface of another type, or with other options.
pub(super) fn ends(interface: &Interface) -> Option<TunnelEnds> {
    let option = |key: &str| interface.options.get(key).filter(|_| interface.interface_type == INTERFACE_TYPE);
    let number = |key: &str| option(key)?.parse::<i64>().ok();
    let ends = TunnelEnds {
        vni: number(VNI_KEY)?.try_into().ok()?,
        port: number(PORT_KEY)?.try_into().ok()?,
        local: option(LOCAL_KEY)?.parse().ok()?,
        remote: option(REMOTE_KEY)?.parse().ok()?,
    };
    (options(&ends) == interface.options).then_some(ends)
}

/// The columns of an interface to create.
pub(super) fn row(ends: &TunnelEnds) -> Row {
    Row::new().with("type", INTERFACE_TYPE).with("options", Value::map(options(ends)))
}

fn options(TunnelEnds { vni, port, local, remote }: &TunnelEnds) -> BTreeMap<String, String> {
    let options = [
        (REMOTE_KEY, remote.to_string()),
        (LOCAL_KEY, local.to_string()),
        (VNI_KEY, vni.to_string()),
        (PORT_KEY, port.to_string()),
    ];
    options.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

//! Bridges of Open vSwitch, as another client reads and changes them.

use crate::support::cluster::try_run;

/// The prefix of usnet's ownership keys.
const OURS: &str = "usnet.dev/";

/// Makes a bridge, unless there is one of that name.
pub(crate) fn make(node: &str, name: &str, owner: &str) -> Result<(), String> {
    let owner = format!("external_ids:owner={owner}");
    vsctl(node, &["add-br", name, "--", "set", "Bridge", name, "datapath_type=netdev", &owner]).map(drop)
}

/// Deletes a bridge with all its ports.
pub(crate) fn remove(node: &str, name: &str) -> Result<(), String> {
    vsctl(node, &["del-br", name]).map(drop)
}

/// Whether it is there and ours.
pub(crate) fn is_ours(node: &str, name: &str) -> Result<bool, String> {
    Ok(vsctl(node, &["get", "Bridge", name, "external_ids"])?.contains(OURS))
}

/// Returns the settings and the ports of a bridge, without ports of usnet.
pub(crate) fn show(node: &str, name: &str) -> Result<String, String> {
    let columns = "--columns=name,external_ids,other_config,datapath_type,mirrors,controller,fail_mode,flood_vlans";
    let mut observed = vsctl(node, &[columns, "list", "Bridge", name])?;
    for port in ports(node, name)?.into_iter().chain([name.to_owned()]) {
        let seen = show_port(node, &port)?;
        observed.push_str(if seen.contains(OURS) { "" } else { &seen });
    }
    Ok(observed)
}

/// Returns the settings of a port and its interface.
pub(crate) fn show_port(node: &str, port: &str) -> Result<String, String> {
    let of_port = "--columns=name,tag,trunks,vlan_mode,external_ids,other_config,qos";
    let of_interface =
        "--columns=name,type,options,mtu_request,external_ids,ingress_policing_rate,ingress_policing_burst";
    Ok(vsctl(node, &[of_port, "list", "Port", port])? + &vsctl(node, &[of_interface, "list", "Interface", port])?)
}

/// A foreign port on a bridge.
pub(crate) fn add_port(node: &str, bridge: &str, port: &str, owner: &str) -> Result<(), String> {
    let owner = format!("external_ids:owner={owner}");
    let interface = ["--", "set", "Interface", port, "type=internal"];
    vsctl(node, &[&["add-port", bridge, port, "tag=55", "--", "set", "Port", port, &owner], &interface[..]].concat())
        .map(drop)
}

pub(crate) fn remove_port(node: &str, port: &str) -> Result<(), String> {
    vsctl(node, &["del-port", port]).map(drop)
}

/// The name of one of our ports on a bridge, counted round.
pub(crate) fn port(node: &str, bridge: &str, number: usize) -> Result<String, String> {
    let mut ours = Vec::new();
    for port in ports(node, bridge)? {
        if vsctl(node, &["get", "Port", &port, "external_ids"])?.contains(OURS) {
            ours.push(port);
        }
    }
    ours.get(number % ours.len().max(1)).cloned().ok_or_else(|| "there is no port of ours".to_owned())
}

/// Changes something of a port.
pub(crate) fn change_port(node: &str, port: &str, setting: usize) -> Result<(), String> {
    let changes: [&[&str]; 6] = [
        &["set", "Port", port, "tag=99"],
        &["set", "Interface", port, "mtu_request=1000"],
        &["clear", "Port", port, "tag"],
        &["set", "Port", port, "trunks=3,4"],
        &["set", "Interface", port, "ingress_policing_rate=77"],
        &["clear", "Port", port, "qos"],
    ];
    vsctl(node, changes[setting % changes.len()]).map(drop)
}

/// Changes something of a bridge.
pub(crate) fn change(node: &str, bridge: &str, setting: usize) -> Result<(), String> {
    let changes: [&[&str]; 3] = [
        &["set", "Interface", bridge, "mtu_request=1000"],
        &["set", "Bridge", bridge, "other_config:mac-aging-time=17"],
        &["set", "Bridge", bridge, "flood_vlans=0"],
    ];
    vsctl(node, changes[setting % changes.len()]).map(drop)
}

fn ports(node: &str, bridge: &str) -> Result<Vec<String>, String> {
    let listed = vsctl(node, &["list-ports", bridge])?;
    let mut ports: Vec<String> = listed.lines().map(ToOwned::to_owned).collect();
    ports.sort();
    Ok(ports)
}

fn vsctl(node: &str, arguments: &[&str]) -> Result<String, String> {
    // Without waiting: the switch process may be down.
    try_run("on-node", &[&[node, "ovs-vsctl", "--no-wait", "--timeout=5"], arguments].concat(), "")
}

//! An overlay as an administrator configures it: `ip`, `bridge`, and `ovs-vsctl` or commands of
//! VPP.

use super::nodes::{Engine, MTU, Node, VNI};
use crate::calls::pod;
use crate::host::namespaces;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::port::{DeviceName, PortBackend};
use usnet_dataplane::testing::{attachment, record_with};
use usnet_plugin::attachment::interface;
use usnet_plugin::protocol::result::Assignment;

/// Configures a node with one peer and one pod.
pub(crate) fn configure(node: &Node, peer: &Node, pod: usize) {
    let (local, remote) = (node.address, peer.address);
    let kind = format!("type vxlan id {VNI} dstport 4789 local {local} dev eth0 noudpcsum");
    node.ip(&format!("link add vx0 mtu {MTU} {kind}"));
    node.run("bridge", &format!("fdb append 00:00:00:00:00:00 dev vx0 dst {remote} self permanent"));
    node.ip("link set vx0 up");
    let device = device(node, pod);
    node.ip(&format!("link set {device} mtu {MTU}"));
    connect(node, &["vx0", device.as_str()]);
}

/// A bridge with these devices as ports.
fn connect(node: &Node, devices: &[&str]) {
    match &node.engine {
        Engine::OpenVswitch(switch) => {
            let vsctl = |arguments: &str| {
                switch.vsctl(&arguments.split(' ').collect::<Vec<_>>()).expect("ovs-vsctl");
            };
            vsctl(&format!("add-br br0 -- set Bridge br0 datapath_type=netdev -- set Interface br0 mtu_request={MTU}"));
            devices.iter().for_each(|device| vsctl(&format!("add-port br0 {device}")));
        }
        Engine::Vpp(vpp) => {
            let cli = |command: &str| drop(vpp.cli(command).expect("a command of VPP"));
            for device in devices {
                cli(&format!("create host-interface name {device}"));
                cli(&format!("set interface state host-{device} up"));
                cli(&format!("set interface l2 bridge host-{device} 1"));
            }
        }
    }
}

/// A veth pair by the plugin's own function: not every machine has a program that disables checksum
/// offload, without which no datagram arrives.
fn device(node: &Node, pod: usize) -> DeviceName {
    let container = format!("hand{pod}");
    let device = DeviceName::of(&attachment(&container));
    let network = pod::network(node.kind(), "hand");
    let record = record_with(&container, &network, PortBackend::Device { device: device.clone() });
    let mac = format!("02:00:00:00:01:{pod:02x}").parse().expect("a MAC address");
    let record = Record { network_namespace: namespaces::of_pod(pod), ..record };
    let create = || interface::create(&record, &device, mac, &Assignment::default(), &[]).expect("the pair is created");
    node.within(create);
    device
}

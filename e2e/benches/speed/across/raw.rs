//! The least that overlays take: netlink messages one after the other, and one transaction.

use super::nodes::{MTU, Node};
use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use usnet_dataplane::netlink::Netlink;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Condition, Mutation, Row, Transaction, Value};

const NETLINK_ROUTE: isize = 0;
const PATIENCE: Duration = Duration::from_secs(300);

/// Sends netlink messages in the network namespace of the thread that opened it.
pub(crate) struct Devices {
    netlink: Netlink,
    underlay: u32,
}

impl Devices {
    pub(crate) fn open() -> Self {
        let netlink = Netlink::open(NETLINK_ROUTE).expect("a netlink socket");
        Self { netlink, underlay: index("eth0") }
    }

    /// Creates a VXLAN device that is up.
    pub(crate) fn create(&mut self, name: &str, vni: u32, local: Ipv4Addr) -> u32 {
        let settings = vec![
            InfoVxlan::Id(vni),
            InfoVxlan::Port(4789),
            InfoVxlan::Link(self.underlay),
            InfoVxlan::Local(local),
            InfoVxlan::UDPCsum(false),
        ];
        let mut message = LinkMessage::default();
        (message.header.flags, message.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Mtu(u32::try_from(MTU).expect("an MTU")),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Vxlan), LinkInfo::Data(InfoData::Vxlan(settings))]),
        ];
        self.send(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL);
        index(name)
    }

    pub(crate) fn add_peer(&mut self, device: u32, peer: Ipv4Addr) {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = device;
        message.header.state = NeighbourState::Permanent;
        message.header.flags = NeighbourFlags::Own;
        message.attributes = vec![
            NeighbourAttribute::LinkLayerAddress(vec![0; 6]),
            NeighbourAttribute::Destination(NeighbourAddress::from(IpAddr::from(peer))),
        ];
        self.send(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_APPEND);
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) {
        self.netlink.request::<_, RouteNetlinkMessage>(message, flags).expect("the kernel accepts it");
    }
}

fn index(name: &str) -> u32 {
    if_nametoindex(name).expect("the device")
}

/// A bridge with its own port and one device each, in one transaction, until the switch has acted.
pub(crate) fn add_bridges(node: &Node, devices: &[String]) {
    let mut client = Client::connect(node.socket(), PATIENCE).expect("the database answers");
    let mut transaction = Transaction::new();
    for device in devices {
        let name = format!("br-{device}");
        let row = |name: &str| Row::new().with("name", name);
        let mut ports = Vec::new();
        for (name, kind) in [(name.as_str(), "internal"), (device.as_str(), "system")] {
            let interface = transaction.insert("Interface", row(name).with("type", kind).with("mtu_request", MTU));
            ports.push(transaction.insert("Port", row(name).with("interfaces", interface)));
        }
        let bridge = row(&name).with("datapath_type", "netdev").with("ports", Value::set(ports));
        let bridge = transaction.insert("Bridge", bridge);
        let _one = transaction.mutate("Open_vSwitch", vec![], vec![Mutation::insert("bridges", bridge)]);
    }
    let next = transaction.bump_next_cfg();
    let reply = client.transact(&transaction).expect("the bridges are recorded");
    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(reply.next_cfg(next).expect("next_cfg"), PATIENCE);
    let failed = wait.select("Interface", vec![Condition::equal("ofport", -1)], &["name"]);
    let reply = client.transact(&wait).expect("the switch acts");
    assert!(reply.raw_rows(failed).expect("the interfaces").is_empty(), "every port works");
}

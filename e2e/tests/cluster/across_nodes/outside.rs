//! Hosts outside of the cluster on the nodes' second network, each in a VLAN. A switch of their own
//! sets their tags: the kernel may know no VLANs.

use crate::support::cluster::run;
use crate::support::station::Station;
use usnet_test_openvswitch::OpenVswitch;

/// The end of the switch's cable at the nodes' second network.
const PLUG: &str = "hosts";

/// The switch of these hosts.
pub(super) struct Outside {
    switch: OpenVswitch,
}

impl Outside {
    /// Plugs a switch in.
    pub(super) fn start() -> Self {
        let switch = OpenVswitch::start().unwrap();
        let namespace = switch.network_namespace();
        let namespace = namespace.to_str().unwrap();
        run("ip", &["link", "add", PLUG, "type", "veth", "peer", "name", "cable", "netns", namespace]);
        run("ip", &["link", "set", PLUG, "master", "fab1", "up"]);
        let outside = Self { switch };
        // Its kernel sees untagged frames on the cable as well, and must not count them.
        let strict = ["-qw", "net.ipv4.conf.all.rp_filter=1"];
        assert!(outside.switch.command("sysctl").args(strict).status().unwrap().success());
        outside.ip("link set cable up");
        outside.vsctl("add-br br0 -- set Bridge br0 datapath_type=netdev -- add-port br0 cable");
        outside
    }

    /// A host in a VLAN, or without one.
    pub(super) fn station(&self, name: &str, vlan: Option<u16>, address: &str, prefix: u8) -> Station {
        let tag = vlan.map_or(String::new(), |tag| format!(" tag={tag}"));
        self.vsctl(&format!("add-port br0 {name}{tag} -- set Interface {name} type=internal"));
        self.ip(&format!("addr add {address}/{prefix} brd + dev {name}"));
        self.ip(&format!("link set {name} up"));
        Station::outside(name, address, self.switch.network_namespace())
    }

    /// Sends pings from a host, and gives what was printed when one at least was answered.
    pub(super) fn ping(&self, from: &Station, to: &str, count: &str) -> Result<String, String> {
        let mut command = self.switch.command("busybox");
        let output = command.args(["ping", "-c", count, "-W", "2", "-I", &from.name, to]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(text) }
    }

    /// Unplugs a host.
    pub(super) fn remove(&self, station: &Station) {
        self.vsctl(&format!("del-port br0 {}", station.name));
    }

    fn vsctl(&self, arguments: &str) {
        self.switch.vsctl(&arguments.split(' ').collect::<Vec<_>>()).unwrap();
    }

    fn ip(&self, arguments: &str) {
        let output = self.switch.command("ip").args(arguments.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

//! The veth pair of a port, for those that are compared with the plugin.

use crate::host::namespaces;
use crate::host::node::Node;
use crate::host::programs::timed;
use std::process::Command;
use std::time::Duration;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::port::{DeviceName, PortBackend};
use usnet_dataplane::testing::{attachment, record_with};
use usnet_plugin::attachment::interface;
use usnet_plugin::protocol::result::Assignment;

/// A veth pair as the plugin creates it: tagged, up, and without checksum offload.
pub(crate) struct Device(Record);

impl Device {
    /// That of a port; `owner` tells those apart that are compared.
    pub(crate) fn new(node: &Node, owner: &str, number: usize) -> Self {
        let container = format!("{owner}{number}");
        let device = DeviceName::of(&attachment(&container));
        let record = record_with(&container, &node.network(), PortBackend::Device { device });
        Self(Record { network_namespace: namespaces::of_pod(number), ..record })
    }

    /// Its name on the node.
    pub(crate) fn name(&self) -> String {
        self.device().to_string()
    }

    fn device(&self) -> &DeviceName {
        self.0.port.backend.device().expect("it is a veth")
    }

    /// Creates both ends, by the plugin's functions.
    pub(crate) fn create(&self) {
        let mac = self.0.mac.parse().expect("a MAC address");
        interface::create(&self.0, self.device(), mac, &Assignment::default(), &[]).expect("the pair is created");
    }

    /// Removes both.
    pub(crate) fn remove(&self) {
        interface::remove(&self.0.id, self.device()).expect("the pair is removed");
    }
}

/// The same by hand, with `ip`, but for the checksum offload and the tag.
pub(crate) fn create_by_hand(name: &str, number: usize) -> Duration {
    let namespace = namespaces::of_pod(number).display().to_string();
    let created = ip(&["link", "add", name, "type", "veth", "peer", "name", "net1", "netns", &namespace]);
    let up = ip(&["link", "set", name, "up"]);
    let mut inside = Command::new("nsenter");
    inside.arg(format!("--net={namespace}")).args(["ip", "link", "set", "net1", "up"]);
    created + up + timed(&mut inside).0
}

/// Removes a pair by hand.
pub(crate) fn remove_by_hand(name: &str) -> Duration {
    ip(&["link", "del", name])
}

fn ip(arguments: &[&str]) -> Duration {
    timed(Command::new("ip").args(arguments)).0
}

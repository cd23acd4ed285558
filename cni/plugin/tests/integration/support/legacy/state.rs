//! The state of an attachment of Intel's userspace CNI: a port without a tag, a socket, and a state
//! file about both.

use super::{legacy, legacy_memif, legacy_vhost_user_server};
use crate::support::engine::TestEngine;
use crate::support::pod::Pod;
use crate::support::vpp::{add_memif, add_vhost_user};
use crate::support::{NETWORK, TestNode};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// An interface of a pod that the legacy plugin attached.
pub(crate) struct LegacyAttachment {
    pub(crate) pod: Pod,
    pub(crate) interface: &'static str,
    /// The configuration of DEL.
    pub(crate) configuration: Value,
    /// The name of the port in Open vSwitch, or of the socket in VPP.
    pub(crate) name: String,
    pub(crate) socket: PathBuf,
    pub(crate) state: PathBuf,
}

impl LegacyAttachment {
    /// Creates the interface with the node's engine, on the bridge of [`NETWORK`].
    pub(crate) fn new(node: &TestNode, pod: &Pod, interface: &'static str) -> Self {
        let short = &pod.container[..12];
        let (name, configuration) = match &node.engine {
            TestEngine::OpenVswitch(_) => (format!("{short}-{interface}"), legacy(node)),
            TestEngine::Vpp(_) => (format!("memif-{short}-{interface}.sock"), legacy_memif(node)),
        };
        let attachment = Self::prepare(node, pod, interface, name, configuration);
        attachment.create_port(node);
        attachment
    }

    /// Creates a vhost-user interface of VPP, like the fork of the legacy plugin.
    pub(crate) fn vhost_user_of_vpp(node: &TestNode, pod: &Pod, interface: &'static str) -> Self {
        let name = format!("{}-{interface}", &pod.container[..12]);
        let attachment = Self::prepare(node, pod, interface, name, legacy_vhost_user_server(node));
        add_vhost_user(node.vpp(), &attachment.socket, &node.bridge());
        attachment
    }

    /// Creates the files of the interface, without a port.
    fn prepare(node: &TestNode, pod: &Pod, interface: &'static str, name: String, configuration: Value) -> Self {
        let short = &pod.container[..12];
        let state = node.paths.legacy_root.join(format!("var/lib/cni/usrspcni/data/local-{short}-{interface}.json"));
        let (engine_folder, content) = match &node.engine {
            TestEngine::OpenVswitch(_) => {
                let content = json!({"vhostname": name, "vhostmac": "", "ifmac": "aa:bb:cc:dd:ee:ff"});
                ("usr/local/var/run/openvswitch", content)
            }
            // Another pod may have the index by now: here it is the index of VPP's own interface.
            TestEngine::Vpp(_) => ("var/run/vpp", json!({"swIfIndex": 0, "memifSocketId": 1})),
        };
        let folder = node.paths.legacy_root.join(engine_folder).join(short);
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(state.parent().unwrap()).unwrap();
        fs::write(&state, content.to_string()).unwrap();
        fs::write(folder.join(format!("configData-{short}-{interface}.json")), "{}").unwrap();
        let socket = folder.join(&name);
        Self { pod: pod.clone(), interface, configuration, name, socket, state }
    }

    fn create_port(&self, node: &TestNode) {
        let bridge = node.bridge();
        match &node.engine {
            TestEngine::OpenVswitch(switch) => {
                drop(UnixListener::bind(&self.socket).unwrap());
                let path = format!("options:vhost-server-path={}", self.socket.display());
                let kind = "type=dpdkvhostuserclient";
                let arguments = ["add-port", &bridge, &self.name, "--", "set", "Interface", &self.name, kind, &path];
                switch.vsctl(&arguments).unwrap();
            }
            TestEngine::Vpp(vpp) => add_memif(vpp, &self.socket, &bridge),
        }
    }

    pub(crate) fn del(&self, node: &TestNode) -> crate::support::output::Output {
        node.call("DEL", &self.pod, self.interface, &self.configuration)
    }

    /// Whether the engine has the port of the interface.
    pub(crate) fn has_port(&self, node: &TestNode) -> bool {
        match &node.engine {
            TestEngine::OpenVswitch(_) => node.ports(NETWORK).contains(&self.name),
            TestEngine::Vpp(_) => {
                node.engine.sockets(&node.bridge()).iter().any(|socket| Path::new(socket) == self.socket)
            }
        }
    }

    /// Asserts that nothing of the interface remains.
    #[track_caller]
    pub(crate) fn assert_gone(&self, node: &TestNode) {
        assert!(!self.has_port(node), "{}", self.name);
        assert!(!self.socket.exists() && !self.state.exists());
        node.engine.assert_no_leftovers();
    }
}

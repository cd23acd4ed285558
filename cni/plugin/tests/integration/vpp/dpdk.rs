//! A DPDK program in the pod connects with only the information of the description.

use crate::support::pod::Pod;
use crate::support::vpp::VppSnapshot;
use crate::support::wait::holds_within;
use crate::support::{NETWORK, TestNode, on_a_vpp_node, port_types};
use serde_json::Value;
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use usnet_crds::{MemifSecretKind, MemifSocketKind, Port, PortType};
use usnet_test_vpp::Kind;
use usnet_vpp::messages::IfStatusFlags;

const TESTPMD: &str = "/usr/bin/dpdk-testpmd";
const AMPLE: Duration = Duration::from_secs(30);

/// A program that is killed when it is dropped or when the test's thread ends.
struct Program(Child);

impl Program {
    /// Starts testpmd in the pod's network namespace with one device.
    fn start(node: &TestNode, device: &str) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "nsenter"]);
        command.arg(format!("--net={}", node.network_namespace().display())).arg(TESTPMD);
        let prefix = format!("usnet-{}", std::process::id());
        command.args(["--no-huge", "-m", "128", "--no-pci", "--no-telemetry", "--file-prefix", &prefix, "-l", "0,1"]);
        command.args(["--vdev", device, "--", "--total-num-mbufs=4096", "--forward-mode=rxonly"]);
        command.arg("--no-mlockall");
        let log = File::create("/run/testpmd.log").unwrap();
        let child = command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log).spawn();
        Self(child.expect("testpmd"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The device as DPDK names it, from the description alone.
fn device(pod: &Pod, described: &Value) -> String {
    let text = |key: &str| described[key].as_str().unwrap_or_default();
    let file = || pod.volume.join(text("socket")).display().to_string();
    if text("type") == "vhost-user" {
        let server = if text("role") == "server" { ",server=1" } else { "" };
        return format!("net_virtio_user0,path={},queue_size={}{server}", file(), described["ringSize"]);
    }
    let (socket, is_abstract) = if described["abstractSocket"].is_string() {
        (text("abstractSocket").to_owned(), "yes")
    } else {
        (file(), "no")
    };
    let ring = described["ringSize"].as_u64().unwrap().ilog2();
    let (role, id) = (text("role"), &described["id"]);
    let mut device =
        format!("net_memif0,role={role},id={id},socket={socket},socket-abstract={is_abstract},rsize={ring}");
    if let Some(secret) = described["secret"].as_str() {
        device.push_str(&format!(",secret={secret}"));
    }
    device
}

fn wait_for_link(node: &TestNode) {
    let name = node.ports(NETWORK).remove(0);
    let is_up = || VppSnapshot::of(node.vpp()).interface(&name).flags.contains(IfStatusFlags::LINK_UP);
    let log = || std::fs::read_to_string("/run/testpmd.log").unwrap_or_default();
    assert!(holds_within(AMPLE, is_up), "no link:\n{}", log());
}

/// Runs the test for a port; it is skipped without a real VPP and testpmd.
fn connects(port: Port) {
    if !std::path::Path::new(TESTPMD).exists() {
        eprintln!("SKIPPED: there is no {TESTPMD}; Debian's package dpdk-dev has it");
        return;
    }
    on_a_vpp_node(Kind::Real, move |node| {
        node.program_network_with(NETWORK, &port, None);
        let pod = node.pod("p");
        node.add(&pod, "net1").result();
        let has_description = port.port_type == PortType::VhostUser || port != port_types::memif_in_namespace();
        // Without a volume the program uses the interface's name, which its author knows.
        let unwritten =
            serde_json::json!({"type": "memif", "role": "client", "id": 0, "abstractSocket": "net1", "ringSize": 1024});
        let described = if has_description { pod.description("net1") } else { unwritten };
        let program = Program::start(node, &device(&pod, &described));
        wait_for_link(node);
        drop(program);
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    });
}

#[test]
fn vhost_user() {
    connects(port_types::vhost_user());
}

#[test]
fn vhost_user_of_vpp() {
    connects(port_types::vhost_user_server());
}

#[test]
fn memif_in_the_volume() {
    connects(port_types::memif_in_volume());
}

#[test]
fn memif_in_the_volume_with_a_secret() {
    connects(port_types::memif(MemifSocketKind::Volume, MemifSecretKind::Generated));
}

#[test]
fn memif_in_the_network_namespace() {
    connects(port_types::memif_in_namespace());
}

#[test]
fn memif_in_the_network_namespace_with_a_secret() {
    connects(port_types::memif(MemifSocketKind::Abstract, MemifSecretKind::Generated));
}

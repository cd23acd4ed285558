//! The node is isolated from its networks: devices of the node that belong to an engine drop
//! packets for the node.

use super::overlays::{ip, overlay, start, wait_until_programmed};
use super::testbed::OvsTestbed;
use super::uplinks::{fab, on_fab};
use crate::support::node::{SOON, network, until};
use crate::support::running_agent::RunningAgent;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::thread;
use std::time::Instant;
use usnet_crds::conditions::reason::DEVICE_MISSING;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{NodeNetwork, NodeTraffic, NodeUplink, Port, PortType};
use usnet_dataplane::isolation::TABLE;
use usnet_dataplane::nftables::{Batch, Nftables};
use usnet_dataplane::port::{DeviceName, PortBackend};

/// The chains of usnet in the node's network namespace: their names, and how many rules they have.
fn chains(testbed: &OvsTestbed) -> Vec<(String, u32)> {
    let read = |nftables: &mut Nftables| nftables.chains(TABLE).unwrap();
    let mut chains: Vec<_> = within(testbed, read).into_iter().map(|chain| (chain.name, chain.uses)).collect();
    chains.sort();
    chains
}

fn within<T: Send>(testbed: &OvsTestbed, act: impl FnOnce(&mut Nftables) -> T + Send) -> T {
    let namespace = File::open(testbed.ovs.network_namespace()).unwrap();
    let enter = || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        act(&mut Nftables::open().unwrap())
    };
    thread::scope(|scope| scope.spawn(enter).join().unwrap())
}

fn has(testbed: &OvsTestbed, chain: &str) -> Option<u32> {
    chains(testbed).into_iter().find(|(name, _)| name == chain).map(|(_, rules)| rules)
}

#[test]
fn devices_of_pods_and_overlays_are_isolated_again_at_once() {
    let (testbed, paths) = start();
    // This is how the previous version left it.
    ip(&testbed, "link add vhu1 up type veth peer name pod1");
    ip(&testbed, "link set vhu1 alias usnet:c1.net1");
    let agent = RunningAgent::start(&paths);
    until("the device of a pod is isolated", || has(&testbed, "vhu1"));
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2"])]);
    wait_until_programmed(&agent, "blue");
    let blue = "blue".parse().unwrap();
    let [port, inner] = [DeviceName::of_network(&blue), DeviceName::of_vxlan_end(&blue)].map(|name| name.to_string());
    let vxlan = DeviceName::of_vxlan(&blue).to_string();
    assert_eq!(has(&testbed, &port), Some(0), "everything is dropped");
    assert_eq!([&inner, &vxlan].map(|device| has(&testbed, device)), [Some(1); 2], "all frames are forwarded");
    assert_eq!(has(&testbed, "OVS.br-blue"), Some(0), "the bridge's own device");

    within(&testbed, |nftables| {
        let mut batch = Batch::default();
        batch.delete_table(TABLE);
        nftables.commit(batch).unwrap();
    });
    ip(&testbed, "link set vhu1 down");
    let since = Instant::now();
    for (chain, rules) in [("vhu1", 0), (&port, 0), (&inner, 1), (&vxlan, 1), ("OVS.br-blue", 0)] {
        until(chain, || (has(&testbed, chain) == Some(rules)).then_some(()));
    }
    until("the pod's device is up", || ip(&testbed, "-o link show dev vhu1").contains(",UP").then_some(()));
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());

    ip(&testbed, "link del vhu1");
    agent.set_spec(2, &[]);
    until("no chain is left", || chains(&testbed).is_empty().then_some(()));
}

fn shared() -> [NodeUplink; 1] {
    fab().map(|uplink| NodeUplink { node_traffic: NodeTraffic::Shared, ..uplink })
}

#[test]
fn a_nic_is_kept_from_the_node_while_an_engine_has_it_and_given_back_also_while_no_agent_runs() {
    let (testbed, paths) = super::uplinks::start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(7))], &fab());
    crate::support::uplinks::wait_until_programmed(&agent, "blue");
    assert_eq!(has(&testbed, "OVS.eth1"), Some(0), "everything is dropped");
    agent.set_spec_with_uplinks(2, &[], &[]);
    until("the NIC is given back", || has(&testbed, "OVS.eth1").is_none().then_some(()));

    agent.set_spec_with_uplinks(3, &[on_fab("blue", Some(7)), on_fab("red", Some(8))], &shared());
    until("frames of two VLANs are dropped", || has(&testbed, "OVS.eth1").filter(|rules| *rules == 2));
    crate::support::uplinks::wait_until_programmed(&agent, "red");
    drop(agent);
    assert_eq!(has(&testbed, "OVS.eth1"), Some(2));
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(4, &[], &[]);
    until("the NIC is given back", || has(&testbed, "OVS.eth1").is_none().then_some(()));
}

#[test]
fn a_pod_whose_device_is_gone_is_named_and_not_counted_as_connected() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    let blue = NodeNetwork { port: port_of_type(PortType::Veth), ..network("blue") };
    agent.set_spec(1, std::slice::from_ref(&blue));
    wait_until_programmed(&agent, "blue");
    let id = "c1.net1".parse().unwrap();
    let device = DeviceName::of(&id);
    ip(&testbed, &format!("link add {device} up type veth peer name pod1"));
    ip(&testbed, &format!("link set {device} alias usnet:{id}"));
    testbed.write(&testbed.record("c1", &blue, PortBackend::Device { device: device.clone() }));
    agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1 && entry.connected == 1);

    ip(&testbed, &format!("link del {device}"));
    let since = Instant::now();
    let entry = agent.wait_for_network("blue", "names the pod", |entry| !entry.degraded.is_empty());
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    assert_eq!((entry.degraded[0].reason.as_str(), entry.connected), (DEVICE_MISSING, 0));
    assert!(entry.degraded[0].message.contains(device.as_str()), "{:?}", entry.degraded);
    assert_eq!(entry.state, NetworkState::Programmed, "one pod does not hold up the others");
}

fn port_of_type(port_type: PortType) -> Port {
    Port { port_type, ..Port::default() }
}

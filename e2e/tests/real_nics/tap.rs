//! Ports of VPP in the kernel of a pod. Only machines have vhost_net, which VPP's taps need.

use crate::bed::{Bed, eventually, run};
use crate::pod::Pod;
use crate::report;
use crate::setup::{Driver, Engine, Setup};
use crate::traffic::{await_reachable, stream};
use serde_json::json;
use std::time::{Duration, Instant};
use usnet_e2e::engines::vpp_program::VppProgram;
use usnet_e2e::machines::machine::Machine;
use usnet_e2e::machines::model::NicModel;

/// Bytes of a TCP stream.
const STREAM: usize = 16 << 20;
/// Streams of each type, of which the fastest counts.
const STREAMS: usize = 3;
/// Within this time after VPP answers again, pods reach each other; a command in a busy machine may
/// take as long.
const BACK_WITHIN: Duration = Duration::from_secs(2);

/// A network of each type.
fn manifests() -> String {
    let network = |name: &str, port: &str| {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": name},
            "spec": {"engine": "VPP", "namespaceSelector": {}, "port": {"type": port}},
        })
    };
    [network("taps", "Tap"), network("veths", "Veth")].map(|it| it.to_string()).join("\n---\n")
}

/// Two pods of a network on one node.
fn pods<'a>(bed: &'a Bed, network: &str, number: u8) -> [Pod<'a>; 2] {
    let machine = &bed.pair.left;
    [1, 2].map(|host| {
        let ipv4 = format!("10.143.{number}.{host}").parse().unwrap();
        let ipv6 = format!("fd00:143:{number}::{host}").parse().unwrap();
        let pod = Pod { machine, name: format!("{network}-{host}"), ipv4, ipv6 };
        run(machine, &format!("/machine/node pod ADD {} {network} {}", pod.name, bed.program("userspace")));
        pod.configure("net1");
        pod
    })
}

/// The device of a pod: its index, MAC address and addresses. The kernel does not know the state of
/// one that was without a carrier.
fn device(pod: &Pod<'_>) -> String {
    run(pod.machine, &format!("ip -n {} addr show dev net1 | sed 's/ state [A-Z]*//'", pod.name))
}

#[test]
fn taps_are_faster_than_veth_pairs_and_are_back_with_their_addresses() {
    let setup = Setup::new(Engine::Vpp, Driver::AfPacket, NicModel::E1000e);
    let Some(bed) = Bed::start(setup) else { return };
    bed.start_agents();
    let machine = &bed.pair.left;
    run(machine, "modprobe vhost_net");
    Bed::apply(machine, &manifests());
    Bed::await_networks(machine);
    let [taps, veths] = [("taps", 1), ("veths", 2)].map(|(network, number)| pods(&bed, network, number));
    let fastest = |pods: &[Pod<'_>; 2]| {
        await_reachable(&pods[0], pods[1].ipv4);
        await_reachable(&pods[0], pods[1].ipv6);
        (0..STREAMS).map(|_| stream(&pods[0], &pods[1], STREAM).seconds).min_by(f64::total_cmp).unwrap()
    };
    let (tap, veth) = (fastest(&taps), fastest(&veths));
    let before = device(&taps[1]);
    let back = restart(machine, &taps);
    assert_eq!(device(&taps[1]), before);
    report::row(
        "TCP, 16 MiB between two pods of a node with VPP",
        &["Tap", "Veth", "times as fast", "VPP killed: back after it answers"],
        vec![
            format!("{tap:.2} s"),
            format!("{veth:.2} s"),
            format!("{:.1}", veth / tap),
            format!("{:.1} s", back.as_secs_f32()),
        ],
    );
    assert!(tap < veth, "{tap} {veth}");
    assert!(back < BACK_WITHIN, "{back:?}");
}

/// Kills VPP and starts it; the time from when it answers until pods reach each other.
fn restart(machine: &Machine, pods: &[Pod<'_>; 2]) -> Duration {
    let VppProgram::Real(program) = VppProgram::find() else { panic!("there is a VPP") };
    run(machine, "kill -9 $(cat /run/vpp.pid)");
    run(machine, "rm -f /run/vpp/api.sock");
    run(machine, &format!("/machine/node vpp {} /machine/vpp.conf", program.display()));
    let begun = Instant::now();
    eventually("the pods reach each other again", || {
        let ping = pods[0].command(&format!("busybox ping -c 1 -W 1 {}", pods[1].ipv4));
        machine.run(&ping).map(drop).map_err(|error| error.to_string())
    });
    begun.elapsed()
}

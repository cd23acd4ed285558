//! Each type of port of each engine: no packets before, all packets after, and nothing left.

use super::{HotPlug, await_gone, element, ports, remains, tools_pod};
use crate::support::pods::{in_pod, pod_without_volume, start, uid};
use crate::support::scene::wait_ready;
use crate::support::tools::ask;
use crate::support::vpp;
use serde_json::{Value, json};

/// Echo requests that are sent, and replies that are expected.
const PACKETS: u64 = 20;
const PEER: &str = "10.71.0.10";

fn spec(engine: &str, port: &str) -> Value {
    json!({"engine": engine, "port": {"type": port}})
}

/// How many echo requests were answered that a pod sent on that interface.
fn answered(plug: &HotPlug, interface: &str) -> Result<u64, String> {
    let count = PACKETS.to_string();
    let command = ["--interface", interface, "ping", PEER, "--count", &count, "--interval=10"];
    let answer = ask(&plug.scene, "hot", &command)?;
    answer["received"].as_u64().ok_or_else(|| answer.to_string())
}

#[test]
fn sockets_are_plugged_and_unplugged() {
    let Some(plug) = HotPlug::new("plug") else { return };
    let scene = &plug.scene;
    scene.network("plug-base", &json!({}));
    let types = [("OVS", "VhostUser"), ("VPP", "Memif"), ("VPP", "VhostUser")];
    let network = |(engine, port): (&str, &str)| format!("plug-{engine}-{port}").to_lowercase();
    types.iter().for_each(|&(engine, port)| scene.apply_network(&network((engine, port)), &spec(engine, port)));
    start(scene, &tools_pod(scene, "hot", &[element("plug-base", "net1")]));
    for (engine, port) in types {
        let network = network((engine, port));
        wait_ready(&network);
        let mut at_peer = element(&network, "net1");
        at_peer["ips"] = json!([format!("{PEER}/24")]);
        start(scene, &tools_pod(scene, "peer", &[at_peer]));
        let has_packets =
            engine == "OVS" || vpp::moves_packets(&format!("packets of a {port} port that was hot-plugged"));
        assert_eq!(ports(engine, &network), 1);
        let refused = answered(&plug, "net7").unwrap_err();
        assert!(refused.contains("net7"), "{refused}");

        let mut plugged = element(&network, "net7");
        plugged["ips"] = json!(["10.71.0.7/24"]);
        plugged["mac"] = json!("02:71:00:00:00:07");
        plug.select("hot", &[element("plug-base", "net1"), plugged]);
        let status = plug.await_status("hot", &["net1", "net7"]);
        let observed = status.iter().find(|entry| entry["interface"] == "net7").unwrap();
        assert_eq!((&observed["mac"], &observed["ips"]), (&json!("02:71:00:00:00:07"), &json!(["10.71.0.7"])));
        assert_eq!(ports(engine, &network), 2);
        assert!(remains(&uid(scene, "hot"), "net7").contains("net7.json"));
        if has_packets {
            assert_eq!(answered(&plug, "net7"), Ok(PACKETS));
            println!(
                "{engine} {port}: 0 packets before, {PACKETS} of {PACKETS} answered after hot plug by {}",
                plug.controller.name()
            );
        }

        plug.select("hot", &[element("plug-base", "net1")]);
        plug.await_status("hot", &["net1"]);
        await_gone(scene, "hot", "net7");
        assert_eq!(ports(engine, &network), 1);
        scene.delete_pod("peer");
    }
}

#[test]
fn interfaces_of_the_kernel_are_plugged_and_unplugged() {
    let Some(plug) = HotPlug::new("plugveth") else { return };
    let scene = &plug.scene;
    for engine in ["OVS", "VPP"] {
        scene.apply_network(&format!("plugveth-{engine}").to_lowercase(), &spec(engine, "Veth"));
    }
    start(scene, &pod_without_volume(scene, "hot", ""));
    for engine in ["OVS", "VPP"] {
        let network = format!("plugveth-{engine}").to_lowercase();
        wait_ready(&network);
        let at = |interface: &str, address: &str| json!({"name": network, "interface": interface, "ips": [format!("{address}/24")]});
        start(scene, &pod_without_volume(scene, "peer", &json!([at("net1", PEER)]).to_string()));
        assert!(!in_pod(scene, "hot", "busybox ip -o link").contains("net7"));
        plug.select("hot", &[at("net7", "10.71.0.7")]);
        plug.await_status("hot", &["net7"]);
        assert!(in_pod(scene, "hot", "busybox ip addr show dev net7").contains("10.71.0.7/24"));
        if engine == "OVS" || vpp::moves_packets("packets of a Veth port that was hot-plugged") {
            let answered = in_pod(scene, "hot", &format!("busybox ping -c 20 -i 0.05 -W 5 -I net7 {PEER}"));
            assert!(answered.contains("20 packets received"), "{answered}");
            println!("{engine} Veth: no device before, 20 of 20 answered after hot plug by {}", plug.controller.name());
        }
        assert_eq!(ports(engine, &network), 2);
        plug.select("hot", &[]);
        plug.await_status("hot", &[]);
        await_gone(scene, "hot", "net7");
        assert!(!in_pod(scene, "hot", "busybox ip -o link").contains("net7"));
        assert_eq!(ports(engine, &network), 1);
        scene.delete_pod("peer");
    }
}

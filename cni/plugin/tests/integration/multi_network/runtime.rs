//! Networks selected by a pod's annotation, with the specification's own library as the runtime and
//! CNI's `ptp` as the first plugin.

use crate::support::cnitool::Cnitool;
use crate::support::ipam::{host_local, reserved_ips};
use crate::support::{NETWORK, ip, on_a_node};
use serde_json::{Value, json};

fn configure(cnitool: &Cnitool<'_>, version: &str) {
    let ipam = json!({"type": "host-local", "dataDir": "/run/of-eth0", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]});
    let own = json!({"type": "userspace", "networks": "FromPodAnnotations", "capabilities": {"io.kubernetes.cri.pod-annotations": true}});
    cnitool.configure(&json!({"cniVersion": version, "name": "pods", "plugins": [{"type": "ptp", "ipam": ipam}, own]}));
}

#[test]
fn a_list_of_plugins_behind_ptp_in_every_version() {
    on_a_node(|node| {
        let (Some(ipam), Some(cnitool)) = (host_local(), Cnitool::new(node, "pods", "eth0")) else { return };
        let call = |verb: &str, annotations: &Value| {
            cnitool.call(verb, Some(&json!({"io.kubernetes.cri.pod-annotations": annotations})))
        };
        node.program_network(NETWORK, Some(ipam));
        node.program_network("plain", None);
        let annotations = json!({"usnet.dev/networks": "blue,blue@data"});
        for version in ["0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
            configure(&cnitool, version);
            let result: Value = serde_json::from_str(&call("add", &annotations).unwrap()).unwrap();
            let addresses = result["ips"].as_array().unwrap();
            assert_eq!(addresses.len(), 3, "{result}");
            for (address, name) in addresses.iter().zip(["eth0", "net1", "data"]) {
                let interface = usize::try_from(address["interface"].as_u64().unwrap()).unwrap();
                assert_eq!(result["interfaces"][interface]["name"], name, "{result}");
            }
            assert!(ip(&["-n", "p", "route"]).contains("default via 10.244.0.1 dev eth0"));
            if version != "0.3.1" {
                // ptp assumes that every address of the result is its own, whichever plugin added
                // it.
                assert!(call("check", &annotations).unwrap_err().contains("Failed to match addr 10.56.0."));
            }
            assert_eq!(call("status", &annotations).as_deref(), Ok(""));
            assert_eq!(node.ports(NETWORK).len(), 2);
            call("del", &json!(null)).unwrap();
            assert_eq!(node.ports(NETWORK).len(), 0);
            let rejected = call("add", &json!({"usnet.dev/networks": "blue,nowhere"})).unwrap_err();
            assert!(rejected.contains("element 2 (nowhere as net2) of annotation usnet.dev/networks"), "{rejected}");
            call("del", &json!(null)).unwrap();
            assert_eq!(reserved_ips(NETWORK), [""; 0]);
            let without_addresses = json!({"usnet.dev/networks": "plain"});
            call("add", &without_addresses).unwrap();
            if version != "0.3.1" {
                assert_eq!(call("check", &without_addresses).as_deref(), Ok(""));
            }
            call("del", &json!(null)).unwrap();
        }
        node.assert_clean();
    });
}

//! The same with the specification's own library, and CNI's `ptp` as the first plugin.

use crate::support::{NETWORK, TestNode, ip, on_a_node, plugin_path, tools};
use nix::mount::{MsFlags, mount};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

const CONFIGURATIONS: &str = "/run/net.d";
const PLUGINS: &str = "/run/plugins";

fn cnitool(node: &TestNode, verb: &str, annotations: &Value) -> Result<String, String> {
    let mut command = Command::new(tools().unwrap().join("cnitool"));
    command.args([verb, "pods"]).arg(node.network_namespace());
    let arguments = node.pod("p").arguments();
    // It rejects a repeated key.
    let (once, _) = arguments.split_at(arguments.len() / 2);
    command.env("NETCONFPATH", CONFIGURATIONS).env("CNI_ARGS", once).env("CNI_IFNAME", "eth0");
    command.env("CNI_PATH", format!("{PLUGINS}:{}", plugin_path().display()));
    command.env("CAP_ARGS", json!({"io.kubernetes.cri.pod-annotations": annotations}).to_string());
    command.env("USNET_RUN_DIR", &node.roots.run).env("USNET_STATE_DIR", &node.roots.state);
    let output = command.env("USNET_KUBELET_DIR", &node.roots.kubelet).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stdout) + &text(&output.stderr)) }
}

fn configure(version: &str) {
    let ipam = json!({"type": "host-local", "dataDir": "/run/of-eth0", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]});
    let own = json!({"type": "userspace", "networks": "FromPodAnnotations", "capabilities": {"io.kubernetes.cri.pod-annotations": true}});
    let list = json!({"cniVersion": version, "name": "pods", "plugins": [{"type": "ptp", "ipam": ipam}, own]});
    fs::write(format!("{CONFIGURATIONS}/1.conflist"), list.to_string()).unwrap();
}

#[test]
fn a_list_of_plugins_behind_ptp_in_every_version() {
    if tools().is_none() {
        eprintln!("SKIPPED: no cnitool in USNET_TOOLS or ~/.cache/usnet/tools; `make test` builds it");
        return;
    }
    on_a_node(|node| {
        mount(None::<&str>, "/var/lib", Some("tmpfs"), MsFlags::empty(), Some("mode=755")).unwrap();
        fs::create_dir_all(CONFIGURATIONS).unwrap();
        fs::create_dir_all(PLUGINS).unwrap();
        symlink(env!("CARGO_BIN_EXE_userspace"), format!("{PLUGINS}/userspace")).unwrap();
        let ipam = json!({"type": "host-local", "dataDir": "/run/addresses", "ranges": [[{"subnet": "10.56.0.0/24"}]]});
        node.program_network(NETWORK, Some(ipam));
        node.program_network("plain", None);
        let annotations = json!({"usnet.dev/networks": "blue,blue@data"});
        for version in ["0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
            configure(version);
            let result: Value = serde_json::from_str(&cnitool(node, "add", &annotations).unwrap()).unwrap();
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
                assert!(cnitool(node, "check", &annotations).unwrap_err().contains("Failed to match addr 10.56.0."));
            }
            assert_eq!(cnitool(node, "status", &annotations).as_deref(), Ok(""));
            assert_eq!(node.ports(NETWORK).len(), 2);
            cnitool(node, "del", &json!(null)).unwrap();
            assert_eq!(node.ports(NETWORK).len(), 0);
            let rejected = cnitool(node, "add", &json!({"usnet.dev/networks": "blue,nowhere"})).unwrap_err();
            assert!(rejected.contains("element 2 (nowhere as net2) of annotation usnet.dev/networks"), "{rejected}");
            cnitool(node, "del", &json!(null)).unwrap();
            assert_eq!(reserved_ips(), 0);
            let without_addresses = json!({"usnet.dev/networks": "plain"});
            cnitool(node, "add", &without_addresses).unwrap();
            if version != "0.3.1" {
                assert_eq!(cnitool(node, "check", &without_addresses).as_deref(), Ok(""));
            }
            cnitool(node, "del", &json!(null)).unwrap();
        }
        node.assert_clean();
    });
}

/// The addresses that host-local holds for the network.
fn reserved_ips() -> usize {
    let files = fs::read_dir("/run/addresses/blue").unwrap().map(|file| file.unwrap().file_name());
    files.filter(|name| name.to_string_lossy().starts_with("10.")).count()
}

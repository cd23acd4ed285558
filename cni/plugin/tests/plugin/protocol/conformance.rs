//! The specification's rules for each verb and version, tested with its own library: cnitool is a
//! minimal runtime.

use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, on_a_node, plugin_path, tools};
use nix::mount::{MsFlags, mount};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use usnet_plugin::protocol::version::SpecVersion;

const CONFIGURATIONS: &str = "/run/net.d";
const PLUGINS: &str = "/run/plugins";

/// A runtime with one network.
struct Runtime<'a> {
    node: &'a TestNode,
    pod: Pod,
    cases: usize,
}

impl<'a> Runtime<'a> {
    fn new(node: &'a TestNode) -> Self {
        // libcni stores results there.
        mount(Some("tmpfs"), "/var/lib", Some("tmpfs"), MsFlags::empty(), Some("mode=755")).unwrap();
        fs::create_dir_all(CONFIGURATIONS).unwrap();
        fs::create_dir_all(PLUGINS).unwrap();
        symlink(env!("CARGO_BIN_EXE_userspace"), format!("{PLUGINS}/userspace")).unwrap();
        Self { node, pod: node.pod("p"), cases: 0 }
    }

    fn configure(&self, version: SpecVersion, before: Option<&str>) {
        let own = json!({"type": "userspace", "network": NETWORK});
        let plugins: Vec<Value> = before.map(|plugin| json!({"type": plugin})).into_iter().chain([own]).collect();
        let list = json!({"cniVersion": version.as_str(), "name": NETWORK, "plugins": plugins});
        fs::write(format!("{CONFIGURATIONS}/1.conflist"), list.to_string()).unwrap();
    }

    /// Standard output of cnitool, or all of its output on failure.
    fn call(&mut self, verb: &str) -> Result<String, String> {
        self.cases += 1;
        let mut command = Command::new(tools().unwrap().join("cnitool"));
        command.args([verb, NETWORK]).arg(self.node.network_namespace());
        let path = format!("{PLUGINS}:{}", plugin_path().display());
        let arguments = self.pod.arguments();
        // cnitool names the sandbox itself, and rejects a repeated key.
        let (once, _) = arguments.split_at(arguments.len() / 2);
        command.env("NETCONFPATH", CONFIGURATIONS).env("CNI_PATH", path).env("CNI_ARGS", once);
        command.env("CNI_IFNAME", "net1");
        command.env("USNET_RUN_DIR", &self.node.roots.run).env("USNET_STATE_DIR", &self.node.roots.state);
        let output = command.env("USNET_KUBELET_DIR", &self.node.roots.kubelet).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let reported = format!("{}{}", text(&output.stdout), text(&output.stderr));
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(reported) }
    }

    fn add(&mut self) -> Value {
        serde_json::from_str(&self.call("add").unwrap()).unwrap()
    }

    fn attached(&self) -> usize {
        self.node.ports(NETWORK).len()
    }
}

/// The keys of a result that do not depend on the plugin.
fn assert_result(result: &Value, version: SpecVersion, position: usize) {
    assert_eq!(result["cniVersion"], version.as_str());
    if version < SpecVersion::V0_3_0 {
        assert!(result["ip4"]["ip"].as_str().unwrap().starts_with("10.56.0."), "{result}");
        return;
    }
    let interface = &result["interfaces"][position];
    assert_eq!((&interface["name"], &interface["sandbox"]), (&json!("net1"), &json!("/run/netns/p")), "{result}");
    let has_socket = interface["socketPath"].as_str().is_some_and(|path| path.ends_with("/net1.sock"));
    assert_eq!(has_socket, version >= SpecVersion::V1_1_0, "{result}");
    let address = result["ips"].as_array().unwrap().iter().find(|address| address["interface"] == position).unwrap();
    assert!(address["address"].as_str().unwrap().starts_with("10.56.0."), "{result}");
    assert_eq!(address.get("version").is_some(), version < SpecVersion::V1_0_0, "{result}");
}

#[test]
fn every_verb_in_every_version_through_the_specifications_own_library() {
    if tools().is_none() {
        eprintln!("SKIPPED: no cnitool in USNET_TOOLS or ~/.cache/usnet/tools; `make test` builds it");
        return;
    }
    on_a_node(|node| {
        let ipam = json!({"type": "host-local", "dataDir": "/run/addresses", "ranges": [[{"subnet": "10.56.0.0/24"}]]});
        node.program_network(NETWORK, Some(ipam));
        let mut runtime = Runtime::new(node);
        for version in SpecVersion::ALL {
            run_lifecycle(&mut runtime, version);
            in_a_chain(&mut runtime, version);
        }
        println!("{} calls", runtime.cases);
        node.assert_clean();
    });
}

/// The lifecycle of an attachment, with all calls that may be repeated or have no effect.
fn run_lifecycle(runtime: &mut Runtime<'_>, version: SpecVersion) {
    runtime.configure(version, None);
    runtime.call("del").unwrap();
    let first = runtime.add();
    assert_result(&first, version, 0);
    assert_eq!(runtime.add(), first);
    assert_eq!(runtime.attached(), 1);
    match (runtime.call("check"), version) {
        (Err(rejected), version) if version < SpecVersion::V0_4_0 => assert!(rejected.contains("CHECK"), "{rejected}"),
        (checked, _) => assert_eq!(checked.as_deref(), Ok("")),
    }
    assert_eq!(runtime.call("status").as_deref(), Ok(""));
    runtime.call("del").unwrap();
    assert_eq!(runtime.attached(), 0);
    runtime.call("del").unwrap();
    runtime.add();
    // cnitool passes no valid attachments, and libcni deletes all that it has in its cache.
    runtime.call("gc").unwrap();
    assert_eq!(runtime.attached(), 0);
}

fn in_a_chain(runtime: &mut Runtime<'_>, version: SpecVersion) {
    // Before, there were neither lists of plugins nor interfaces in results.
    if version < SpecVersion::V0_3_0 {
        return;
    }
    runtime.configure(version, Some("loopback"));
    let result = runtime.add();
    assert_eq!(result["interfaces"][0]["name"], "lo", "{result}");
    assert_result(&result, version, 1);
    if version >= SpecVersion::V0_4_0 {
        assert_eq!(runtime.call("check").as_deref(), Ok(""));
    }
    runtime.call("del").unwrap();
    assert_eq!(runtime.attached(), 0);
}

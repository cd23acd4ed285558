//! Malformed calls of the plugin: whatever a runtime, a NetworkAttachmentDefinition or a pod's
//! annotation says, each call is answered, and no answer is a defect (code 999).
//!
//! See the crate `usnet-test-fuzz` for the long form.

use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use usnet_plugin::protocol::configuration::Configuration;
use usnet_plugin::protocol::environment::{COMMAND, Environment};
use usnet_plugin::protocol::network_selection::annotation::NetworkSelection;
use usnet_plugin::protocol::version::SpecVersion;
use usnet_plugin::verbs::add::AddRequest;
use usnet_test_fuzz::{Corpus, FuzzRun, Input, Parsed, Random};

/// The number of inputs for the parsers, which take a second.
const PARSED: u64 = 20_000;
/// The number of calls of the program, which take a few seconds.
const CALLS: u64 = 200;
const DEFECT: u64 = 999;
const VARIABLES: [&str; 5] = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH"];
const VERBS: [&str; 6] = ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"];

/// A call: variables and standard input.
struct Call {
    verb: &'static str,
    variables: Vec<(&'static str, String)>,
    input: Vec<u8>,
}

impl Input for Call {
    fn bytes(&self) -> &[u8] {
        &self.input
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The harness prints standard input; the variables are the other half of the input.
            eprintln!("{} {:?}", self.verb, self.variables);
        }
    }
}

fn corpus() -> Corpus {
    Corpus::new([
        json!({"cniVersion": "1.1.0", "name": "blue", "type": "userspace", "network": "blue"}),
        json!({
            "cniVersion": "1.0.0", "name": "blue", "type": "userspace", "network": "blue",
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]},
            "runtimeConfig": {
                "mac": "02:00:00:00:00:01", "ips": ["10.1.0.9/16", "fd00::9"], "deviceID": "usnet-3",
                "bandwidth": {"ingressRate": 8000, "ingressBurst": 800, "egressRate": 8000, "egressBurst": 800},
                "CNIDeviceInfoFile": "/run/info", "portMappings": [],
            },
            "args": {"cni": {"mac": "02:00:00:00:00:01", "ips": ["10.1.0.9"], "default-route": ["10.1.0.1"]}},
            "prevResult": {
                "cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "/run/netns/a", "mac": "02:00:00:00:00:02"}],
                "ips": [{"address": "10.0.0.2/24", "gateway": "10.0.0.1", "interface": 0}], "routes": [], "dns": {},
            },
            "cni.dev/valid-attachments": [{"containerID": "c1", "ifname": "net1"}],
            "cni.dev/attachments": [{"containerID": "c1", "ifname": "net1"}],
        }),
        json!({
            "cniVersion": "0.3.1", "type": "userspace", "name": "older", "sharedDir": "/run/older", "logLevel": "debug",
            "host": {
                "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge",
                "vhost": {"mode": "client"}, "bridge": {"bridgeName": "br-4", "vlanId": 7},
            },
            "container": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
        }),
        json!({
            "cniVersion": "0.4.0", "type": "userspace", "name": "older",
            "host": {"engine": "vpp", "iftype": "memif", "memif": {"role": "master", "mode": "ethernet"}, "bridge": {"bridgeId": 4}},
            "container": {"engine": "vpp", "iftype": "memif", "memif": {"role": "slave", "mode": "ethernet"}},
        }),
        json!({
            "cniVersion": "1.1.0", "name": "pods", "type": "userspace", "capabilities": {"io.kubernetes.cri.pod-annotations": true},
            "runtimeConfig": {"io.kubernetes.cri.pod-annotations": {
                "usnet.dev/networks": "blue, green@net7,default/red",
                "k8s.v1.cni.cncf.io/networks": "[{\"name\":\"blue\",\"interface\":\"net1\",\"mac\":\"02:00:00:00:00:01\",\"ips\":[\"10.0.0.1\"]}]",
            }},
        }),
    ])
}

fn call(corpus: &Corpus, random: &mut Random) -> Call {
    let pod =
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=p;K8S_POD_UID=8c28aca7-0000-4000-8000-0000272b5e3d";
    let valid = ["c1", "/run/netns/none", "net1", pod, "/nowhere"];
    let verb = random.pick(&VERBS);
    let variables = VARIABLES.into_iter().zip(valid).filter_map(|(name, valid)| match random.below(24) {
        0 => None,
        1 => Some((name, corpus.word(random).replace('\0', ""))),
        2 => Some((name, format!("{valid};{}={}", corpus.word(random), corpus.word(random)).replace('\0', ""))),
        _ => Some((name, valid.to_owned())),
    });
    let variables = variables.collect();
    Call { verb, variables, input: corpus.input(random) }
}

/// Parses everything that the plugin parses before it does anything.
fn parse(call: &Call) -> Parsed {
    let find =
        |name: &str| call.variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into());
    let environment = Environment::new(|name| if name == COMMAND { Some(call.verb.into()) } else { find(name) });
    let _verb = environment.verb();
    let _folders = environment.plugin_folders();
    let Ok(configuration) = Configuration::parse(&call.input) else { return Parsed::Rejected };
    let _listed = configuration.valid_attachments();
    let _selected = NetworkSelection::read(&configuration, &Default::default());
    let request = AddRequest::parse(&environment, &configuration);
    if let Err(error) = &request {
        let reply = json!(error.reply(SpecVersion::LATEST));
        assert_ne!(reply.get("code"), Some(&json!(DEFECT)), "{reply}");
    }
    Parsed::from(&request)
}

#[test]
fn malformed_configurations_are_parsed_or_rejected_with_a_code() {
    let corpus = corpus();
    FuzzRun::new("plugin: environment and configuration", PARSED).run(|random| call(&corpus, random), parse);
}

/// The answer of the program on a node without networks and engines.
fn answer(node: &Path, call: &Call) -> Output {
    let root = |name: &str| node.join(name).into_os_string();
    let roots = ["RUN", "STATE", "KUBELET", "DEVICE_INFO"].map(|name| (format!("USNET_{name}_DIR"), root(name)));
    let rest = [
        ("USNET_OLDER_PLUGIN_ROOT", root("older")),
        ("USNET_OVS_SOCKET", root("ovs")),
        ("USNET_VPP_SOCKET", root("vpp")),
    ];
    let mut program = Command::new(env!("CARGO_BIN_EXE_userspace"));
    program.env_clear().envs(roots).envs(rest).env(COMMAND, call.verb);
    program.envs(call.variables.iter().map(|(name, value)| (name, OsString::from(value))));
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    // A call that is rejected by its environment ends before it reads.
    let _closed = child.stdin.take().unwrap().write_all(&call.input);
    child.wait_with_output().unwrap()
}

#[test]
fn malformed_calls_are_answered() {
    let corpus = corpus();
    let node = tempfile::tempdir().unwrap();
    FuzzRun::new("plugin: calls", CALLS).run(
        |random| call(&corpus, random),
        |call| {
            let output = answer(node.path(), call);
            let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {}", output.status));
            if code == 0 {
                return Parsed::Accepted;
            }
            let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
            let number = reply.get("code").and_then(Value::as_u64).unwrap_or_else(|| panic!("no code in {reply}"));
            assert!(number > 0 && number != DEFECT, "{reply}");
            assert!(reply.get("msg").and_then(Value::as_str).is_some_and(|text| !text.is_empty()), "{reply}");
            Parsed::Rejected
        },
    );
}

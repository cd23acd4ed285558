//! Malformed manifests: networks, and NetworkAttachmentDefinitions of usnet and of Intel's
//! userspace CNI. Each is accepted, or rejected with a message.
//!
//! See the crate `usnet-test-fuzz` for the long form.

use serde_json::{Value, json};
use usnet_crds::legacy::parse_nad_config;
use usnet_crds::{UserspaceNetwork, validate};
use usnet_test_fuzz::{Corpus, FuzzRun, Parsed};

/// About a second of inputs.
const INPUTS: u64 = 10_000;

/// The networks of the table that tests the API server's rules, both the accepted and the refused.
fn networks() -> Corpus {
    let cases: Vec<Value> = serde_yaml::from_str(include_str!("../../testdata/networks.yaml")).unwrap();
    let network = |case: &Value| {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork",
            "metadata": {"name": case.get("name").cloned().unwrap_or_else(|| json!("blue"))},
            "spec": case.get("spec"),
        })
    };
    Corpus::new(cases.iter().map(network))
}

#[test]
fn malformed_networks_are_accepted_or_rejected_with_a_message() {
    let corpus = networks();
    FuzzRun::new("networks", INPUTS).run(
        |random| corpus.input(random),
        |input| {
            let Ok(network) = serde_json::from_slice::<UserspaceNetwork>(input) else { return Parsed::Rejected };
            let result = validate::validate(&network);
            match &result {
                Err(invalid) => assert!(!invalid.to_string().is_empty()),
                // What is accepted for one spec is accepted each time it is evaluated.
                Ok(valid) => assert_eq!(validate::validate(&network).as_ref().ok(), Some(valid)),
            }
            Parsed::from(&result)
        },
    );
}

/// Configurations as in a NetworkAttachmentDefinition.
fn definitions() -> Corpus {
    let older = json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "older", "sharedDir": "/run/older",
        "host": {
            "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge",
            "vhost": {"mode": "client"}, "bridge": {"bridgeName": "br-4", "vlanId": 7},
        },
        "container": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
        "ipam": {"type": "host-local", "subnet": "10.56.217.0/24", "routes": [{"dst": "0.0.0.0/0"}]},
    });
    let memif = json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "older",
        "host": {"engine": "vpp", "iftype": "memif", "memif": {"role": "master", "mode": "ethernet"}, "bridge": {"bridgeId": 4}},
        "container": {"engine": "vpp", "iftype": "memif", "memif": {"role": "slave", "mode": "ethernet"}},
    });
    let list = json!({"cniVersion": "1.1.0", "name": "list", "plugins": [older, {"type": "tuning"}]});
    let network = json!({"cniVersion": "1.1.0", "name": "blue", "type": "userspace", "network": "blue"});
    Corpus::new([older, memif, list, network])
}

#[test]
fn malformed_definitions_are_accepted_or_rejected_with_a_message() {
    let corpus = definitions();
    FuzzRun::new("NetworkAttachmentDefinitions", INPUTS).run(
        |random| corpus.input(random),
        |input| {
            let result = parse_nad_config(&String::from_utf8_lossy(input));
            if let Err(invalid) = &result {
                assert!(!invalid.to_string().is_empty());
            }
            Parsed::from(&result)
        },
    );
}

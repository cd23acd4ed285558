//! The nineteen defects of Intel's userspace CNI that were found by reading and running it. For
//! each there is a test that usnet does not have it.

use crate::support::engine::on_each_engine;
use crate::support::legacy::{legacy, legacy_memif, legacy_vhost_user_server, port_types_of, program};
use crate::support::{NETWORK, TestNode, port_types, with_result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The number by which other tests name it, the defect, and the tests for it: `module::test` of
/// this program, or the file of another one.
type Defect = (&'static str, &'static str, &'static [&'static str]);

/// The defects in the order in which they were found.
const DEFECTS: [Defect; 19] = [
    (
        "D1",
        "it crashes at the 21st memif socket of a node",
        &["legacy::defects::more_than_twenty_memif_sockets_are_no_limit"],
    ),
    (
        "D2",
        "concurrent ADDs choose the same memif socket id",
        &["faults::concurrent::pods_that_start_and_stop_concurrently_do_not_interfere"],
    ),
    (
        "D3",
        "a VPP bridge that is named by bridgeName is never deleted (here by the operator)",
        &["legacy::defects::a_bridge_is_kept_when_its_last_port_is_removed", "e2e/tests/cluster/legacy/nads.rs"],
    ),
    (
        "D4",
        "its state is deleted before it is used: a DEL that fails once never succeeds again",
        &[
            "legacy::state::an_unreachable_engine_keeps_the_file_and_the_next_del_removes_all",
            "faults::failures::without_its_engine_del_succeeds_and_leaves_the_port_to_the_agent",
        ],
    ),
    (
        "D5",
        "DEL of net1 deletes files of net10",
        &["legacy::handoff::sockets_and_files_have_legacy_names_and_are_removed_per_interface"],
    ),
    (
        "D6",
        "any error deletes the bridge, and so does removing the last port of a foreign bridge",
        &[
            "legacy::defects::a_bridge_is_kept_when_its_last_port_is_removed",
            "legacy::state::ports_and_files_are_removed_one_by_one_and_nothing_else_is",
        ],
    ),
    (
        "D7",
        "an error is mistaken for an absent bridge, and the bridge is added",
        &[
            "legacy::configurations::add_waits_for_a_network_with_the_bridge_and_names_the_bridge",
            "faults::failures::without_its_engine_add_fails_soon_and_leaves_nothing",
        ],
    ),
    (
        "D8",
        "ADD fails when the pod is modified concurrently (here the agent writes the annotation)",
        &[
            "legacy::configurations::no_path_of_the_configuration_is_opened",
            "operator/agent/src/pod_annotations/tests.rs",
        ],
    ),
    (
        "D9",
        "netType: interface never works, and corrupts the result on standard output",
        &["legacy::configurations::unsupported_configurations_are_rejected_by_add_and_accepted_by_del"],
    ),
    ("D10", "two addresses in CNI_ARGS make ADD fail", &["legacy::defects::two_addresses_in_cni_args_are_accepted"]),
    (
        "D11",
        "the gateway is dropped",
        &[
            "legacy::handoff::app_netutil_finds_socket_side_and_addresses",
            "attachment::requested::gateway_routes_and_dns_reach_the_result_and_the_description",
        ],
    ),
    (
        "D12",
        "all replicas of a workload share one folder of the host",
        &["legacy::shared_dir::pods_share_the_folder_and_not_their_files"],
    ),
    (
        "D13",
        "programs without root cannot connect",
        &[
            "legacy::shared_dir::a_pod_without_a_volume_uses_the_configured_shared_dir",
            "legacy::defects::a_socket_created_by_vpp_is_open_to_all_users_of_the_pod",
        ],
    ),
    (
        "D14",
        "every node has a credential that may write any pod (here two annotations of the node's own pods)",
        &["legacy::configurations::no_path_of_the_configuration_is_opened", "e2e/tests/cluster/abuse/guards/mod.rs"],
    ),
    (
        "D15",
        "the annotation for the pod is written some time after it started",
        &["legacy::defects::the_pods_files_are_written_before_add_returns"],
    ),
    (
        "D16",
        "no CHECK, GC and STATUS, no ownership tags",
        &["legacy::defects::legacy_configurations_support_every_verb"],
    ),
    (
        "D17",
        "no VLAN, MTU, MAC, queues and rates",
        &[
            "legacy::configurations::mismatching_settings_are_rejected_by_key",
            "legacy::configurations::a_mac_of_the_configuration_is_in_the_description",
            "crds/src/legacy/tests/keys.rs",
        ],
    ),
    (
        "D18",
        "an engine in a container does not see mounts that are created after it started",
        &["attachment::add_del::no_link_is_followed_in_the_mounted_directory"],
    ),
    (
        "D19",
        "it is built for one release of VPP, and with VPP even where there is none",
        &["vpp::error_replies::a_missing_message_is_reported_or_not_needed"],
    ),
];

on_each_engine! {
    a_bridge_is_kept_when_its_last_port_is_removed,
    two_addresses_in_cni_args_are_accepted,
    the_pods_files_are_written_before_add_returns,
    legacy_configurations_support_every_verb,
}

mod vpp_only {
    use super::{a_socket_created_by_vpp_is_open_to_all_users_of_the_pod, more_than_twenty_memif_sockets_are_no_limit};

    crate::support::engine::on_each_vpp! {
        more_than_twenty_memif_sockets_are_no_limit,
        a_socket_created_by_vpp_is_open_to_all_users_of_the_pod,
    }
}

fn more_than_twenty_memif_sockets_are_no_limit(node: &mut TestNode) {
    program(node, &port_types::memif_in_volume());
    let pods: Vec<_> = (0..25).map(|number| node.pod(&format!("p{number}"))).collect();
    for pod in &pods {
        node.call("ADD", pod, "net1", &legacy_memif(node)).result();
    }
    let sockets: BTreeSet<String> = node.engine.sockets(&node.bridge()).into_iter().collect();
    assert_eq!(sockets.len(), 25);
    for pod in &pods {
        node.call("DEL", pod, "net1", &legacy_memif(node)).assert_done();
    }
    node.assert_clean();
}

fn a_bridge_is_kept_when_its_last_port_is_removed(node: &mut TestNode) {
    for (port, configuration) in port_types_of(node) {
        program(node, &port);
        let pod = node.pod("p");
        node.call("ADD", &pod, "net1", &configuration).result();
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        assert_eq!(node.ports(NETWORK), Vec::<String>::new());
        // The bridge accepts ports again.
        node.call("ADD", &pod, "net1", &configuration).result();
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
    }
}

/// Multus passed the requested addresses in this way.
fn two_addresses_in_cni_args_are_accepted(node: &mut TestNode) {
    let pod = node.pod("p");
    let arguments = format!("{};IP=10.56.0.7/24,fd00:56::7/64", pod.arguments());
    let result = node.call_in("ADD", &pod, "net1", &legacy(node), &[("CNI_ARGS", &arguments)]).result();
    let addresses: Vec<&Value> = result["ips"].as_array().unwrap().iter().map(|ip| &ip["address"]).collect();
    assert_eq!(addresses, ["10.56.0.7/24", "fd00:56::7/64"]);
    assert_eq!(pod.description("net1")["ips"][1]["address"], "fd00:56::7/64");
    node.call("DEL", &pod, "net1", &legacy(node)).assert_done();
    node.assert_clean();
}

fn the_pods_files_are_written_before_add_returns(node: &mut TestNode) {
    for (port, configuration) in port_types_of(node) {
        program(node, &port);
        let pod = node.pod("p");
        node.call("ADD", &pod, "net1", &configuration).result();
        let described = pod.description("net1");
        let file = pod.volume.join(format!("configData-{}-net1.json", &pod.container[..12]));
        let written: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let end = if described["type"] == "memif" { "memif" } else { "vhost" };
        assert_eq!(written["config"][end]["socketfile"], described["socket"]);
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
    }
}

fn a_socket_created_by_vpp_is_open_to_all_users_of_the_pod(node: &mut TestNode) {
    for (port, configuration) in [
        (port_types::memif_in_volume(), legacy_memif(node)),
        (port_types::vhost_user_server(), legacy_vhost_user_server(node)),
    ] {
        program(node, &port);
        let pod = node.pod("p");
        node.call("ADD", &pod, "net1", &configuration).result();
        let socket = pod.volume.join(pod.description("net1")["socket"].as_str().unwrap());
        // The simulator creates the file like VPP.
        assert_eq!(fs::metadata(socket).unwrap().permissions().mode() & 0o777, 0o777);
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
    }
}

fn legacy_configurations_support_every_verb(node: &mut TestNode) {
    let (kept, stale) = (node.pod("kept"), node.pod("stale"));
    let mut configuration = legacy(node);
    configuration["cniVersion"] = "1.1.0".into();
    let result = node.call("ADD", &kept, "net1", &configuration).result();
    node.call("ADD", &stale, "net1", &configuration).result();
    let checked = with_result(&configuration, &result);
    node.call("CHECK", &kept, "net1", &checked).assert_done();
    node.call("STATUS", &kept, "net1", &configuration).assert_done();
    let mut collected = configuration.clone();
    collected["cni.dev/valid-attachments"] = json!([{"containerID": kept.container, "ifname": "net1"}]);
    node.call("GC", &kept, "net1", &collected).assert_done();
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.call("CHECK", &kept, "net1", &checked).assert_done();
    fs::remove_file(kept.volume.join("net1.json")).unwrap();
    let message = node.call("CHECK", &kept, "net1", &checked).message(106);
    assert!(message.contains("net1.json is missing"), "{message}");
    node.call("DEL", &kept, "net1", &configuration).assert_done();
    node.assert_clean();
}

#[test]
fn the_table_names_a_test_that_exists_for_each_defect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration");
    let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    for (number, defect, tests) in DEFECTS {
        assert!(!tests.is_empty(), "{number}: {defect}");
        for name in tests {
            match name.rsplit_once("::") {
                Some((module, test)) => {
                    let content = text(&format!("{}.rs", module.replace("::", "/")));
                    assert!(content.contains(&format!("fn {test}(")), "{number}: {name}");
                }
                None => assert!(folder.join("../../../..").join(name).exists(), "{number}: {name}"),
            }
        }
    }
}

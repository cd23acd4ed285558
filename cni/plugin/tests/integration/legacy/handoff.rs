//! The files for programs written for Userspace CNI: sockets and files with its names, and an
//! annotation that app-netutil reads.

use crate::support::TestNode;
use crate::support::app_netutil::{Interface, downward_file, interfaces};
use crate::support::engine::on_each_engine;
use crate::support::legacy::{legacy, port_types_of, program};
use crate::support::pod::Pod;
use crate::support::tools::tool;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use usnet_crds::PortType;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::legacy_annotation::{ANNOTATION, MAPPED_DIR_ANNOTATION, annotation};

on_each_engine! {
    sockets_and_files_have_legacy_names_and_are_removed_per_interface,
    app_netutil_finds_socket_side_and_addresses,
    device_info_takes_precedence_and_agrees,
    app_netutil_finds_the_element_of_the_latest_sandbox,
    a_published_pod_finds_its_socket_alone,
    a_short_container_id_is_not_shortened,
    configurations_of_usnet_get_no_legacy_handoff,
    a_configured_socket_name_is_used_by_one_interface_only,
}

/// The path at which examples mount the volume, as the agent publishes it.
const MAPPED_DIR: &str = "/var/lib/cni/usrspcni/";

fn short(pod: &Pod) -> &str {
    &pod.container[..12]
}

fn socket_name(port: PortType, pod: &Pod, interface: &str) -> String {
    match port {
        PortType::Memif => format!("memif-{}-{interface}.sock", short(pod)),
        _ => format!("{}-{interface}", short(pod)),
    }
}

/// The names of the files in a pod's volume, except sockets.
fn files(pod: &Pod) -> BTreeSet<String> {
    let entries = fs::read_dir(&pod.volume).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name.ends_with(".json")).collect()
}

/// The annotations that the agent derives from the journal.
fn annotations(node: &TestNode) -> BTreeMap<String, String> {
    let records = Journal::open(&node.paths).unwrap().records().unwrap().records;
    let elements = records.iter().filter_map(|record| record.configuration_data.as_ref());
    let elements: Vec<String> =
        elements.map(usnet_dataplane::legacy_annotation::LegacyInterfaceStatus::to_annotation).collect();
    BTreeMap::from([
        (ANNOTATION.to_owned(), annotation(&elements)),
        (MAPPED_DIR_ANNOTATION.to_owned(), MAPPED_DIR.to_owned()),
    ])
}

fn with_addresses(mut configuration: Value) -> Value {
    configuration["ipam"] = json!({"type": "static", "addresses": [
        {"address": "10.56.217.131/24", "gateway": "10.56.217.1"}, {"address": "fd00:56::131/64"},
    ], "routes": [{"dst": "0.0.0.0/0"}], "dns": {"nameservers": ["10.56.217.1"]}});
    configuration
}

/// Defect D5: the legacy plugin deleted the files of `net10` with those of `net1`.
fn sockets_and_files_have_legacy_names_and_are_removed_per_interface(node: &mut TestNode) {
    for (port, configuration) in port_types_of(node) {
        program(node, &port);
        let pod = node.pod("p");
        for interface in ["net1", "net10"] {
            let result = node.call("ADD", &pod, interface, &configuration).result();
            assert_eq!(result["interfaces"][0]["name"], interface);
            let socket = socket_name(port.port_type, &pod, interface);
            assert_eq!(pod.description(interface)["socket"], socket);
            let path = pod.directory.join(&socket).to_str().unwrap().to_owned();
            assert!(node.engine.sockets(&node.bridge()).contains(&path), "{path}");
            let file = pod.volume.join(format!("configData-{}-{interface}.json", short(&pod)));
            let file: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            assert_eq!(file["containerId"], pod.container);
            assert_eq!(file["ipResult"]["dns"], json!({}));
            let end = if port.port_type == PortType::Memif { "memif" } else { "vhost" };
            assert_eq!(file["config"][end]["socketfile"], socket);
        }
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        let left = [format!("configData-{}-net10.json", short(&pod)), "net10.json".to_owned()];
        assert_eq!(files(&pod), BTreeSet::from(left));
        node.call("DEL", &pod, "net10", &configuration).assert_done();
        assert_eq!(fs::read_dir(&pod.volume).unwrap().count(), 0);
        node.assert_clean();
    }
}

fn app_netutil_finds_socket_side_and_addresses(node: &mut TestNode) {
    let has_tools = tool("static").is_some();
    for (port, configuration) in port_types_of(node) {
        program(node, &port);
        let pod = node.pod("p");
        let configuration = if has_tools { with_addresses(configuration) } else { configuration };
        node.call("ADD", &pod, "net1", &configuration).result();
        let described = pod.description("net1");
        let is_memif = port.port_type == PortType::Memif;
        let expected = Interface {
            name: "net1".to_owned(),
            kind: described["type"].as_str().unwrap().to_owned(),
            end: if is_memif { "slave" } else { described["role"].as_str().unwrap() }.to_owned(),
            path: format!("{MAPPED_DIR}{}", socket_name(port.port_type, &pod, "net1")),
            ips: if has_tools { vec!["10.56.217.131".to_owned(), "fd00:56::131".to_owned()] } else { Vec::new() },
        };
        // The pod has no network status, as before Multus wrote one, or one without device info.
        let mut written = annotations(node);
        assert_eq!(interfaces(&downward_file(&written)), std::slice::from_ref(&expected));
        let eth0 = json!({"name": "cbr0", "interface": "eth0", "ips": ["10.0.0.2"], "default": true, "dns": {}});
        let net1 =
            json!({"name": "db/old", "interface": "net1", "ips": expected.ips, "mac": described["mac"], "dns": {}});
        written.insert("k8s.v1.cni.cncf.io/network-status".to_owned(), format!("{:#}", json!([eth0, net1])));
        assert_eq!(interfaces(&downward_file(&written))[1], expected);
        if has_tools {
            let element: Value = serde_json::from_str(&written[ANNOTATION]).unwrap();
            assert_eq!(element[0]["ipResult"]["ips"][0]["gateway"], "10.56.217.1", "defect D11");
        }
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
    }
}

fn device_info_takes_precedence_and_agrees(node: &mut TestNode) {
    for (port, mut configuration) in port_types_of(node) {
        program(node, &port);
        let pod = node.pod("p");
        let file = node.paths.device_info.join("db-old-net1");
        configuration["runtimeConfig"] = json!({"CNIDeviceInfoFile": file});
        node.call("ADD", &pod, "net1", &configuration).result();
        let mut written = annotations(node);
        let without = interfaces(&downward_file(&written));
        let information: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let status = json!([{"name": "db/old", "interface": "net1", "device-info": information}]);
        written.insert("k8s.v1.cni.cncf.io/network-status".to_owned(), status.to_string());
        assert_eq!(interfaces(&downward_file(&written)), without);
        assert!(!without[0].path.is_empty() && !without[0].end.is_empty(), "{without:?}");
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
    }
}

fn app_netutil_finds_the_element_of_the_latest_sandbox(node: &mut TestNode) {
    let pod = node.pod("p");
    node.call("ADD", &pod, "net1", &legacy(node)).result();
    let first = annotations(node);
    let again = pod.restarted();
    node.call("ADD", &again, "net1", &legacy(node)).result();
    let second = annotations(node);
    let path = |written: &BTreeMap<String, String>| interfaces(&downward_file(written))[0].path.clone();
    assert_eq!(path(&first), format!("{MAPPED_DIR}{}-net1", short(&pod)));
    assert_eq!(path(&second), format!("{MAPPED_DIR}{}-net1", short(&again)));
    let both = files(&again);
    node.call("DEL", &pod, "net1", &legacy(node)).assert_done();
    assert_eq!(files(&again), both, "the newer sandbox has these");
    node.call("DEL", &again, "net1", &legacy(node)).assert_done();
    node.assert_clean();
}

/// The script of the published VPP pods takes whatever `ls` lists for the socket.
fn a_published_pod_finds_its_socket_alone(node: &mut TestNode) {
    for (port, mut configuration) in port_types_of(node) {
        program(node, &port);
        configuration["KubeConfig"] = "/etc/cni/net.d/multus.d/multus.kubeconfig".into();
        let pod = node.pod("p");
        let volume = pod.volume.with_file_name("shared-dir");
        fs::rename(&pod.volume, &volume).unwrap();
        let result = node.call("ADD", &pod, "net1", &configuration).result();
        let listed = || -> Vec<String> {
            let entries = fs::read_dir(&volume).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            entries.filter(|name| !name.starts_with('.')).collect()
        };
        let socket = socket_name(port.port_type, &pod, "net1");
        assert!(listed().iter().all(|name| *name == socket), "{:?}", listed());
        let written = annotations(node);
        assert!(written[ANNOTATION].contains(&socket), "{}", written[ANNOTATION]);
        configuration["prevResult"] = result;
        configuration["cniVersion"] = "0.4.0".into();
        node.call("CHECK", &pod, "net1", &configuration).assert_done();
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        assert_eq!(listed(), Vec::<String>::new());
        // A volume `usnet` shows that the pod was changed for usnet.
        fs::create_dir(&pod.volume).unwrap();
        node.call("ADD", &pod, "net1", &configuration).result();
        assert_eq!(files(&pod).len(), 2, "{:?}", files(&pod));
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
    }
}

fn a_short_container_id_is_not_shortened(node: &mut TestNode) {
    let pod = Pod { container: "c1".to_owned(), ..node.pod("p") };
    node.call("ADD", &pod, "net1", &legacy(node)).result();
    assert_eq!(pod.description("net1")["socket"], "c1-net1");
    assert_eq!(files(&pod), BTreeSet::from(["configData-c1-net1.json".to_owned(), "net1.json".to_owned()]));
    node.call("DEL", &pod, "net1", &legacy(node)).assert_done();
    node.assert_clean();
}

fn configurations_of_usnet_get_no_legacy_handoff(node: &mut TestNode) {
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    assert_eq!(pod.description("net1")["socket"], "net1.sock");
    assert_eq!(files(&pod), BTreeSet::from(["net1.json".to_owned()]));
    assert_eq!(annotations(node)[ANNOTATION], "[]");
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn a_configured_socket_name_is_used_by_one_interface_only(node: &mut TestNode) {
    let mut configuration = legacy(node);
    configuration["host"]["vhost"]["socketfile"] = "program.sock".into();
    let (pod, other) = (node.pod("p"), node.pod("q"));
    node.call("ADD", &pod, "net1", &configuration).result();
    assert_eq!(pod.description("net1")["socket"], "program.sock");
    node.call("ADD", &other, "net1", &configuration).result();
    let socket = pod.volume.join("program.sock");
    fs::write(&socket, "the program's").unwrap();
    let message = node.call("ADD", &pod, "net2", &configuration).message(7);
    assert!(message.contains("program.sock") && message.contains("interface net1"), "{message}");
    assert!(socket.exists(), "it is still that of net1");
    for pod in [&pod, &other] {
        node.call("DEL", pod, "net1", &configuration).assert_done();
    }
    assert!(!socket.exists());
    node.assert_clean();
}

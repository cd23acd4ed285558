use super::*;

fn rendered(version: SpecVersion, assignment: &Assignment, previous: Option<&Value>) -> Value {
    let interface = Interface {
        name: "net1",
        mac: "02:00:00:00:00:01",
        mtu: 1500,
        sandbox: Path::new("/run/netns/p"),
        socket: Some(Path::new("/run/usnet/ports/u/net1.sock")),
        device: None,
    };
    result(version, interface, assignment, previous)
}

fn assignment() -> Assignment {
    serde_json::from_value(json!({
        "cniVersion": "1.1.0",
        "ips": [{"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00::5/64"}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400}],
        "dns": {"nameservers": ["10.1.0.2"]}
    }))
    .unwrap()
}

#[test]
fn version_1_1_0_has_everything() {
    let expected = json!({
        "cniVersion": "1.1.0",
        "interfaces": [{
            "name": "net1", "mac": "02:00:00:00:00:01", "mtu": 1500,
            "sandbox": "/run/netns/p", "socketPath": "/run/usnet/ports/u/net1.sock"
        }],
        "ips": [
            {"address": "10.1.0.5/24", "gateway": "10.1.0.1", "interface": 0},
            {"address": "fd00::5/64", "interface": 0}
        ],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400}],
        "dns": {"nameservers": ["10.1.0.2"]}
    });
    assert_eq!(rendered(SpecVersion::V1_1_0, &assignment(), None), expected);
}

#[test]
fn an_interface_without_a_socket_file_has_no_socket_path() {
    let interface = Interface {
        name: "net1",
        mac: "02:00:00:00:00:01",
        mtu: 1500,
        sandbox: Path::new("/run/netns/p"),
        socket: None,
        device: None,
    };
    let rendered = result(SpecVersion::V1_1_0, interface, &Assignment::default(), None);
    let expected = json!([{"name": "net1", "mac": "02:00:00:00:00:01", "mtu": 1500, "sandbox": "/run/netns/p"}]);
    assert_eq!(rendered["interfaces"], expected);
}

#[test]
fn the_device_on_the_node_comes_after_the_interface_and_has_no_sandbox() {
    let device = HostDevice { name: "vhu1", mac: "02:00:00:00:00:02".parse().unwrap() };
    for (version, mtu) in [(SpecVersion::V1_1_0, json!(1500)), (SpecVersion::V0_4_0, Value::Null)] {
        let interface = Interface {
            name: "net1",
            mac: "02:00:00:00:00:01",
            mtu: 1500,
            sandbox: Path::new("/run/netns/p"),
            socket: None,
            device: Some(device),
        };
        let rendered = result(version, interface, &assignment(), None);
        let [in_pod, on_node] = rendered["interfaces"].as_array().unwrap().as_slice() else { panic!("{rendered}") };
        assert_eq!(in_pod["sandbox"], "/run/netns/p");
        assert_eq!((&on_node["name"], &on_node["mac"]), (&json!("vhu1"), &json!("02:00:00:00:00:02")));
        assert_eq!((on_node.get("sandbox"), &on_node["mtu"]), (None, &mtu));
        assert_eq!(rendered["ips"][0]["interface"], 0, "addresses are those of the interface in the pod");
    }
}

#[test]
fn older_versions_have_neither_socket_nor_mtu_nor_route_metrics() {
    for version in [SpecVersion::V0_3_0, SpecVersion::V0_3_1, SpecVersion::V0_4_0, SpecVersion::V1_0_0] {
        let rendered = rendered(version, &assignment(), None);
        let interface = json!({"name": "net1", "mac": "02:00:00:00:00:01", "sandbox": "/run/netns/p"});
        assert_eq!(rendered["interfaces"], json!([interface]), "{version}");
        assert_eq!(rendered["routes"], json!([{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]), "{version}");
        assert_eq!(rendered["cniVersion"], version.as_str());
    }
}

#[test]
fn before_0_3_0_there_is_one_address_of_each_family_with_its_routes() {
    for version in [SpecVersion::V0_1_0, SpecVersion::V0_2_0] {
        let expected = json!({
            "cniVersion": version.as_str(),
            "ip4": {"ip": "10.1.0.5/24", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]},
            "ip6": {"ip": "fd00::5/64"},
            "dns": {"nameservers": ["10.1.0.2"]}
        });
        assert_eq!(rendered(version, &assignment(), None), expected);
        assert_eq!(rendered(version, &Assignment::default(), None), json!({"cniVersion": version.as_str()}));
        let earlier = json!({"ip4": {"ip": "10.9.0.2/24", "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.0.0.0/8"}]}});
        let in_chain = rendered(version, &assignment(), Some(&earlier));
        assert_eq!((&in_chain["ip4"], &in_chain["ip6"]), (&earlier["ip4"], &expected["ip6"]));
        let other_default = without_default_routes(&earlier, &["10.1.0.1".parse().unwrap()]);
        assert_eq!(other_default["ip4"]["routes"], json!([{"dst": "10.0.0.0/8"}]));
    }
}

#[test]
fn addresses_have_a_version_before_1_0_0_only() {
    for (version, families) in [
        (SpecVersion::V0_3_0, json!(["4", "6"])),
        (SpecVersion::V0_3_1, json!(["4", "6"])),
        (SpecVersion::V0_4_0, json!(["4", "6"])),
        (SpecVersion::V1_0_0, json!([null, null])),
        (SpecVersion::V1_1_0, json!([null, null])),
    ] {
        let rendered = rendered(version, &assignment(), None);
        assert_eq!(json!([rendered["ips"][0]["version"], rendered["ips"][1]["version"]]), families, "{version}");
    }
}

#[test]
fn without_ipam_there_is_the_interface_alone() {
    let rendered = rendered(SpecVersion::V1_1_0, &Assignment::default(), None);
    let keys: Vec<_> = rendered.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["cniVersion", "interfaces"]);
}

#[test]
fn in_a_chain_our_entries_are_appended() {
    let previous = json!({
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "veth1"}, {"name": "eth0", "sandbox": "/run/netns/p"}],
        "ips": [{"address": "10.9.0.2/24", "interface": 1}],
        "dns": {"nameservers": ["10.9.0.1"]}, "unknown": true
    });
    let rendered = rendered(SpecVersion::V1_0_0, &assignment(), Some(&previous));
    assert_eq!(rendered["interfaces"][1], previous["interfaces"][1]);
    assert_eq!(rendered["interfaces"][2]["name"], "net1");
    assert_eq!(rendered["ips"][0], previous["ips"][0]);
    assert_eq!(rendered["ips"][1]["interface"], 2);
    assert_eq!((&rendered["dns"], &rendered["unknown"]), (&previous["dns"], &json!(true)));
}

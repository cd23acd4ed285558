use super::*;
use crate::model::attachment::Record;
use crate::model::port::{PortBackend, SocketPath};
use crate::testing::{network, record};
use serde_json::{Value, json};
use std::path::PathBuf;
use usnet_crds::legacy::ContainerConf;
use usnet_crds::{PortType, SocketRole};

const CONTAINER: &str = "ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34";

fn attached() -> Record {
    let mut record = record(CONTAINER, &network("blue"));
    record.configuration_name = Some("userspace-ovs-net-1".to_owned());
    record.network_namespace = "/var/run/netns/cni-1".into();
    let socket = PathBuf::from("/run/usnet/ports/0").join(socket_name(PortType::VhostUser, &record.id));
    let socket = SocketPath::try_from(socket).unwrap();
    record.port.backend = PortBackend::VhostUser { socket, engine_role: SocketRole::Client };
    record
}

fn result() -> LegacyResult {
    LegacyResult {
        pod_end: ContainerConf { engine: "ovs-dpdk".to_owned(), ..ContainerConf::default() },
        ips: vec![AddressAndGateway { ip: "10.56.217.131".parse().unwrap(), prefix: 24, gateway: None }],
        routes: vec![json!({"dst": "0.0.0.0/0"})],
        dns: None,
    }
}

/// Exactly the output of the legacy plugin, plus the `version` of addresses, which applications
/// need.
#[test]
fn the_annotation_has_the_legacy_format() {
    let expected = r#"{
    "containerId": "ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34",
    "ifName": "net1",
    "name": "userspace-ovs-net-1",
    "config": {
        "engine": "ovs-dpdk",
        "iftype": "vhostuser",
        "netType": "interface",
        "memif": {},
        "vhost": {
            "mode": "server",
            "socketfile": "ab12cd34ab12-net1"
        },
        "bridge": {}
    },
    "ipResult": {
        "cniVersion": "1.1.0",
        "interfaces": [
            {
                "name": "net1",
                "sandbox": "/var/run/netns/cni-1"
            }
        ],
        "ips": [
            {
                "version": "4",
                "address": "10.56.217.131/24"
            }
        ],
        "routes": [
            {
                "dst": "0.0.0.0/0"
            }
        ]
    }
}"#;
    assert_eq!(LegacyInterfaceStatus::new(&attached(), &result()).unwrap().to_annotation(), expected);
}

#[test]
fn the_file_is_compact_and_always_has_name_servers() {
    let element = LegacyInterfaceStatus::new(&attached(), &LegacyResult::default()).unwrap();
    let expected = format!(
        r#"{{"containerId":"{CONTAINER}","ifName":"net1","name":"userspace-ovs-net-1","config":{{"iftype":"vhostuser","netType":"interface","memif":{{}},"vhost":{{"mode":"server","socketfile":"ab12cd34ab12-net1"}},"bridge":{{}}}},"ipResult":{{"interfaces":[{{"name":"net1","sandbox":"/var/run/netns/cni-1"}}],"dns":{{}}}}}}"#
    );
    assert_eq!(String::from_utf8(element.to_file()).unwrap(), expected);
    let read: LegacyInterfaceStatus = serde_json::from_slice(&element.to_file()).unwrap();
    assert_eq!(read.to_file(), element.to_file());
}

#[test]
fn names_have_as_much_of_a_containers_id_as_there_is() {
    let mut id = attached().id;
    assert_eq!(socket_name(PortType::VhostUser, &id), "ab12cd34ab12-net1");
    assert_eq!(socket_name(PortType::Memif, &id), "memif-ab12cd34ab12-net1.sock");
    assert_eq!(file_name(&id), "configData-ab12cd34ab12-net1.json");
    id.container = "c1".parse().unwrap();
    assert_eq!(state_file_name(&id), "local-c1-net1.json");
}

#[test]
fn texts_contain_no_characters_that_applications_misread() {
    let mut record = attached();
    record.configuration_name = Some("a=b \"c\\\n\u{fc}".to_owned());
    let mut result = result();
    result.pod_end.group = "x = y".to_owned();
    result.dns = Some(json!({"search": ["a = b"], "options": ["x=y"]}));
    let text = LegacyInterfaceStatus::new(&record, &result).unwrap().to_annotation();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["name"], "a_b__c___");
    assert_eq!(read["ipResult"]["dns"], json!({"search": ["a___b"], "options": ["x_y"]}));
    assert!(!text.contains(['=', '\\']) && text.is_ascii(), "{text}");
    result.dns = Some(json!({"search": vec!["x"; 3000]}));
    assert!(!LegacyInterfaceStatus::new(&record, &result).unwrap().to_annotation().contains("dns"));
}

//! What an attacker can try who may only write NADs.

use super::super::super::write::Write;
use super::*;

/// Keys that Intel's userspace CNI took as paths on the host, or that name things of others.
#[test]
fn no_path_of_a_nad_is_used() {
    let mut cluster = Cluster::new();
    let mut config = open_vswitch("br0");
    for key in ["kubeconfig", "logFile", "sharedDir"] {
        config[key] = "/etc/PATH".into();
    }
    config["host"]["vhost"]["group"] = "PATH".into();
    config["host"]["vhost"]["socketfile"] = "PATH".into();
    cluster.nad("team-a", "one", &config.to_string());
    let mut written = Vec::new();
    for _ in 0..6 {
        written.extend(cluster.pass());
        cluster.report();
    }
    assert!(written.iter().any(|write| matches!(write, Write::NetworkFromNad { .. })));
    assert!(!format!("{written:?}").contains("PATH"));

    for (pointer, value) in [
        ("/host/vhost", json!({"mode": "client", "socketfile": "../../etc/x"})),
        ("/host/bridge", json!({"bridgeName": "../x"})),
    ] {
        let mut wrong = config.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        wrong["host"]["vhost"]["mode"] = "client".into();
        cluster.nad("other", "two", &wrong.to_string());
        cluster.settle();
        let reports = cluster.reports();
        assert_eq!(reports.last().unwrap().0, "other/two InvalidConfiguration");
        assert!(reports.last().unwrap().1.contains(&pointer.replace("/host/", "host.")), "{reports:?}");
        assert_eq!(cluster.cache.networks.len(), 1);
    }
}

/// Whatever bridge a NAD names, the generated network may only have a managed one.
#[test]
fn a_bridge_that_is_there_already_is_never_adopted() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br-int").to_string());
    cluster.settle();
    let held = &cluster.compiled["ovs-br-int"];
    assert_eq!(held.bridge.ownership, usnet_crds::Ownership::Managed);
    cluster.failures.insert(("node-a".to_owned(), "ovs-br-int".to_owned()), "BridgeExists");
    cluster.report();
    cluster.settle();
    assert_eq!(cluster.condition("ovs-br-int", "Ready"), "False BridgeExists");
}

/// A NAD in one namespace gives no access to pods of another, nor to a network whose selector
/// excludes its namespace.
#[test]
fn a_nad_opens_a_network_to_its_own_namespace_alone() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.nad("other", "blue-too", &json!({"type": "userspace", "network": "blue"}).to_string());
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    assert_eq!(carried(&cluster, "blue").unwrap().1, ["team-a"]);
    assert_eq!(carried(&cluster, "ovs-br0").unwrap().1, ["team-a"]);
    // A label that resembles a namespace's name is none: the API server sets that label.
    assert!(cluster.reports().iter().any(|(about, _)| about == "other/blue-too NamespaceNotSelected"));
}

/// A user's NAD with the name of a network, and one that claims to be generated.
#[test]
fn foreign_nads_are_neither_changed_nor_deleted() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "ovs-br0", &open_vswitch("br0").to_string());
    cluster.nad("team-a", "blue", r#"{"type": "bridge"}"#);
    let written = cluster.nads.clone();
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DefinitionsReady"), "False NameConflict");
    assert_eq!(cluster.condition("ovs-br0", "Accepted"), "True Valid");
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.nads, written);
}

/// Control characters and the like of a NAD are shown, and not acted upon by a terminal.
#[test]
fn events_contain_no_control_characters() {
    let mut cluster = Cluster::new();
    let mut config = open_vswitch("br0");
    config["host"]["engine"] = "\u{1b}[2Jgone\n".into();
    cluster.nad("team-a", "one", &config.to_string());
    cluster.settle();
    let reports = cluster.reports();
    assert!(!reports[0].1.contains(char::is_control), "{:?}", reports[0].1);
}

/// A tenant with many NADs gets some networks and no more, and takes none from others.
#[test]
fn nads_of_one_namespace_create_a_limited_number_of_networks() {
    let mut cluster = Cluster::new();
    let most = super::super::super::legacy::NETWORKS_MAX;
    for number in 0..most + 3 {
        cluster.nad("team-a", &format!("d{number}"), &open_vswitch(&format!("br{number}")).to_string());
    }
    cluster.nad("other", "mine", &open_vswitch("br-mine").to_string());
    cluster.settle();
    assert_eq!(cluster.cache.networks.len(), most + 1);
    assert!(cluster.cache.networks.contains_key("ovs-br-mine"));
    let reports = cluster.reports();
    assert_eq!(reports.len(), 3, "{reports:?}");
    assert!(reports.iter().all(|(about, _)| about.ends_with(" TooManyNetworks")), "{reports:?}");
}

/// NADs created in the same second are sorted by name: late ones may be sorted before those that
/// have their networks.
#[test]
fn nads_that_come_late_create_no_more_networks_than_one_namespace_may_have() {
    let mut cluster = Cluster::new();
    let most = super::super::super::legacy::NETWORKS_MAX;
    let define = |cluster: &mut Cluster, number: usize| {
        cluster.nad("team-a", &format!("d{number}"), &open_vswitch(&format!("br{number}")).to_string());
        cluster.seconds = 0;
    };
    (100..100 + most).for_each(|number| define(&mut cluster, number));
    cluster.settle();
    let before: Vec<String> = cluster.cache.networks.keys().cloned().collect();
    (0..10).for_each(|number| define(&mut cluster, number));
    cluster.settle();
    assert_eq!(cluster.cache.networks.keys().cloned().collect::<Vec<_>>(), before);
    assert_eq!(before.len(), most);
}

#[test]
fn conversion_can_be_disabled_and_limited_to_namespaces() {
    use super::super::super::legacy::Conversion;
    let mut cluster = Cluster::new();
    cluster.legacy.namespaces = [("team", "a")].into_iter().collect();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.nad("other", "two", &open_vswitch("br1").to_string());
    cluster.settle();
    assert_eq!(cluster.cache.networks.keys().collect::<Vec<_>>(), ["ovs-br0"]);
    cluster.legacy.conversion = Conversion::Disabled;
    cluster.delete_nad("team-a", "one");
    cluster.nad("team-a", "three", &open_vswitch("br3").to_string());
    cluster.settle();
    assert_eq!(cluster.cache.networks.keys().collect::<Vec<_>>(), ["ovs-br0"], "what was created stays");
}

#[test]
fn oversized_nads_are_rejected_and_not_cached() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &"x".repeat(100_000));
    let mut trunks = open_vswitch("br0");
    trunks["host"]["bridge"]["trunks"] = (1..=4094).filter(|tag| tag % 2 == 1).collect::<Vec<_>>().into();
    cluster.nad("team-a", "two", &trunks.to_string());
    let mut ipam = open_vswitch("br1");
    ipam["ipam"]["pad"] = "x".repeat(9_000).into();
    cluster.nad("team-a", "three", &ipam.to_string());
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
    let mut reports = cluster.reports();
    reports.sort();
    let parts =
        ["100000 bytes, and 65536 is the limit", "\"ipam\": it has", "2047 ranges of VLANs, and 32 is the limit"];
    for ((about, message), part) in reports.iter().zip(parts) {
        assert!(about.ends_with(" InvalidConfiguration") && message.contains(part), "{about}: {message}");
    }
    assert_eq!(reports.len(), 3);
    assert!(!format!("{:?}", cluster.cache).contains("xxxxxxxx"));
}

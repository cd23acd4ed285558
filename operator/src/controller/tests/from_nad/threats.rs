//! What somebody who may only write definitions can try.

use super::super::super::diff::Write;
use super::*;

/// Keys that the older plugin took as paths on the host, or that name things of others.
#[test]
fn no_path_of_a_definition_gets_anywhere() {
    let mut cluster = Cluster::new();
    let mut config = open_vswitch("br0");
    for key in ["kubeconfig", "logFile", "sharedDir"] {
        config[key] = "/etc/PATH".into();
    }
    config["host"]["vhost"]["group"] = "PATH".into();
    config["host"]["vhost"]["socketfile"] = "PATH".into();
    cluster.definition("team-a", "one", &config.to_string());
    let mut written = Vec::new();
    for _ in 0..6 {
        written.extend(cluster.pass());
        cluster.agents();
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
        cluster.definition("other", "two", &wrong.to_string());
        cluster.settle();
        let told = cluster.told();
        assert_eq!(told.last().unwrap().0, "other/two InvalidConfiguration");
        assert!(told.last().unwrap().1.contains(&pointer.replace("/host/", "host.")), "{told:?}");
        assert_eq!(cluster.inputs.networks.len(), 1);
    }
}

/// Whatever bridge a definition names: the network that is made may only have one that is its own.
#[test]
fn a_bridge_that_is_there_already_is_never_adopted() {
    let mut cluster = Cluster::new();
    cluster.definition("team-a", "one", &open_vswitch("br-int").to_string());
    cluster.settle();
    let held = cluster.inputs.states["node-a"].held("ovs-br-int").unwrap();
    assert_eq!(held.bridge.ownership, usnet_crds::Ownership::Managed);
    cluster.failures.insert(("node-a".to_owned(), "ovs-br-int".to_owned()), "BridgeExists");
    cluster.agents();
    cluster.settle();
    assert_eq!(cluster.condition("ovs-br-int", "Ready"), "False BridgeExists");
}

/// A definition in one namespace opens nothing to pods of another, and names no network whose selector leaves it out.
#[test]
fn a_definition_opens_a_network_to_its_own_namespace_alone() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.definition("other", "blue-too", &json!({"type": "userspace", "network": "blue"}).to_string());
    cluster.definition("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    assert_eq!(shown(&cluster, "blue").unwrap().1, ["team-a"]);
    assert_eq!(shown(&cluster, "ovs-br0").unwrap().1, ["team-a"]);
    // A label that looks like a namespace's name is not one: the API server puts that label on.
    assert!(cluster.told().iter().any(|(about, _)| about == "other/blue-too NamespaceNotSelected"));
}

/// A definition that somebody wrote under the name of a network, and one that claims to be generated.
#[test]
fn somebody_elses_definition_is_neither_changed_nor_deleted() {
    let mut cluster = Cluster::new();
    cluster.definition("team-a", "ovs-br0", &open_vswitch("br0").to_string());
    cluster.definition("team-a", "blue", r#"{"type": "bridge"}"#);
    let written = cluster.inputs.definitions.clone();
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False NameConflict");
    assert_eq!(cluster.condition("ovs-br0", "Accepted"), "True Valid");
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.inputs.definitions, written);
}

/// Control characters and the like of a definition are shown, and not acted upon by a terminal.
#[test]
fn what_is_told_shows_no_control_characters() {
    let mut cluster = Cluster::new();
    let mut config = open_vswitch("br0");
    config["host"]["engine"] = "\u{1b}[2Jgone\n".into();
    cluster.definition("team-a", "one", &config.to_string());
    cluster.settle();
    let told = cluster.told();
    assert!(!told[0].1.contains(char::is_control), "{:?}", told[0].1);
}

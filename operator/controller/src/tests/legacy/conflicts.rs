//! NADs with conflicting settings of one bridge.

use super::*;

#[test]
fn conflicting_nads_are_both_reported_with_the_mismatch() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "younger-by-name", &open_vswitch("br0").to_string());
    cluster.nad("other", "an-elder-by-name", &with_vlan(open_vswitch("br0"), 7));
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["team-a"]), "the second is not joined");
    let reports = cluster.reports();
    let (to_second, to_first) = (&reports[0], &reports[1]);
    assert_eq!(to_second.0, "other/an-elder-by-name DefinitionsDisagree");
    assert_eq!(to_first.0, "team-a/younger-by-name DefinitionsDisagree");
    let difference = "\"host.bridge.vlanId\" requests VLAN 7, and the network has no VLAN";
    for part in [difference, "defined by NetworkAttachmentDefinition team-a/younger-by-name, which takes precedence"] {
        assert!(to_second.1.contains(part), "{}", to_second.1);
    }
    for part in
        [difference, "NetworkAttachmentDefinition other/an-elder-by-name disagrees", "This one takes precedence"]
    {
        assert!(to_first.1.contains(part), "{}", to_first.1);
    }
    cluster.settle();
    assert_eq!(cluster.reports(), [], "once");
}

#[test]
fn when_the_oldest_is_deleted_the_next_defines_the_network_and_new_conflicts_are_reported() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.nad("other", "two", &with_vlan(open_vswitch("br0"), 7));
    cluster.settle();
    cluster.reports();
    let generation = cluster.cache.networks["ovs-br0"].generation;
    cluster.delete_nad("team-a", "one");
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["other"]));
    assert_eq!(cluster.cache.networks["ovs-br0"].generation, generation + 1, "changed in place");
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    let reports: Vec<String> = cluster.reports().into_iter().map(|(about, _)| about).collect();
    assert_eq!(reports, ["team-a/one DefinitionsDisagree", "other/two DefinitionsDisagree"]);
}

#[test]
fn each_required_setting_is_compared() {
    let mut listening = vpp("4");
    listening["host"] =
        json!({"engine": "vpp", "iftype": "vhostuser", "vhost": {"mode": "server"}, "bridge": {"bridgeName": "4"}});
    let mut connecting = listening.clone();
    connecting["host"]["vhost"]["mode"] = "client".into();
    let mut large = vpp("4");
    large["host"]["mtu"] = 9000.into();
    for (first, second, key) in [
        (&vpp("4"), &listening, "host.iftype"),
        (&listening, &connecting, "host.vhost.mode"),
        (&vpp("4"), &large, "host.mtu"),
    ] {
        let mut cluster = Cluster::new();
        cluster.nad("team-a", "one", &first.to_string());
        cluster.nad("team-a", "two", &second.to_string());
        cluster.settle();
        let reports = cluster.reports();
        assert_eq!(reports.len(), 2, "{key}");
        assert!(reports.iter().all(|(_, message)| message.contains(key)), "{key}: {reports:?}");
    }
}

#[test]
fn an_omitted_setting_matches_any_value() {
    let mut cluster = Cluster::new();
    let mut large = vpp("4");
    large["host"]["mtu"] = 9000.into();
    cluster.nad("team-a", "one", &large.to_string());
    cluster.nad("other", "two", &vpp("4").to_string());
    cluster.settle();
    assert_eq!(carried(&cluster, "vpp-4"), on("4", &["other", "team-a"]));
    assert_eq!(cluster.reports(), []);
}

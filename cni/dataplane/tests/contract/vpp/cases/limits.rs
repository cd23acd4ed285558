//! Policers and VLAN filters: they are created and deleted with their ports, whatever happens in
//! between.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use crate::vpp::switch::VppSwitch;
use usnet_crds::{KilobitsPerSecond, NodeNetwork, RateLimit, Vlan};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::diff;
use usnet_dataplane::tagging::Tagging;
use usnet_vpp::messages::{L2InterfaceEfpFilter, PolicerAction, PolicerActionType, PolicerAddDel, PolicerInput};
use usnet_vpp::wire::FixedText;

pub(crate) fn rate(kilobits: i64) -> KilobitsPerSecond {
    kilobits.try_into().expect("a rate")
}

/// A network whose ports have these limits.
pub(crate) fn limited(network: &NodeNetwork, ingress: Option<i64>, egress: Option<i64>) -> NodeNetwork {
    let mut network = network.clone();
    network.port.rate_limit = RateLimit { ingress_kbps: ingress.map(rate), egress_kbps: egress.map(rate) };
    network
}

/// The policers of `c1`, each as direction and rate.
fn policers(switch: &VppSwitch) -> Vec<String> {
    let prefix = format!("usnet:{}:", port_name("c1"));
    let names = switch.other_client().policers();
    let mut found: Vec<_> = names.iter().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect();
    found.sort();
    found
}

fn policer(name: &str, cir: u32) -> PolicerAddDel {
    let name = FixedText::new(format!("usnet:{}:{name}", port_name("c1"))).expect("a short name");
    let conform_action = PolicerAction { r#type: PolicerActionType::Transmit, dscp: 0 };
    PolicerAddDel { is_add: true, name, cir, cb: 20_000, conform_action, ..PolicerAddDel::default() }
}

fn index(switch: &VppSwitch) -> u32 {
    switch.other_client().interface(&port_name("c1")).sw_if_index
}

pub(crate) fn limits_are_created_changed_and_deleted_with_their_port(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(&[limited(&blue, Some(500), Some(600))], &["c1"]));
    assert_eq!(policers(switch), ["egress:600", "ingress:500"]);
    let identity = switch.port_identity(&port_name("c1"));
    for (ingress, egress, expected) in [
        (Some(500), Some(700), vec!["egress:700", "ingress:500"]),
        (None, Some(700), vec!["egress:700"]),
        (Some(9), None, vec!["ingress:9"]),
        (None, None, vec![]),
        (Some(1_000_000_000), Some(1), vec!["egress:1", "ingress:1000000000"]),
    ] {
        assert_eq!(converge(&mut engine, &switch.desired(&[limited(&blue, ingress, egress)], &["c1"])).len(), 1);
        assert_eq!(policers(switch), expected);
    }
    assert_eq!(switch.port_identity(&port_name("c1")), identity);
    converge(&mut engine, &switch.desired(&[blue], &[]));
    assert_eq!(policers(switch), [""; 0]);
}

pub(crate) fn limits_of_deleted_ports_are_collected(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = limited(&switch.network("blue"), Some(500), Some(600));
    let foreign = PolicerAddDel { name: FixedText::new("foreign").expect("short"), ..policer("", 7) };
    switch.other_client().request(foreign);
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    switch.remove_port(bridge(&blue), &port_name("c1"));
    // A DEL finds no interface, and deletes the rest.
    assert_eq!(policers(switch).len(), 2);
    assert_eq!(apply(&mut engine, &[switch.remove_port_op("c1", &blue)]), [Ok(())]);
    assert_eq!(policers(switch), [""; 0]);
    // Orphans are deleted with the next operations about ports.
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    switch.remove_port(bridge(&blue), &port_name("c1"));
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c2"]));
    converge(&mut engine, &switch.desired(&[blue, switch.network("red")], &["c2", "c3"]));
    assert_eq!(policers(switch), [""; 0]);
    assert_eq!(switch.other_client().policers().len(), 5, "those of c2 and c3, and the foreign one");
    converge(&mut engine, &Desired::default());
    assert_eq!(switch.other_client().policers(), ["foreign"]);
}

pub(crate) fn limits_changed_by_others_are_repaired(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = limited(&switch.network("blue"), Some(500), Some(600));
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let (index, domain) = (index(switch), blue.bridge.name.as_str().parse().expect("an id"));
    let good = policer("egress:600", 600);
    let remove = |policer: &PolicerAddDel| {
        switch.other_client().request(PolicerAddDel { is_add: false, ..policer.clone() });
    };
    let changes: [&dyn Fn(); 5] = [
        &|| remove(&good),
        &|| {
            remove(&good);
            switch.other_client().request(PolicerAddDel { cir: 7, ..good.clone() });
        },
        // An interrupted change by usnet.
        &|| {
            switch.other_client().request(policer("egress:900", 900));
        },
        &|| {
            let name = good.name.clone();
            switch.other_client().request(PolicerInput { name, sw_if_index: index, apply: false });
        },
        &|| {
            switch.other_client().take_out(index, domain);
            switch.other_client().put_into(index, domain);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change();
        assert_eq!(converge(&mut engine, &desired).len(), 1, "change {number}");
        assert_eq!(policers(switch), ["egress:600", "ingress:500"], "change {number}");
    }
}

pub(crate) fn a_vlan_filter_removed_by_others_is_restored(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let mut blue = switch.network("blue");
    blue.port.vlan = Some(Vlan::Access { tag: 7.try_into().expect("a tag") });
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let sw_if_index = index(switch);
    switch.other_client().request(L2InterfaceEfpFilter { sw_if_index, enable_disable: false });
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports[&port_name("c1")].settings.tagging, Tagging::Other);
    assert_eq!(converge(&mut engine, &desired).len(), 1);
}

/// To be run on one without the plugin.
pub(crate) fn limits_without_policers_are_refused_and_ports_without_limits_work(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let results = apply(&mut engine, &[switch.create_port("c1", &limited(&blue, None, Some(5)))]);
    let text = results[0].as_ref().expect_err("it cannot").to_string();
    assert!(text.contains("policer_input") && text.contains("load the plugin policer_plugin.so"), "{text}");
    assert_eq!(switch.other_client().ports(), 0);
    converge(&mut engine, &switch.desired(&[blue], &["c1"]));
}

/// To be run on a VPP that does not report L2 features.
pub(crate) fn before_26_06_only_what_pods_send_is_limited(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let results = apply(&mut engine, &[switch.create_port("c1", &limited(&blue, Some(5), None))]);
    let text = results[0].as_ref().expect_err("it cannot").to_string();
    assert!(text.contains("ingressKbps") && text.contains("26.06"), "{text}");
    for (egress, expected) in [(Some(5), vec!["egress:5"]), (Some(6), vec!["egress:6"]), (None, vec![])] {
        converge(&mut engine, &switch.desired(&[limited(&blue, None, egress)], &["c1"]));
        assert_eq!(policers(switch), expected);
    }
    let mut blue = blue;
    blue.port.vlan = Some(Vlan::Access { tag: 7.try_into().expect("a tag") });
    let desired = switch.desired(&[limited(&blue, None, Some(5))], &["c1"]);
    converge(&mut engine, &desired);
    assert_eq!(diff(&desired, &observe(&mut engine)), []);
}

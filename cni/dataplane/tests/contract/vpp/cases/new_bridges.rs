//! Many new bridges in one go, as on a node that gets its networks: what that reads, and what is
//! there already.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, create_bridge, is_foreign, observe};
use crate::vpp::switch::{VppSwitch, domain_id};
use usnet_crds::{MacLearning, NodeNetwork};
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::plan::{Op, diff};

/// More than are read one by one.
const NETWORKS: usize = 20;

fn networks(switch: &VppSwitch) -> Vec<NodeNetwork> {
    (0..NETWORKS).map(|number| switch.network(&format!("n{number}"))).collect()
}

pub(crate) fn only_bridge_domains_are_read_before_and_after(switch: &mut VppSwitch) {
    let other = switch.network("other");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&other), &["c1"]));
    let (networks, before) = (networks(switch), observe(&mut switch.engine()));
    for some in [&networks[..1], &networks[1..]] {
        let operations: Vec<Op> = some.iter().map(create_bridge).collect();
        switch.take_exchanged();
        assert!(apply(&mut switch.engine(), &operations).iter().all(Result::is_ok));
        let requests = switch.take_exchanged().requests;
        let [read, limits, created @ ..] = requests.as_slice() else { panic!("{requests:?}") };
        assert_eq!((read.as_str(), limits.as_str()), ("bridge_domain_dump", "cli_inband"));
        assert_eq!(created.len(), 2 * some.len(), "each with the size of its MAC table");
        assert!(created.iter().all(|request| request.starts_with("bridge_domain_")), "{requests:?}");
    }
    let operations: Vec<Op> = networks.iter().map(create_bridge).collect();
    switch.take_exchanged();
    let observed = switch.engine().observe_changed(before, &operations).expect("VPP answers");
    assert_eq!(switch.take_exchanged().requests, ["bridge_domain_dump", "cli_inband"]);
    assert_eq!(observed, observe(&mut switch.engine()));
    assert!(observed.bridges[bridge(&other)].ports.len() == 1 && observed.bridges.len() == 1 + NETWORKS);
}

pub(crate) fn what_is_there_already_is_left_or_configured(switch: &mut VppSwitch) {
    let networks = networks(switch);
    let mut engine = switch.engine();
    // Ours, ours with other settings, and one of others.
    let mut different = networks[1].clone();
    different.bridge.mac_learning = MacLearning::Disabled;
    converge(&mut engine, &switch.desired(&[networks[0].clone(), different], &[]));
    switch.other_client().add_domain(domain_id(bridge(&networks[2])), "theirs");
    let before = switch.other_client().domains();
    let results = apply(&mut engine, &networks.iter().map(create_bridge).collect::<Vec<_>>());
    assert!(is_foreign(&results[2], &networks[2]), "{results:?}");
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), NETWORKS - 1, "{results:?}");
    let foreign = domain_id(bridge(&networks[2]));
    assert_eq!(switch.other_client().domains()[&foreign], before[&foreign]);
    switch.other_client().remove_domain(foreign);
    let desired = switch.desired(&networks, &[]);
    assert_eq!(diff(&desired, &observe(&mut engine)), [create_bridge(&networks[2])]);
}

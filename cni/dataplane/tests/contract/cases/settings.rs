//! VLANs and limits of a port change in place, and are restored after changes by others.

use crate::switch::Settings;
use crate::values::{Values, access, bridge, converge, observe, port_name, tag};
use std::collections::BTreeSet;
use usnet_crds::{KilobitsPerSecond, NodeNetwork, RateLimit, Vlan};
use usnet_dataplane::observed::ObservedPort;
use usnet_dataplane::tagging::Tagging;

fn tags(numbers: &[i64]) -> BTreeSet<usnet_crds::VlanTag> {
    numbers.iter().map(|number| tag(*number)).collect()
}

fn limits(ingress: i64, egress: i64) -> RateLimit {
    let limit = |kilobits: i64| KilobitsPerSecond::try_from(kilobits).ok();
    RateLimit { ingress_kbps: limit(ingress), egress_kbps: limit(egress) }
}

/// The port of `c1` on its network, as observed once the plan is empty.
fn converged<S: Settings>(switch: &S, engine: &mut S::Engine, network: &NodeNetwork) -> ObservedPort {
    converge(engine, &switch.desired(std::slice::from_ref(network), &["c1", "c2"]));
    observe(engine).bridges[bridge(network)].ports[&port_name("c1")].clone()
}

pub(crate) fn every_vlan_mode_is_set_changed_and_put_back(switch: &mut impl Settings) {
    let mut engine = switch.engine();
    let (mut blue, name) = (switch.network("blue"), port_name("c1"));
    converged(switch, &mut engine, &blue);
    let identity = switch.port_identity(&name);
    for vlan in [
        Some(access(7)),
        Some(Vlan::Trunk { trunks: tags(&[7, 8]) }),
        Some(Vlan::NativeTagged { tag: tag(5), trunks: tags(&[7]) }),
        Some(Vlan::NativeUntagged { tag: tag(5), trunks: tags(&[7, 4094]) }),
        Some(Vlan::Trunk { trunks: tags(&[1]) }),
        Some(access(8)),
        None,
    ] {
        blue.port.vlan = vlan.clone();
        assert_eq!(converged(switch, &mut engine, &blue).settings.tagging, Tagging::from(vlan.clone()));
        switch.change_vlans(&name);
        let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
        assert_eq!(converge(&mut engine, &desired).len(), 1, "{vlan:?} was not seen to be changed");
        assert_eq!(converged(switch, &mut engine, &blue).settings.tagging, Tagging::from(vlan));
        assert_eq!(switch.port_identity(&name), identity, "the port was recreated");
    }
}

pub(crate) fn limits_are_set_changed_put_back_and_removed(switch: &mut impl Settings) {
    let mut engine = switch.engine();
    let (mut blue, name) = (switch.network("blue"), port_name("c1"));
    blue.port.rate_limit = limits(500, 0);
    converged(switch, &mut engine, &blue);
    assert_eq!(switch.enforced(&name), limits(500, 0), "of a new port");
    let identity = switch.port_identity(&name);
    for limits in [limits(8000, 0), limits(0, 1000), limits(20_000, 4000), limits(2000, 1_000_000), limits(0, 0)] {
        blue.port.rate_limit = limits;
        assert_eq!(converged(switch, &mut engine, &blue).settings.rate_limit, Some(limits));
        assert_eq!(switch.enforced(&name), limits);
        switch.change_limits(&name);
        assert_ne!(switch.enforced(&name), limits);
        let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
        assert_eq!(converge(&mut engine, &desired).len(), 1, "{limits} was not seen to be changed");
        assert_eq!((switch.enforced(&name), switch.port_identity(&name)), (limits, identity.clone()));
    }
}

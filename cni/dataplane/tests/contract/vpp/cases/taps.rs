//! Taps: what the pod has of them.

use crate::switch::Switch;
use crate::values::{Values, apply, converge};
use crate::vpp::switch::VppSwitch;

/// The link and the addresses of a pod's interface without what is volatile; `None` without the
/// interface.
fn interface(switch: &VppSwitch, container: &str) -> Option<String> {
    let output = switch.in_pod(&format!("ip -o addr show dev {container} scope global"));
    let link = switch.in_pod(&format!("ip -o link show dev {container}"))?;
    let [index, rest] = link.split(": ").take(2).collect::<Vec<_>>().try_into().expect("a link");
    let mac = link.split("link/ether ").nth(1).expect("a MAC address").get(..17).expect("a MAC address");
    let mtu = link.split("mtu ").nth(1).and_then(|text| text.split(' ').next()).expect("an MTU");
    Some(format!("{index} {rest} {mac} {mtu} {}", output.unwrap_or_default().trim()))
}

pub(crate) fn the_interface_of_a_pod_stays_while_vpp_is_gone_and_goes_with_its_port(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
    converge(&mut switch.engine(), &desired);
    switch.in_pod("ip address add 192.0.2.5/24 dev c1").expect("an address");
    switch.in_pod("ip route add 198.51.100.0/24 via 192.0.2.1 dev c1").expect("a route");
    let route = |switch: &VppSwitch| switch.in_pod("ip route show 198.51.100.0/24").expect("routes");
    let before = interface(switch, "c1").expect("an interface");
    assert!(before.contains("02:00:00:00:00:01 1500") && before.contains("192.0.2.5/24"), "{before}");
    switch.kill();
    assert_eq!(interface(switch, "c1"), Some(before.clone()));
    switch.restart();
    assert_eq!(converge(&mut switch.engine(), &desired).len(), 3, "a bridge and two ports");
    assert_eq!(interface(switch, "c1"), Some(before));
    assert!(route(switch).contains("via 192.0.2.1"), "{}", route(switch));
    assert_eq!(apply(&mut switch.engine(), &[switch.remove_port_op("c1", &blue)]), [Ok(())]);
    assert_eq!(interface(switch, "c1"), None);
    assert!(interface(switch, "c2").is_some());
}

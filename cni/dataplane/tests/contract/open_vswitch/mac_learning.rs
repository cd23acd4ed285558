//! Whether a bridge learns is verified in the FDB of the switch, with packets from the bridge's own
//! device.

use super::{start, vsctl};
use crate::switch::Switch;
use crate::values::{Values, converge, port_name, update_bridge};
use std::process::Stdio;
use std::time::{Duration, Instant};
use usnet_crds::{MacAge, MacLearning};
use usnet_test_openvswitch::OpenVswitch as Daemons;

const TIMEOUT: Duration = Duration::from_secs(20);

fn run(daemons: &Daemons, arguments: &str) {
    let mut command = daemons.command("busybox");
    let status = command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    // The ARP request is not answered, which busybox reports by its exit status.
    status.expect("busybox");
}

fn appctl(daemons: &Daemons, command: &str) -> String {
    daemons.appctl(&command.split(' ').collect::<Vec<_>>()).expect("ovs-appctl")
}

/// The addresses that the bridge knows, without the heading.
fn learned(daemons: &Daemons) -> usize {
    appctl(daemons, "fdb/show br-blue").lines().skip(1).count()
}

/// Sends broadcasts from the bridge's device until `seen`.
fn send_until(daemons: &Daemons, what: &str, seen: impl Fn() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !seen() {
        assert!(Instant::now() < end, "{what}\n{}", appctl(daemons, "dpctl/dump-flows netdev@ovs-netdev"));
        run(daemons, "arping -q -c 1 -w 1 -I br-blue 192.0.2.2");
    }
}

#[test]
fn a_bridge_that_must_not_learn_does_not_and_learns_when_it_may_again() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let mut blue = daemons.network("blue");
    blue.bridge.mac_learning = MacLearning::Disabled;
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c1"]));
    run(&daemons, "ip address add 192.0.2.1/24 dev br-blue");
    run(&daemons, "ip link set br-blue up");
    let is_flooded = || appctl(&daemons, "dpctl/dump-flows netdev@ovs-netdev").contains("eth_type(0x0806)");
    send_until(&daemons, "no packet came through the bridge", is_flooded);
    assert_eq!(learned(&daemons), 0, "{}", appctl(&daemons, "fdb/show br-blue"));

    blue.bridge.mac_learning = MacLearning::Enabled;
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c1"]));
    send_until(&daemons, "the bridge learned nothing", || learned(&daemons) == 1);

    blue.bridge.mac_learning = MacLearning::Disabled;
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c1"]));
    assert_eq!(learned(&daemons), 0, "what it had learned is forgotten");
}

#[test]
fn foreign_settings_are_kept_and_a_bridge_of_an_earlier_release_is_updated() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let mut blue = daemons.network("blue");
    let desired = daemons.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let identity = daemons.port_identity(&port_name("c1"));
    let config = || vsctl(&daemons, "get Bridge br-blue other_config flood_vlans");
    assert_eq!(config(), "{mac-aging-time=\"300\"}\n[]\n");

    // An earlier release knew no age of MAC addresses.
    vsctl(&daemons, "set Bridge br-blue other_config={forward-bpdu=true}");
    assert_eq!(converge(&mut engine, &desired), [update_bridge(&blue)]);
    assert_eq!(config(), "{forward-bpdu=\"true\", mac-aging-time=\"300\", mac-table-size=\"8192\"}\n[]\n");
    blue.bridge.mac_age_seconds = MacAge::try_from(15).expect("an age");
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c1"]));
    assert_eq!(config(), "{forward-bpdu=\"true\", mac-aging-time=\"15\", mac-table-size=\"8192\"}\n[]\n");
    assert_eq!(daemons.port_identity(&port_name("c1")), identity);
}

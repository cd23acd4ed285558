//! Settings of others that stop a bridge from forwarding, in the database and in OpenFlow, and what
//! becomes of the frames of pods.

use super::uplinks::{self, UPLINK_BRIDGE};
use super::{Daemons, Kind, OneSwitch, vsctl};
use crate::cases::counters::{received_by_pod, send};
use crate::switch::Switch;
use crate::values::{Values, bridge, converge, observe, port_name};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use usnet_dataplane::port::PortName;
use usnet_openflow::forwarding::{self, Flooding, Forwarding};

const TIMEOUT: Duration = Duration::from_secs(5);
const UNDISTURBED: Forwarding = Forwarding { is_normal: true, has_normal: true };

fn start() -> OneSwitch {
    OneSwitch { daemons: Daemons::start().expect("Open vSwitch"), kind: Kind::Veth }
}

/// Whether frames of one pod arrive at the other.
fn passes(switch: &OneSwitch) -> bool {
    let before = received_by_pod(switch, "c2");
    send(switch, "c1");
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        if received_by_pod(switch, "c2") > before {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn ofctl(switch: &OneSwitch, arguments: &str) {
    let mut command = switch.command("ovs-ofctl");
    let status = command.env("OVS_RUNDIR", switch.folder()).args(arguments.split(' ')).status().expect("ovs-ofctl");
    assert!(status.success(), "ovs-ofctl {arguments}");
}

fn management(switch: &OneSwitch, bridge: &str) -> PathBuf {
    usnet_openflow::socket(switch.control_socket().parent().expect("its folder"), bridge)
}

fn look(switch: &OneSwitch, bridge: &str) -> Forwarding {
    forwarding::look(&management(switch, bridge), TIMEOUT).expect("a switch")
}

#[test]
fn what_stops_a_bridge_from_forwarding_is_put_back_in_place() {
    let switch = start();
    let mut engine = switch.engine();
    let desired = switch.desired(&[switch.network("blue")], &["c1", "c2"]);
    converge(&mut engine, &desired);
    assert!(passes(&switch));
    let identity = switch.port_identity(&port_name("c1"));
    for change in [
        "set-fail-mode br-blue secure",
        "set-controller br-blue tcp:127.0.0.1:9",
        "set Bridge br-blue stp_enable=true",
        "set Bridge br-blue rstp_enable=true",
        "set Bridge br-blue mcast_snooping_enable=true other_config:mcast-snooping-disable-flood-unregistered=true",
        "set Bridge br-blue protocols=OpenFlow13",
        &format!("set Port {} protected=true -- set Port {} protected=true", port_name("c1"), port_name("c2")),
        &format!("set Port {} lacp=active", port_name("c2")),
    ] {
        vsctl(&switch, change);
        assert!(!converge(&mut engine, &desired).is_empty(), "{change}");
        assert!(passes(&switch), "{change}");
        assert_eq!(look(&switch, "br-blue"), UNDISTURBED, "{change}");
    }
    assert_eq!(switch.port_identity(&port_name("c1")), identity);
}

#[test]
fn flows_of_others_are_seen_and_replaced() {
    let switch = start();
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1", "c2"]));
    assert_eq!(look(&switch, "br-blue"), UNDISTURBED);
    let (none, others) =
        (Forwarding { is_normal: false, has_normal: false }, Forwarding { is_normal: false, has_normal: true });
    for (change, seen) in [
        ("del-flows br-blue", none),
        ("add-flow br-blue actions=drop", others),
        ("add-flow br-blue udp,actions=drop", others),
        ("add-flow br-blue priority=0,actions=drop", none),
    ] {
        ofctl(&switch, change);
        assert_eq!(look(&switch, "br-blue"), seen, "{change}");
        assert!(!passes(&switch), "{change}");
        forwarding::restore(&management(&switch, "br-blue"), TIMEOUT).expect(change);
        assert_eq!(look(&switch, "br-blue"), UNDISTURBED, "{change}");
        assert!(passes(&switch), "{change}");
    }
}

#[test]
fn ports_that_others_closed_are_opened_and_no_other_port_is() {
    let switch = start();
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1", "c2"]));
    let (one, other) = (port_name("c1"), port_name("c2"));
    let open = |ports: &[&PortName]| {
        let names = ports.iter().map(ToString::to_string).collect();
        forwarding::open_ports(&management(&switch, "br-blue"), TIMEOUT, &names, Flooding::ToAll).expect("a switch")
    };
    for (port, config) in [(&other, "no-forward"), (&other, "no-flood"), (&other, "down"), (&one, "no-receive")] {
        ofctl(&switch, &format!("mod-port br-blue {port} {config}"));
        assert!(!passes(&switch), "{config}");
        let not_it = if port == &one { &other } else { &one };
        assert!(open(&[not_it]).is_empty() && !passes(&switch), "{config}");
        assert_eq!(open(&[&one, &other]), [port.to_string()].into(), "{config}");
        assert!(passes(&switch), "{config}");
    }
    assert!(open(&[&one, &other]).is_empty());
}

#[test]
fn a_switch_that_does_not_answer_for_its_flows_is_an_error_in_time() {
    let switch = start();
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &[]));
    assert!(forwarding::look(&management(&switch, "br-none"), TIMEOUT).is_err());
    switch.pause_vswitchd().expect("a signal");
    let since = Instant::now();
    assert!(forwarding::look(&management(&switch, "br-blue"), Duration::from_millis(200)).is_err());
    assert!(since.elapsed() < TIMEOUT);
    switch.resume_vswitchd().expect("a signal");
    assert_eq!(look(&switch, "br-blue"), UNDISTURBED);
}

#[test]
fn an_uplink_that_does_not_forward_is_put_back() {
    let switch = uplinks::start();
    let mut engine = switch.engine();
    let desired = uplinks::desired(&switch, &[("blue", Some(100))]);
    converge(&mut engine, &desired);
    let blue = "blue".parse().expect("a name");
    let end = PortName::of_uplink_end(&blue);
    for change in [
        format!("set-fail-mode {UPLINK_BRIDGE} secure"),
        format!("set Bridge {UPLINK_BRIDGE} stp_enable=true"),
        format!("set Port {end} protected=true"),
        format!("set Port {} protected=true", uplinks::NIC),
    ] {
        vsctl(&switch, &change);
        assert!(!converge(&mut engine, &desired).is_empty(), "{change}");
        let actions = uplinks::broadcast(&switch, UPLINK_BRIDGE, uplinks::NIC, ",dl_vlan=100");
        assert!(actions.contains(&uplinks::number(&switch, port_name("blue").as_str())), "{change}: {actions}");
    }
    assert!(observe(&mut engine).bridges[bridge(&switch.network("blue"))].has_supported_datapath);
}

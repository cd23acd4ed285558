//! Policies that are unknown, known, changed, too large and disabled.

use super::scene::{ALLOWED, LIMIT, REFUSED, Scene, blue, server, wait_for_reason, with_rules};
use crate::support::node::until;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use usnet_crds::conditions::reason::{POLICIES_UNKNOWN, POLICY_TOO_LARGE};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};
use usnet_crds::{EngineKind, Policies};
use usnet_dataplane::counters::CounterReader;
use usnet_dataplane::ovs::POLICY_ZONE_KEY;
use usnet_dataplane::ovs::connection_limits::CONNECTIONS_MAX;

#[test]
fn pods_are_closed_until_policies_are_known_and_then_get_what_these_allow() {
    let scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    let message = wait_for_reason(&agent, POLICIES_UNKNOWN);
    assert_eq!(scene.testbed.wait_until_unavailable("blue"), POLICIES_UNKNOWN);
    assert!(message.contains("config/components/policies"), "{message}");
    scene.wait_until("all is closed", [false, false]);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.testbed.wait_until_programmed("blue");
    scene.wait_until("one port is open", [true, false]);
    let mut counters = CounterReader::new(EngineKind::OpenVswitch, scene.testbed.ovs.socket().to_owned());
    until("what policies refuse is counted", || {
        let of_server = counters.read().unwrap().remove(scene.server_port())?;
        of_server.drop_causes.get("policy_ingress").is_some_and(|count| *count > 0).then_some(())
    });
    until("and counted for the network", || {
        let labels = ["blue", "policy_ingress"];
        (agent.metric_of("usnet_agent_refused_frames_total", &labels) > 0.0).then_some(())
    });
    let connections = |name: &str| agent.metric_of(&format!("usnet_agent_policy_connections{name}"), &["blue"]);
    until("connections are counted", || (connections("") > 0.0).then_some(()));
    assert!((connections("_max") - f64::from(CONNECTIONS_MAX)).abs() < f64::EPSILON);
    agent.set_policies(Vec::new());
    scene.wait_until("nothing is restricted", [true, true]);
    agent.set_policies(server(1, 2));
    scene.wait_until("nothing is allowed", [false, false]);
}

/// Of datagrams that are sent to the second port again and again, how long after a change the last
/// one arrived, or the first one did.
fn effective_after(scene: &Scene, change: impl FnOnce(), opens: bool) -> Duration {
    scene.received();
    change();
    let changed = Instant::now();
    let mut last = Duration::ZERO;
    // What is not seen for so long does not come any more.
    while changed.elapsed() < last + Duration::from_millis(500) {
        assert!(changed.elapsed() < LIMIT, "{last:?}");
        scene.send(REFUSED);
        std::thread::sleep(Duration::from_millis(1));
        let [_, arrived] = scene.received();
        if arrived > 0 {
            last = changed.elapsed();
            if opens {
                return last;
            }
        } else if opens {
            last = changed.elapsed();
        }
    }
    last
}

#[test]
fn a_changed_policy_is_effective_soon() {
    let scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..5 {
        agent.set_policies(server(ALLOWED, REFUSED));
        scene.wait_until("both ports are open", [true, true]);
        times[0].push(effective_after(&scene, || agent.set_policies(server(ALLOWED, ALLOWED)), false));
        scene.wait_until("one port is open", [true, false]);
        times[1].push(effective_after(&scene, || agent.set_policies(server(ALLOWED, REFUSED)), true));
    }
    println!("closed and opened after {times:?}");
    // On a quiet machine it is a tenth of that.
    assert!(times.iter().flatten().all(|time| *time < Duration::from_millis(500)), "{times:?}");
}

#[test]
fn policies_that_need_too_much_close_the_pods_until_they_are_fewer() {
    let scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
    let rule = |number: u32| {
        let peer = std::net::IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number));
        PolicyRule {
            peers: PeerAddresses::Within([peer.into()].into()),
            peer_pods: BTreeSet::new(),
            ports: DestinationPorts::Any,
        }
    };
    agent.set_policies(with_rules((0..5_000).map(rule).collect()));
    let message = wait_for_reason(&agent, POLICY_TOO_LARGE);
    assert!(message.contains("at most 4000 may"), "{message}");
    scene.wait_until("all is closed", [false, false]);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.testbed.wait_until_programmed("blue");
    scene.wait_until("one port is open", [true, false]);
}

#[test]
fn policies_are_enabled_and_disabled_under_running_pods() {
    let scene = Scene::new();
    let agent = scene.agent(Policies::Disabled);
    scene.testbed.wait_until_programmed("blue");
    scene.wait_until("nothing is restricted", [true, true]);
    assert_eq!(scene.zone(), "");
    let ports = scene.testbed.rows("Port", &["_uuid", "name"]);
    for number in 0..2 {
        agent.set_spec(number * 2 + 2, &[blue(Policies::Enabled)]);
        // What was known before is outdated, too.
        wait_for_reason(&agent, POLICIES_UNKNOWN);
        scene.wait_until("all is closed", [false, false]);
        agent.set_policies(server(ALLOWED, ALLOWED));
        scene.wait_until("one port is open", [true, false]);
        assert_eq!(scene.zone(), "65535");
        agent.set_spec(number * 2 + 3, &[blue(Policies::Disabled)]);
        scene.wait_until("nothing is restricted", [true, true]);
        assert_eq!(scene.zone(), "");
    }
    assert_eq!(scene.testbed.rows("Port", &["_uuid", "name"]), ports, "nothing is created again");
}

#[test]
fn what_others_change_of_a_bridge_with_policies_is_put_right() {
    let scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
    let (testbed, tag) = (&scene.testbed, format!("external_ids:\"{POLICY_ZONE_KEY}\""));
    let is_right = || {
        let mode = testbed.vsctl("get Bridge br-blue fail_mode");
        // A bridge keeps the zone that it has.
        (mode == "secure" && scene.zone().parse::<u16>().is_ok()).then_some(())
    };
    for change in [
        "set Bridge br-blue fail_mode=standalone".to_owned(),
        "clear Bridge br-blue fail_mode".to_owned(),
        format!("remove Bridge br-blue external_ids {POLICY_ZONE_KEY}"),
        format!("set Bridge br-blue {tag}=7"),
        format!("set Bridge br-blue {tag}=none"),
    ] {
        testbed.vsctl(&change);
        until(&change, is_right);
        scene.wait_until(&change, [true, false]);
    }
    for change in ["del-flows br-blue", "add-flow br-blue priority=40000,actions=NORMAL", "del-flows br-blue table=30"]
    {
        let mut command = testbed.ovs.command("ovs-ofctl");
        command.env("OVS_RUNDIR", testbed.ovs.folder()).args(["-O", "OpenFlow14"]).args(change.split(' '));
        assert!(command.status().unwrap().success(), "{change}");
        scene.wait_until(change, [true, false]);
    }
}

//! The local ports of bridges, to which nothing is flooded.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;

fn run(testbed: &OvsTestbed, program: &str, arguments: &[&str]) -> String {
    let mut command = testbed.ovs.command(program);
    let output = command.env("OVS_RUNDIR", testbed.ovs.folder()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The ports of the datapath that get a broadcast which the first port sends.
fn receivers(testbed: &OvsTestbed) -> Vec<String> {
    let frame = "in_port=1,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff";
    let traced = testbed.ovs.appctl(&["ofproto/trace", "br-blue", frame]).unwrap();
    let actions = traced.lines().find_map(|line| line.strip_prefix("Datapath actions: ")).expect("actions");
    actions.split(',').filter(|action| *action != "drop").map(str::to_owned).collect()
}

fn wait_until_unflooded(testbed: &OvsTestbed, when: &str) {
    until(when, || {
        let ports = run(testbed, "ovs-ofctl", &["show", "br-blue"]);
        let (_, local) = ports.split_once(" LOCAL(")?;
        let config = local.lines().find_map(|line| line.trim().strip_prefix("config: "))?;
        config.contains("NO_FLOOD").then_some(())
    });
}

#[test]
fn nothing_is_flooded_to_the_local_port_of_a_network_and_everything_to_its_other_ports() {
    let mut testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    for (number, port) in (1..).zip(["one", "two"]) {
        let interface = format!("set Interface {port} type=internal ofport_request={number}");
        testbed.vsctl(&format!("add-port br-blue {port} -- {interface}"));
        run(&testbed, "ovs-ofctl", &["mod-port", "br-blue", port, "up"]);
    }
    wait_until_unflooded(&testbed, "the bridge is new");
    assert_eq!(receivers(&testbed).len(), 1, "{:?}", receivers(&testbed));
    run(&testbed, "ovs-ofctl", &["mod-port", "br-blue", "br-blue", "flood"]);
    assert_eq!(receivers(&testbed).len(), 2, "{:?}", receivers(&testbed));
    wait_until_unflooded(&testbed, "another client has changed it");
    testbed.ovs.kill_vswitchd().unwrap();
    testbed.ovs.start_vswitchd().unwrap();
    wait_until_unflooded(&testbed, "the switch was started again");
    testbed.wait_until_programmed("blue");
}

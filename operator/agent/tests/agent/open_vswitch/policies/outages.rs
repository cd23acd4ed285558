//! Restarts of the switch and of the agent, and ports that are recreated.

use super::scene::{ALLOWED, B, REFUSED, Scene, server};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use usnet_crds::Policies;

/// Datagrams to a port, one in a millisecond, until this is stopped; or those that arrive.
struct Stream {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Stream {
    fn start(scene: &Scene, port: u16) -> Self {
        let (sender, stop) = (scene.sender(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while !stopped.load(Ordering::Relaxed) {
                sent += usize::from(sender.send_to(b"stream", (B, port)).is_ok());
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        Self { stop, thread }
    }

    /// Counts what arrives at the port that is allowed, until this is stopped.
    fn count(scene: &Scene) -> Self {
        let (receiver, stop) = (scene.receiver(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut arrived = 0;
            while !stopped.load(Ordering::Relaxed) {
                while receiver.recv_from(&mut [0; 16]).is_ok() {
                    arrived += 1;
                }
                thread::sleep(Duration::from_millis(1));
            }
            arrived
        });
        Self { stop, thread }
    }

    /// Returns how many were sent, or arrived.
    fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[test]
fn a_switch_that_is_killed_lets_nothing_pass_that_policies_refuse() {
    let mut scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
    let attack = Stream::start(&scene, REFUSED);
    for restart in 0..3 {
        scene.testbed.ovs.kill_vswitchd().unwrap();
        scene.testbed.ovs.start_vswitchd().unwrap();
        // Nothing passes before the agent has written the flows.
        scene.wait_until("one port is open again", [true, false]);
        let [_, refused] = scene.received();
        assert_eq!(refused, 0, "{restart}");
    }
    assert!(attack.stop() > 1_000);
    assert_eq!(scene.received()[1], 0);
}

#[test]
fn a_restarted_agent_interrupts_nothing_and_needs_no_api_server() {
    let mut scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.testbed.wait_until_programmed("blue");
    scene.wait_until("one port is open", [true, false]);
    let copy = scene.paths.policies_file();
    crate::support::node::until("there is a copy of the policies", || copy.exists().then_some(()));
    drop(agent);
    scene.received();
    // The socket has room for a quarter of a second only.
    let (stream, counter) = (Stream::start(&scene, ALLOWED), Stream::count(&scene));
    let agent = crate::support::running_agent::RunningAgent::start(&scene.paths);
    let reported = |entry: &usnet_crds::node_state::NetworkReport| entry.reason.is_empty();
    agent.wait_for_network("blue", "is programmed", reported);
    thread::sleep(Duration::from_millis(500));
    let sent = stream.stop();
    thread::sleep(Duration::from_millis(200));
    let arrived = counter.stop();
    assert!(sent > 100 && arrived + sent / 100 >= sent, "{arrived} of {sent}");

    // The switch loses the flows, and the agent knows them from its copy.
    scene.testbed.ovs.kill_vswitchd().unwrap();
    scene.testbed.ovs.start_vswitchd().unwrap();
    scene.wait_until("one port is open again", [true, false]);
}

#[test]
fn an_agent_without_policies_leaves_what_it_finds_and_opens_nothing_after_a_restart_of_the_switch() {
    let mut scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
    drop(agent);
    let _no_copy = std::fs::remove_file(scene.paths.policies_file());
    let agent = crate::support::running_agent::RunningAgent::start(&scene.paths);
    super::scene::wait_for_reason(&agent, usnet_crds::conditions::reason::POLICIES_UNKNOWN);
    scene.wait_until("one port is still open", [true, false]);
    scene.recreate_server("b2");
    scene.forget_neighbors();
    scene.wait_until("a new port is closed", [false, false]);
    scene.testbed.ovs.kill_vswitchd().unwrap();
    scene.testbed.ovs.start_vswitchd().unwrap();
    super::scene::wait_for_reason(&agent, usnet_crds::conditions::reason::POLICIES_UNKNOWN);
    scene.wait_until("all is closed", [false, false]);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
}

#[test]
fn a_port_that_is_made_again_gets_what_policies_allow() {
    let mut scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
    for container in ["b2", "b3"] {
        scene.recreate_server(container);
        scene.wait_until("one port is open", [true, false]);
    }
}

/// A program that ends between the two steps of a new port leaves it in the VLAN of its first one.
#[test]
fn a_port_that_was_left_in_quarantine_is_put_into_its_network() {
    let scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.wait_until("one port is open", [true, false]);
    let port = scene.server_port().as_str();
    scene.testbed.vsctl(&format!("set Port {port} tag=4095"));
    crate::support::node::until("the port is in no VLAN", || {
        (scene.testbed.ovs.vsctl(&["get", "Port", port, "tag"]).ok()?.trim() == "[]").then_some(())
    });
    scene.wait_until("one port is open again", [true, false]);
}

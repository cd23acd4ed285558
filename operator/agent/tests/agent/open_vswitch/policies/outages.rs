//! Restarts of the switch and of the agent, and ports that are recreated.

use super::scene::{ALLOWED, B, REFUSED, Scene, server};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
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

/// What is killed, and started again.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Switch,
    Database,
    Agent,
}

const VICTIMS: [Victim; 3] = [Victim::Switch, Victim::Database, Victim::Agent];

/// Kills a part again and again while datagrams are sent that policies refuse: none of them
/// arrives, and what is allowed does after each time.
#[expect(clippy::print_stdout, reason = "the times are what make nightly is for")]
fn kill_under_attack(victim: Victim, kills: usize) {
    let mut scene = Scene::new();
    let mut agent = Some(scene.agent(Policies::Enabled));
    if let Some(agent) = &agent {
        agent.set_policies(server(ALLOWED, ALLOWED));
    }
    scene.wait_until("one port is open", [true, false]);
    let copy = scene.paths.policies_file();
    until("there is a copy of the policies", || copy.exists().then_some(()));
    let (before, attack) = (scene.refused(), Stream::start(&scene, REFUSED));
    let mut longest = Duration::ZERO;
    for number in 0..kills {
        let began = Instant::now();
        match victim {
            Victim::Switch => {
                scene.testbed.ovs.kill_vswitchd().unwrap();
                scene.testbed.ovs.start_vswitchd().unwrap();
            }
            Victim::Database => {
                scene.testbed.ovs.kill_ovsdb_server().unwrap();
                scene.testbed.ovs.start_ovsdb_server().unwrap();
            }
            Victim::Agent => {
                drop(agent.take());
                agent = Some(RunningAgent::start(&scene.paths));
            }
        }
        // Nothing passes before the agent has written the flows.
        scene.wait_until("one port is open again", [true, false]);
        longest = longest.max(began.elapsed());
        assert_eq!(scene.refused(), before, "{victim:?}, {number}");
    }
    let sent = attack.stop();
    println!("{kills} kills of {victim:?}, {longest:?} the longest: {sent} datagrams were sent, and none arrived");
    assert!(sent > 100);
    assert_eq!(scene.refused(), before);
}

#[test]
fn a_part_that_is_killed_lets_nothing_pass_that_policies_refuse() {
    VICTIMS.into_iter().for_each(|victim| kill_under_attack(victim, 3));
}

#[test]
#[ignore = "long: a minute; `make nightly` runs it"]
fn parts_that_are_killed_twenty_times_let_nothing_pass_that_policies_refuse() {
    VICTIMS.into_iter().for_each(|victim| kill_under_attack(victim, 20));
}

#[test]
fn a_restarted_agent_interrupts_nothing_and_needs_no_api_server() {
    let mut scene = Scene::new();
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(server(ALLOWED, ALLOWED));
    scene.testbed.wait_until_programmed("blue");
    scene.wait_until("one port is open", [true, false]);
    let copy = scene.paths.policies_file();
    until("there is a copy of the policies", || copy.exists().then_some(()));
    drop(agent);
    scene.received();
    // The socket has room for a quarter of a second only.
    let (stream, counter) = (Stream::start(&scene, ALLOWED), Stream::count(&scene));
    let agent = RunningAgent::start(&scene.paths);
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
    let agent = RunningAgent::start(&scene.paths);
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
    until("the port is in no VLAN", || {
        (scene.testbed.ovs.vsctl(&["get", "Port", port, "tag"]).ok()?.trim() == "[]").then_some(())
    });
    scene.wait_until("one port is open again", [true, false]);
}

//! Kernel pods whose frames the packet threads of the switch have by AF_XDP.

use super::segmentation::scene::pod;
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use std::net::{IpAddr, UdpSocket};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use usnet_crds::{NodeNetwork, PortType, VethDatapath, XdpMode};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::port::PortBackend;
use usnet_test_openvswitch::OpenVswitch;

/// TCP that makes no progress for so long has stalled.
const STALL: Duration = Duration::from_secs(20);
const BYTES: usize = 20_000_000;

fn blue() -> NodeNetwork {
    let mut blue = network("blue");
    (blue.port.port_type, blue.port.veth.datapath) = (PortType::Veth, VethDatapath::AfXdp);
    blue
}

/// A switch whose packet thread sleeps while there is nothing to do.
fn testbed() -> OvsTestbed {
    let mut ovs = OpenVswitch::builder().without_vswitchd().start().unwrap();
    let last_cpu = available_parallelism().map_or(0, |cpus| cpus.get() - 1).min(63);
    let mask = format!("other_config:pmd-cpu-mask=0x{:x}", 1_u64 << last_cpu);
    // Until Open vSwitch 3.1, and since.
    let sleeps = ["other_config:pmd-maxsleep=100", "other_config:pmd-sleep-max=100"];
    ovs.vsctl(&["--no-wait", "set", "Open_vSwitch", ".", &mask, sleeps[0], sleeps[1]]).unwrap();
    ovs.start_vswitchd().unwrap();
    OvsTestbed::with(ovs)
}

fn by_af_xdp(record: Record) -> Record {
    let Some(device) = record.port.backend.device().cloned() else { panic!("no device") };
    let mut record = record;
    record.port.backend = PortBackend::AfXdp { device, mode: XdpMode::BestEffort };
    record
}

/// Some seconds, or as many as `USNET_FAST_PATH_SECONDS` says.
fn length() -> Duration {
    let seconds = std::env::var("USNET_FAST_PATH_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(20))
}

/// Both directions of UDP, a datagram at a time.
fn answers(from: &Namespace, to: &Namespace, address: IpAddr) -> bool {
    let echo = to.run(move || UdpSocket::bind((address, 0)).unwrap()).join().unwrap();
    let port = echo.local_addr().unwrap().port();
    echo.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let echoed = to.run(move || {
        let mut buffer = [0; 2000];
        (0..100).all(|_| {
            echo.recv_from(&mut buffer)
                .and_then(|(length, peer)| echo.send_to(buffer.get(..length).unwrap_or_default(), peer))
                .is_ok()
        })
    });
    let asked = from.run(move || {
        let socket = UdpSocket::bind((IpAddr::from([0; 4]), 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut buffer = [0; 2000];
        (0..100).all(|number: u16| {
            let length = 18 + usize::from(number) * 14;
            socket.send_to(&vec![7; length], (address, port)).is_ok()
                && socket.recv_from(&mut buffer).is_ok_and(|(answer, _)| answer == length)
        })
    });
    asked.join().unwrap() & echoed.join().unwrap()
}

/// With kills of the switch, which leave its programs on the devices.
#[test]
fn tcp_and_udp_do_not_stall_whatever_happens_to_the_switch() {
    let mut testbed = testbed();
    let pods = [("c1", "10.9.0.1/24"), ("c2", "10.9.0.2/24")]
        .map(|(name, address)| pod(&testbed, (name, address), &blue(), by_af_xdp));
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    testbed.wait_until_programmed("blue");
    let types = |testbed: &OvsTestbed| testbed.vsctl("--bare --columns=type find Interface type=afxdp");
    until("both pods have their ports", || (types(&testbed).split_whitespace().count() == 2).then_some(()));

    let [one, other] = &pods;
    let (started, mut rounds, mut bytes) = (Instant::now(), 0_u32, 0);
    while started.elapsed() < length() || rounds < 4 {
        for (from, to, address) in [(one, other, [10, 9, 0, 2]), (other, one, [10, 9, 0, 1])] {
            let address = IpAddr::from(address);
            assert!(transfer(from, to, address, BYTES, STALL).is_some(), "TCP stalled in round {rounds}");
            bytes += BYTES;
            assert!(answers(from, to, address), "UDP was lost in round {rounds}");
        }
        rounds += 1;
        if rounds % 4 == 2 {
            testbed.ovs.kill_vswitchd().unwrap();
            agent.wait_for_connection("NotActing");
            testbed.ovs.start_vswitchd().unwrap();
            testbed.wait_until_programmed("blue");
        }
    }
    println!("{rounds} rounds, {} MB by TCP in {:?}", bytes / 1_000_000, started.elapsed());
}

/// By AF_XDP Open vSwitch 3.1 sends packets that other ports would finish with wrong checksums, and
/// bytes of them as frames.
#[test]
fn a_switch_with_segmentation_offload_has_no_ports_by_af_xdp() {
    let testbed = testbed();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    let wait_until = |datapath| {
        until(&format!("ports are by {datapath:?}"), || match testbed.file("blue") {
            Some(NetworkFile::Programmed(file)) if file.network.port.veth.datapath == datapath => Some(()),
            _ => None,
        });
    };
    wait_until(VethDatapath::AfXdp);
    testbed.vsctl("--no-wait set Open_vSwitch . other_config:userspace-tso-enable=true");
    wait_until(VethDatapath::Kernel);
    let found = agent.wait_for_network("blue", "unsuitable", |entry| entry.reason == "EngineUnsuitable");
    assert!(found.message.contains("userspace-tso-enable"), "{}", found.message);
    testbed.vsctl("--no-wait set Open_vSwitch . other_config:userspace-tso-enable=false");
    wait_until(VethDatapath::AfXdp);
}

/// What the plugin writes when a port by AF_XDP was refused.
#[test]
fn an_interface_that_was_refused_af_xdp_says_so() {
    let testbed = testbed();
    let refused = |mut record: Record| {
        record.port.without_af_xdp = Some("could not add network device".to_owned());
        record
    };
    let _pod = pod(&testbed, ("c1", "10.9.0.1/24"), &blue(), refused);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue()]);
    testbed.wait_until_programmed("blue");
    agent.wait_for_network("blue", "has a slower interface", |entry| {
        let mut slower = entry.degraded.iter().filter(|it| it.reason == "WithoutAFXDP");
        slower.any(|it| it.message.contains("could not add network device"))
    });
}

//! The kernel's nftables, in a network namespace of each test. Needs root.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use usnet_dataplane::nftables::expression::{Base, Verdict, counter, equals, forward_to, in_set, meta};
use usnet_dataplane::nftables::expression::{not_in_set, payload, verdict};
use usnet_dataplane::nftables::{BaseChain, Batch, ChainHook, ChainKind, KeyType, MetaKey, Nftables, NftablesError};
use usnet_dataplane::nftables::{NftablesMonitor, Policy, Table};

const DEVICES: Table = Table::netdev("usnet-test");
const PACKETS: Table = Table::inet("usnet-test");

fn namespace() -> Nftables {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip("link set lo up");
    ip("link add eth0 type veth peer name wire");
    Nftables::open().unwrap()
}

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "ip {arguments}");
}

fn index_of(device: &str) -> u32 {
    let output = Command::new("ip").args(["-o", "link", "show", device]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(':').next().unwrap().parse().unwrap()
}

fn chain(name: &str, device: &str) -> BaseChain {
    let hook = ChainHook::Ingress { device: device.to_owned() };
    BaseChain { name: name.to_owned(), hook, priority: -400, policy: Policy::Drop, kind: ChainKind::Filter }
}

#[test]
fn a_chain_of_a_device_is_created_listed_and_deleted() {
    let mut nftables = namespace();
    assert_eq!(nftables.chains(DEVICES).unwrap(), []);
    for _ in 0..2 {
        let mut batch = Batch::default();
        batch.add_table(DEVICES);
        batch.add_chain(DEVICES, &chain("a", "eth0"));
        nftables.commit(batch).unwrap();
    }
    let found = nftables.chains(DEVICES).unwrap();
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((found.name.as_str(), found.devices.as_slice()), ("a", ["eth0".to_owned()].as_slice()));
    assert_eq!((found.priority, found.drops, found.uses), (-400, true, 0));
    let delete = || {
        let mut batch = Batch::default();
        batch.delete_chain(DEVICES, "a");
        batch
    };
    nftables.commit(delete()).unwrap();
    assert_eq!(nftables.chains(DEVICES).unwrap(), []);
    assert!(matches!(nftables.commit(delete()), Err(NftablesError::Missing(_))));
}

#[test]
fn a_batch_with_an_error_changes_nothing_and_the_connection_goes_on() {
    let mut nftables = namespace();
    let mut batch = Batch::default();
    batch.add_table(DEVICES);
    batch.add_chain(DEVICES, &chain("a", "eth0"));
    batch.delete_chain(DEVICES, "b");
    batch.add_chain(DEVICES, &chain("c", "eth0"));
    assert!(matches!(nftables.commit(batch), Err(NftablesError::Missing(_))));
    assert_eq!(nftables.chains(DEVICES).unwrap(), []);
    let mut batch = Batch::default();
    batch.add_table(DEVICES);
    nftables.commit(batch).unwrap();
    nftables.commit(Batch::default()).unwrap();
}

#[test]
fn rules_match_by_sets_and_more_elements_than_fit_into_a_message() {
    let mut nftables = namespace();
    let mut batch = Batch::default();
    batch.add_table(PACKETS);
    batch.add_set(PACKETS, "peers", KeyType::Ipv4, 1);
    let addresses = || (0..1200_u32).map(|number| (0x0a00_0000 + number).to_be_bytes().to_vec());
    batch.add_elements(PACKETS, "peers", addresses());
    let name = "input".to_owned();
    batch.add_chain(
        PACKETS,
        &BaseChain { name, hook: ChainHook::Input, priority: -150, policy: Policy::Accept, kind: ChainKind::Filter },
    );
    let drop_strangers = vec![
        meta(MetaKey::Nfproto),
        equals(&[2]),
        payload(Base::Network, 9, 1),
        equals(&[17]),
        payload(Base::Transport, 2, 2),
        equals(&4789_u16.to_be_bytes()),
        payload(Base::Transport, 12, 3),
        equals(&[0, 0, 7]),
        payload(Base::Network, 12, 4),
        not_in_set("peers"),
        counter(),
        verdict(Verdict::Drop),
    ];
    batch.add_rule(PACKETS, "input", drop_strangers.clone());
    batch.add_rule(PACKETS, "input", vec![payload(Base::Network, 12, 4), in_set("peers"), verdict(Verdict::Accept)]);
    nftables.commit(batch).unwrap();
    assert_eq!(nftables.elements(PACKETS, "peers").unwrap().unwrap(), addresses().collect());
    let rules = nftables.rules(PACKETS, "input").unwrap();
    assert_eq!(rules.iter().map(Vec::len).collect::<Vec<_>>(), [drop_strangers.len(), 3]);
    let mut batch = Batch::default();
    batch.delete_elements(PACKETS, "peers", addresses().skip(1));
    batch.flush_chain(PACKETS, "input");
    nftables.commit(batch).unwrap();
    assert_eq!(nftables.elements(PACKETS, "peers").unwrap().unwrap(), [vec![10, 0, 0, 0]].into());
    assert_eq!(nftables.elements(PACKETS, "none").unwrap(), None);
    assert_eq!(nftables.rules(PACKETS, "input").unwrap(), Vec::<Vec<_>>::new());
}

#[test]
fn frames_are_forwarded_to_another_device() {
    let mut nftables = namespace();
    for command in
        ["link add second type veth peer name end", "link set eth0 up", "link set wire up", "link set second up"]
    {
        ip(command);
    }
    ip("link set end up");
    let index = index_of("second");
    let mut batch = Batch::default();
    batch.add_table(DEVICES);
    batch.add_chain(DEVICES, &chain("a", "eth0"));
    batch.add_rule(DEVICES, "a", forward_to(index).to_vec());
    nftables.commit(batch).unwrap();
    let received = || {
        let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let line = text.lines().find_map(|line| line.trim().strip_prefix("end:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = received();
    ip("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev wire");
    ip("addr add 10.0.0.1/24 dev wire");
    let socket = std::net::UdpSocket::bind("10.0.0.1:0").unwrap();
    socket.send_to(b"x", "10.0.0.2:9").unwrap();
    assert!((0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        received() > before
    }));
}

#[test]
fn changes_by_others_are_noticed() {
    let mut nftables = namespace();
    let monitor = NftablesMonitor::open().unwrap();
    assert!(!monitor.drain().unwrap());
    let mut batch = Batch::default();
    batch.add_table(DEVICES);
    nftables.commit(batch).unwrap();
    assert!(monitor.drain().unwrap());
    assert!(!monitor.drain().unwrap());
}

//! The tables of a guard, run on frames by a model of VPP's classifier.

use super::layout::REACH;
use super::*;
use std::net::IpAddr;

const FRAMES: &str = include_str!("../../../../testdata/guard/frames.txt");
const FRAGMENTS: &str = include_str!("../../../../testdata/guard/fragments.txt");

#[derive(Clone)]
struct Frame {
    name: &'static str,
    is_own: bool,
    bytes: Vec<u8>,
}

fn frames(table: &'static str) -> Vec<Frame> {
    let parse = |line: &'static str| {
        let [verdict, hexadecimal, name] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let digits = (0..hexadecimal.len()).step_by(2);
        let bytes = digits.map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap()).collect();
        Frame { name, is_own: verdict == "own", bytes }
    };
    table.lines().filter(|line| !line.starts_with('#')).map(parse).collect()
}

fn guard(text: &str) -> Guard {
    text.parse().unwrap()
}

/// The verdict of the first table with a session; what is behind the end of a frame is `beyond`.
fn verdict(tables: &[Table], frame: &[u8], beyond: u8) -> Verdict {
    let mut bytes = frame.to_vec();
    bytes.resize(bytes.len().max(REACH), beyond);
    let found = tables.iter().find_map(|table| {
        let key: Vec<u8> = table.kind.mask().iter().zip(&bytes).map(|(mask, byte)| mask & byte).collect();
        table.sessions.iter().find(|session| session.matched == key)
    });
    found.map_or(Verdict::Drop, |session| session.verdict)
}

/// The names of the frames that pass, of own and of forged ones.
fn passed(guard: &Guard, table: &'static str) -> (Vec<&'static str>, Vec<&'static str>) {
    let tables = chain(guard);
    let all = frames(table);
    let passed = all.iter().filter(|frame| verdict(&tables, &frame.bytes, 0) == Verdict::Pass);
    let (own, forged): (Vec<_>, Vec<_>) = passed.partition(|frame| frame.is_own);
    let names = |frames: Vec<&Frame>| frames.into_iter().map(|frame| frame.name).collect();
    (names(own), names(forged))
}

fn own(table: &'static str) -> Vec<&'static str> {
    frames(table).iter().filter(|frame| frame.is_own).map(|frame| frame.name).collect()
}

const OF_A: &str = "02:00:00:00:00:0a 10.9.0.10 fd09::a";

#[test]
fn own_frames_pass_and_of_the_forged_ones_three_that_no_table_can_tell() {
    let (passed, forged) = passed(&guard(OF_A), FRAMES);
    assert_eq!((passed.len(), passed), (17, own(FRAMES)));
    assert_eq!(forged, ["NA own, tll of c", "NS own, sll of c", "IPv4 own, total length too short"]);
}

#[test]
fn a_virtual_router_sends_from_its_mac_address_and_others_do_not() {
    let of_router = format!("{OF_A} 10.9.0.99 10.9.0.100@00:00:5e:00:01:05");
    let without = passed(&guard(OF_A), FRAMES).1;
    let mut with = passed(&guard(&of_router), FRAMES).1;
    with.retain(|name| !without.contains(name));
    assert_eq!(with, ["IPv4 of no pod", "VRRP, virtual MAC"]);
    let any = chain(&guard("02:00:00:00:00:0a any 10.9.0.100@00:00:5e:00:01:05"));
    let pass = frames(FRAMES).iter().filter(|frame| verdict(&any, &frame.bytes, 0) == Verdict::Pass).count();
    let of_mac = frames(FRAMES).iter().filter(|frame| frame.bytes[6..12] == [2, 0, 0, 0, 0, 0xa]).count();
    assert_eq!(pass, of_mac + 1);
}

#[test]
fn nothing_is_announced_or_served_in_fragments_or_behind_a_wrong_length() {
    let (passed, forged) = passed(&guard(OF_A), FRAGMENTS);
    assert_eq!(passed, ["IPv6 own, first fragment of UDP", "IPv6 own, later fragment of UDP"]);
    // Of these a receiver makes nothing: the fragment that could be completed is refused.
    assert_eq!(forged, ["DHCP server offer, first fragment of 0 bytes"]);
}

#[test]
fn with_a_mac_address_alone_everything_from_it_passes_and_nothing_else() {
    let tables = chain(&guard("02:00:00:00:00:0a any"));
    for frame in [frames(FRAMES), frames(FRAGMENTS)].concat() {
        let is_own = frame.bytes[6..12] == [2, 0, 0, 0, 0, 0xa];
        assert_eq!(verdict(&tables, &frame.bytes, 0) == Verdict::Pass, is_own, "{}", frame.name);
    }
}

#[test]
fn a_client_of_dhcp_may_ask_and_a_port_without_addresses_only_announces_its_mac_address() {
    let asks = "DHCP client, static IPAM";
    assert_eq!(
        passed(&guard("02:00:00:00:00:0a dhcp"), FRAMES),
        (vec!["RARP own (QEMU after a migration)"], vec![asks])
    );
    assert_eq!(passed(&guard("02:00:00:00:00:0a"), FRAMES), (vec!["RARP own (QEMU after a migration)"], vec![]));
    assert!(passed(&guard("02:00:00:00:00:0a dhcp 10.9.0.10"), FRAMES).1.contains(&asks));
}

#[test]
fn without_an_address_of_a_family_nothing_of_it_passes() {
    let (passed, _) = passed(&guard("02:00:00:00:00:0a fd09::a"), FRAMES);
    assert!(passed.iter().all(|name| !name.starts_with("IPv4") && !name.starts_with("ARP")), "{passed:?}");
    assert_eq!(passed.len(), 8, "{passed:?}");
}

/// VPP compares what was in the buffer before.
#[test]
fn a_frame_that_is_cut_off_has_its_own_addresses_whatever_follows() {
    let tables = chain(&guard(OF_A));
    let end_of_addresses = 34;
    for frame in frames(FRAMES).iter().filter(|frame| !frame.is_own && frame.bytes.len() >= end_of_addresses) {
        let at_zero = verdict(&tables, &frame.bytes, 0);
        for beyond in 1..=u8::MAX {
            assert_eq!(verdict(&tables, &frame.bytes, beyond), at_zero, "{} and {beyond}", frame.name);
        }
    }
}

/// A router advertisement from the own link-local address, behind options of this many bytes.
fn advertisement_behind(options: &[u8], kind: u8) -> Vec<u8> {
    let source = "fe80::ff:fe00:a".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let macs = [0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0xa, 0x86, 0xdd];
    let groups = "ff02::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    [&macs, &[0x60, 0, 0, 0, 0, 40, kind, 255][..], &source, &groups, options, &[134, 0, 0, 0, 0, 0, 0, 0]].concat()
}

#[test]
fn a_router_advertisement_is_not_taken_for_a_listener_report_by_longer_options() {
    let tables = chain(&guard(OF_A));
    let short = [58, 0, 5, 2, 0, 0, 1, 0];
    for report in [131, 132, 143] {
        // The ninth byte is where a report has its type.
        let long = [58, 1, 5, 2, 0, 0, 1, 4, report, 0, 0, 0, 0, 0, 0, 0];
        for kind in [0, 43, 60] {
            for options in [&short[..], &long] {
                assert_eq!(verdict(&tables, &advertisement_behind(options, kind), 0), Verdict::Drop, "{report} {kind}");
            }
        }
    }
}

#[test]
fn later_fragments_pass_whatever_is_where_ports_and_types_would_be() {
    let tables = chain(&guard(OF_A));
    let all = frames(FRAGMENTS);
    let frame = |name: &str| all.iter().find(|frame| frame.name == name).unwrap().bytes.clone();
    let mut udp = frame("IPv6 own, later fragment of UDP");
    udp[62..66].copy_from_slice(&[2, 0x23, 2, 0x22]);
    let own = frames(FRAMES).into_iter().find(|frame| frame.name == "IPv4 own, later fragment").unwrap();
    let mut ipv4 = own.bytes;
    ipv4[34..38].copy_from_slice(&[0, 67, 0, 68]);
    ipv4[23] = 17;
    for bytes in [udp, ipv4] {
        assert_eq!(verdict(&tables, &bytes, 0), Verdict::Pass);
    }
}

#[test]
fn no_address_of_a_group_or_of_nothing_is_one_of_a_pod() {
    let text = "02:00:00:00:00:0a 0.0.0.0 224.0.0.1 255.255.255.255 :: ff02::1";
    let kinds: Vec<Kind> = chain(&guard(text)).iter().map(|table| table.kind).collect();
    assert_eq!(kinds, [Kind::Arp, Kind::Text]);
}

#[test]
fn a_port_has_as_many_tables_and_sessions_as_its_addresses_need() {
    for (text, tables, sessions) in [
        ("02:00:00:00:00:0a any", 2, 2),
        ("02:00:00:00:00:0a 10.9.0.10", 6, 8),
        ("02:00:00:00:00:0a dhcp 10.9.0.10", 7, 9),
        (OF_A, 13, 43),
    ] {
        let chain = chain(&guard(text));
        let count: usize = chain.iter().map(|table| table.sessions.len()).sum();
        assert_eq!((chain.len(), count), (tables, sessions), "{text}");
    }
}

#[test]
fn tables_differ_in_their_masks_and_sessions_have_nothing_but_what_is_compared() {
    let long: Vec<IpAddr> = (1..=20)
        .flat_map(|last| [format!("10.9.0.{last}"), format!("fd09::{last}")])
        .map(|ip| ip.parse().unwrap())
        .collect();
    let addresses = long.into_iter().collect();
    let guard = Guard { addresses: GuardedAddresses::Only { addresses, dhcp: true }, ..guard(OF_A) };
    let tables = chain(&guard);
    let masks: BTreeSet<Vec<u8>> = tables.iter().map(|table| table.kind.mask()).collect();
    assert_eq!((masks.len(), tables.len()), (14, 14));
    for table in &tables {
        let mask = table.kind.mask();
        assert!(mask.len() <= REACH && mask.len() % 16 == 0, "{:?}", table.kind);
        for session in &table.sessions {
            assert_eq!(session.matched.len(), mask.len());
            assert!(session.matched.iter().zip(&mask).all(|(byte, mask)| byte & mask == *byte), "{:?}", table.kind);
        }
    }
}

fn as_read(tables: Vec<Table>) -> Vec<ObservedTable> {
    let of = |(index, table): (u32, Table)| ObservedTable {
        index,
        mask: table.kind.mask(),
        drops_others: true,
        sessions: table.sessions,
    };
    (0..).zip(tables).map(of).collect()
}

#[test]
fn a_guard_is_read_back_from_its_tables_and_any_change_is_another_guard() {
    let many = format!("02:00:00:00:00:0a dhcp{}", (1..60).map(|last| format!(" fd09::{last:x}")).collect::<String>());
    for text in ["02:00:00:00:00:0a any", "02:00:00:00:00:0a", OF_A, "02:00:00:00:00:0a fe80::ff:fe00:a", &many] {
        let guard = guard(text);
        let tables = as_read(chain(&guard));
        assert_eq!(guard_of(&tables), guard);
        assert_eq!(chain(&guard).into_iter().find(|table| Kind::of(&table.kind.mask()) != Some(table.kind)), None);
        assert!(tables.iter().any(ObservedTable::is_own));
        for at in 0..tables.len() {
            let mut without = tables.clone();
            without.remove(at);
            assert_ne!(guard_of(&without), guard);
            let mut open = tables.clone();
            open[at].drops_others = false;
            assert_ne!(guard_of(&open), guard);
            let mut fewer = tables.clone();
            if fewer[at].sessions.pop_first().is_some() {
                assert_ne!(guard_of(&fewer), guard, "{text} {at}");
            }
            let mut more = tables.clone();
            let matched = vec![1; tables[at].mask.len()];
            more[at].sessions.insert(Session { matched, verdict: Verdict::Pass, number: 0 });
            assert_ne!(guard_of(&more), guard, "{text} {at}");
        }
    }
}

#[test]
fn a_chain_may_follow_an_empty_table_of_a_former_one() {
    for text in ["02:00:00:00:00:0a any", OF_A, "02:00:00:00:00:0a fe80::ff:fe00:a"] {
        let guard = guard(text);
        let left = |table: Table| as_read([table].into_iter().chain(chain(&guard)).collect());
        let of = |kind: Kind| left(Table::new(kind, []));
        let first = chain(&guard)[0].kind;
        for kind in [Kind::Mac, Kind::DhcpServer, Kind::Arp].into_iter().filter(|kind| *kind != first) {
            assert_eq!(guard_of(&of(kind)), guard, "{text} {kind:?}");
            let session = kind.permit(&[&[2; 6]]);
            assert_ne!(guard_of(&left(Table::new(kind, [session]))), guard, "{text} {kind:?} permits");
            let mut open = of(kind);
            open[0].drops_others = false;
            assert_ne!(guard_of(&open), guard, "{text} {kind:?} is open");
            let mut other = of(kind);
            other[0].mask = vec![0xff; 16];
            assert_ne!(guard_of(&other), guard, "{text} a mask of others");
        }
        assert_ne!(guard_of(&of(first)), guard, "{text}");
    }
}

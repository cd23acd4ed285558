//! Each match, as the switch understands it: in the notation of ovs-fields(7).

use super::switch::{connect, flow, of_port, port, start};
use std::net::{Ipv4Addr, Ipv6Addr};
use usnet_openflow::flow::{
    Action, Arp, ArpOperation, ConnectionState, Fragments, Group, GroupId, Icmpv6, IpPayload, Ipv4, Ipv6, Ipv6Payload,
    Masked, Match, Original, OriginalPayload, Output, Payload, Ports, Register, Step, Vlan, VlanId,
};
use usnet_openflow::{Change, FlowMod, GroupMod, PortNumber};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const IPV4: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 10);
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

fn v6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn of(payload: Payload) -> Match {
    Match { payload, ..Match::default() }
}

fn ipv4(ipv4: Ipv4) -> Match {
    of(Payload::Ipv4(ipv4))
}

fn ipv6(ipv6: Ipv6) -> Match {
    of(Payload::Ipv6(ipv6))
}

fn fragments(fragments: Fragments) -> Match {
    ipv4(Ipv4 { fragments: Some(fragments), ..Ipv4::default() })
}

fn icmpv6(icmpv6: Icmpv6) -> Match {
    ipv6(Ipv6 { payload: Ipv6Payload::Icmp(icmpv6), ..Ipv6::default() })
}

fn link() -> Vec<(Match, &'static str)> {
    let multicast = Masked::new([0xff; 6], [1, 0, 0, 0, 0, 0]);
    vec![
        (Match::default(), ""),
        (of_port(7), "in_port=7"),
        (Match { in_port: Some(PortNumber::LOCAL), ..Match::default() }, "in_port=LOCAL"),
        (Match { eth_src: Some(MAC.into()), ..Match::default() }, "dl_src=02:00:00:00:00:0a"),
        (Match { eth_dst: Some(multicast), ..Match::default() }, "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00"),
        (Match { vlan: Vlan::Untagged, ..Match::default() }, "vlan_tci=0x0000/0x1fff"),
        (Match { vlan: Vlan::Tagged, ..Match::default() }, "vlan_tci=0x1000/0x1000"),
        (Match { vlan: Vlan::Id(VlanId::new(100).expect("a VLAN")), ..Match::default() }, "dl_vlan=100"),
        (of(Payload::EtherType(0x88cc)), "dl_type=0x88cc"),
        (Match { packet_mark: Some(Masked::new(0x90, 0xf0)), ..Match::default() }, "pkt_mark=0x90/0xf0"),
    ]
}

fn arp() -> Vec<(Match, &'static str)> {
    let all = Arp {
        operation: Some(ArpOperation::Reply),
        sender_ip: Some(IPV4.into()),
        target_ip: Some(Masked::new(IPV4, MASK)),
        sender_mac: Some(MAC.into()),
        target_mac: Some(MAC.into()),
    };
    let reverse = Arp { operation: Some(ArpOperation::ReverseRequest), ..Arp::default() };
    let macs = "arp_sha=02:00:00:00:00:0a,arp_tha=02:00:00:00:00:0a";
    let all_fields = format!("arp,arp_spa=10.9.0.10,arp_tpa=10.9.0.0/24,arp_op=2,{macs}");
    vec![
        (of(Payload::Arp(Arp::default())), "arp"),
        (of(Payload::Arp(all)), all_fields.leak()),
        (of(Payload::Rarp(reverse)), "rarp,arp_op=3"),
    ]
}

fn ip() -> Vec<(Match, &'static str)> {
    let ports = Ports { src: Some(67.into()), dst: Some(Masked::new(0x1234, 0xff00)) };
    let (src, dst) = (Some(Masked::new(IPV4, MASK)), Some(IPV4.into()));
    let local = Some(Masked::new(v6("fe80::1"), v6("ffc0::")));
    vec![
        (ipv4(Ipv4 { src, dst, ..Ipv4::default() }), "ip,nw_src=10.9.0.0/24,nw_dst=10.9.0.10"),
        (ipv4(Ipv4 { payload: IpPayload::Protocol(1), ..Ipv4::default() }), "icmp"),
        (ipv4(Ipv4 { payload: IpPayload::Udp(ports), ..Ipv4::default() }), "udp,tp_src=67,tp_dst=0x1200/0xff00"),
        (ipv4(Ipv4 { payload: IpPayload::Tcp(ports), ..Ipv4::default() }), "tcp,tp_src=67,tp_dst=0x1200/0xff00"),
        (fragments(Fragments::No), "ip,nw_frag=no"),
        (fragments(Fragments::Any), "ip,nw_frag=yes"),
        (fragments(Fragments::First), "ip,nw_frag=first"),
        (fragments(Fragments::Later), "ip,nw_frag=later"),
        (fragments(Fragments::NotLater), "ip,nw_frag=not_later"),
        (
            ipv6(Ipv6 { src: local, dst: Some(v6("fd09::a").into()), ..Ipv6::default() }),
            "ipv6,ipv6_src=fe80::/10,ipv6_dst=fd09::a",
        ),
        (
            ipv6(Ipv6 { payload: Ipv6Payload::Ip(IpPayload::Udp(ports)), ..Ipv6::default() }),
            "udp6,tp_src=67,tp_dst=0x1200/0xff00",
        ),
        (ipv6(Ipv6 { fragments: Some(Fragments::Any), ..Ipv6::default() }), "ipv6,nw_frag=yes"),
    ]
}

fn neighbors() -> Vec<(Match, &'static str)> {
    let target = Some(v6("fd09::a").into());
    let (none, mac) = (Some([0; 6].into()), Some(MAC.into()));
    vec![
        (icmpv6(Icmpv6::Any), "icmp6"),
        (icmpv6(Icmpv6::Type(134)), "icmp6,icmp_type=134"),
        (
            icmpv6(Icmpv6::NeighborSolicitation { target, source_mac: none }),
            "icmp6,icmp_type=135,nd_target=fd09::a,nd_sll=00:00:00:00:00:00",
        ),
        (
            icmpv6(Icmpv6::NeighborAdvertisement { target, target_mac: mac }),
            "icmp6,icmp_type=136,nd_target=fd09::a,nd_tll=02:00:00:00:00:0a",
        ),
    ]
}

fn registers() -> Vec<(Match, &'static str)> {
    let upper = Masked::new(0x1_0000, 0xffff_0000);
    let all = [(Register::R0, 7.into()), (Register::R7, upper), (Register::R5, 0.into())];
    vec![
        (Match { registers: all.into(), ..Match::default() }, "reg0=0x7,reg5=0,reg7=0x10000/0xffff0000"),
        (Match { conjunction: Some(258), ..Match::default() }, "conj_id=258"),
    ]
}

fn state(connection: ConnectionState) -> Match {
    Match { connection, ..Match::default() }
}

fn connections() -> Vec<(Match, &'static str)> {
    let (src, dst) = (Some(Masked::new(IPV4, MASK)), Some(IPV4.into()));
    let original = Original { src, dst, ..Original::default() };
    let tcp = OriginalPayload::Tcp { dst: Some(80.into()) };
    let udp = OriginalPayload::Udp { dst: None };
    let v6_src = Some(Masked::new(v6("fd09::"), v6("ffff::")));
    vec![
        (state(ConnectionState::Untracked), "ct_state=-trk"),
        (state(ConnectionState::Invalid), "ct_state=+inv"),
        (state(ConnectionState::Tracked), "ct_state=-inv+trk"),
        (state(ConnectionState::New), "ct_state=+new-inv+trk"),
        (state(ConnectionState::Related), "ct_state=+rel-inv+trk"),
        (state(ConnectionState::Reply), "ct_state=+rpl-inv+trk"),
        (ipv4(Ipv4 { original, ..Ipv4::default() }), "ct_state=-inv+trk,ct_nw_src=10.9.0.0/24,ct_nw_dst=10.9.0.10,ip"),
        (
            ipv4(Ipv4 { original: Original { payload: tcp, ..Original::default() }, ..Ipv4::default() }),
            "ct_state=-inv+trk,ct_nw_proto=6,ct_tp_dst=80,tcp",
        ),
        (
            ipv6(Ipv6 { original: Original { src: v6_src, dst: None, payload: udp }, ..Ipv6::default() }),
            "ct_state=-inv+trk,ct_ipv6_src=fd09::/16,ct_nw_proto=17,udp6",
        ),
    ]
}

#[test]
fn each_match_is_what_the_switch_understands() {
    let daemons = start();
    let mut connection = connect(&daemons);
    for (matches, expected) in [link(), arp(), ip(), neighbors(), registers(), connections()].concat() {
        let changes = [FlowMod::Delete(Match::default()), FlowMod::Add(flow(7, matches, Action::Drop))];
        connection.commit(&changes).expect(expected);
        assert_eq!(
            dumped(&daemons),
            format!("priority=7{}{expected} actions=drop", if expected.is_empty() { "" } else { "," })
        );
    }
}

#[test]
fn each_action_is_what_the_switch_understands() {
    let daemons = start();
    let mut connection = connect(&daemons);
    for (action, expected) in [
        (Action::Drop, "drop"),
        (Action::Output(Output::Normal), "NORMAL"),
        (Action::Output(Output::Port(PortNumber::LOCAL)), "LOCAL"),
        (Action::Output(Output::Port(port(7))), "output:7"),
    ] {
        connection.commit(&[FlowMod::Add(flow(7, Match::default(), action))]).expect(expected);
        assert_eq!(dumped(&daemons), format!("priority=7 actions={expected}"));
    }
}

fn apply(steps: &[Step], next: Option<u8>) -> Action {
    Action::Apply { steps: steps.to_vec(), next }
}

#[test]
fn each_step_is_what_the_switch_understands_and_is_read_back_as_it_was_written() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let exchange = [
        Step::Copy { from: Register::R0, to: Register::R7 },
        Step::Copy { from: Register::R1, to: Register::R0 },
        Step::Copy { from: Register::R7, to: Register::R1 },
    ];
    let moved = "move:NXM_NX_REG0[]->NXM_NX_REG7[],move:NXM_NX_REG1[]->NXM_NX_REG0[],move:NXM_NX_REG7[]->NXM_NX_REG1[]";
    let set = [Step::Set(Register::R0, 7), Step::Track { zone: 9, table: 20 }];
    let commit = [Step::Commit { zone: 9 }, Step::OutputRegister(Register::R6)];
    let conjunction = |id| Step::Conjunction { id, dimension: 0, dimensions: 2 };
    for (action, expected) in [
        (Action::goto(10), "goto_table:10".to_owned()),
        (apply(&set, None), "set_field:0x7->reg0,ct(table=20,zone=9)".to_owned()),
        (apply(&commit, None), "ct(commit,zone=9),output:NXM_NX_REG6[0..15]".to_owned()),
        (apply(&exchange, Some(25)), format!("{moved},goto_table:25")),
        (apply(&[Step::Group(GroupId(258))], Some(30)), "group:258,goto_table:30".to_owned()),
        (apply(&[Step::Resubmit(30), Step::Output(Output::Normal)], None), "resubmit(,30),NORMAL".to_owned()),
        (apply(&[conjunction(1), conjunction(2)], None), "conjunction(1,1/2),conjunction(2,1/2)".to_owned()),
    ] {
        let group = Change::Group(GroupMod::Set(Group { id: GroupId(258), buckets: Vec::new() }));
        // Connections are those of IP.
        let flow = flow(7, ipv4(Ipv4::default()), action.clone());
        connection.commit_all(&[group, Change::Flow(FlowMod::Add(flow))]).expect(&expected);
        assert_eq!(dumped(&daemons), format!("priority=7,ip actions={expected}"));
        let found = super::switch::all(&mut connection);
        assert_eq!(found.first().map(|flow| &flow.instructions), Some(&action.encode()), "{expected}");
    }
}

/// The only flow, without statistics.
fn dumped(daemons: &usnet_test_openvswitch::OpenVswitch) -> String {
    let mut command = daemons.command("ovs-ofctl");
    let arguments = ["-O", "OpenFlow14", "--no-stats", "--no-names", "dump-flows", super::switch::BRIDGE];
    let output = command.env("OVS_RUNDIR", daemons.folder()).args(arguments).output().expect("ovs-ofctl");
    let text = String::from_utf8(output.stdout).expect("a text");
    let flows: Vec<&str> = text.lines().filter(|line| line.contains("actions=")).collect();
    let [flow] = flows.as_slice() else { panic!("not one flow: {text:?}") };
    let flow = flow.trim().split_once(", ").map_or(flow.trim(), |(_cookie, flow)| flow);
    flow.to_owned()
}

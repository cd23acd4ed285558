//! A real Open vSwitch with one bridge, and what it says of ports and flows.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use usnet_openflow::flow::{Action, Cookie, CookieFilter, Flow, Match, Output, Payload};
use usnet_openflow::forwarding::Flooding;
use usnet_openflow::{
    Connection, FlowFilter, FlowMod, FragmentMode, InstalledFlow, OpenFlowError, PortNumber, forwarding,
};
use usnet_test_openvswitch::OpenVswitch;

/// A limit that is never reached if there is an answer.
pub(crate) const AMPLE: Duration = Duration::from_secs(30);
pub(crate) const BRIDGE: &str = "br-test";
const MARK: u16 = 0x7573;

pub(crate) fn start() -> OpenVswitch {
    let daemons = OpenVswitch::start().expect("Open vSwitch");
    let bridge = format!("add-br {BRIDGE} -- set Bridge {BRIDGE} datapath_type=netdev fail_mode=secure");
    vsctl(&daemons, &bridge);
    daemons
}

pub(crate) fn vsctl(daemons: &OpenVswitch, arguments: &str) -> String {
    daemons.vsctl(&arguments.split(' ').collect::<Vec<_>>()).expect("ovs-vsctl")
}

pub(crate) fn management(daemons: &OpenVswitch) -> PathBuf {
    usnet_openflow::socket(daemons.folder(), BRIDGE)
}

pub(crate) fn connect(daemons: &OpenVswitch) -> Connection {
    Connection::open(&management(daemons), AMPLE).expect("a bridge")
}

pub(crate) fn all(connection: &mut Connection) -> Vec<InstalledFlow> {
    connection.flows(&FlowFilter::default()).expect("flows")
}

pub(crate) fn port(number: u16) -> PortNumber {
    PortNumber::new(number).expect("a port")
}

pub(crate) fn flow(priority: u16, matches: Match, action: Action) -> Flow {
    let cookie = Cookie::new(MARK, matches.in_port.unwrap_or(PortNumber::LOCAL), &matches, &action);
    Flow { table: 0, priority, cookie, matches, action }
}

pub(crate) fn of_port(number: u16) -> Match {
    Match { in_port: Some(port(number)), ..Match::default() }
}

#[test]
fn ports_have_the_numbers_of_the_database() {
    let daemons = start();
    for name in ["one", "two"] {
        vsctl(&daemons, &format!("add-port {BRIDGE} {name} -- set Interface {name} type=internal"));
    }
    let ports = connect(&daemons).ports().expect("ports");
    assert_eq!(ports.len(), 3);
    for found in ports {
        let number = vsctl(&daemons, &format!("get Interface {} ofport", found.name)).trim().to_owned();
        assert_eq!(found.number, number.parse().ok().and_then(PortNumber::new).expect(&found.name));
        let mac = vsctl(&daemons, &format!("get Interface {} mac_in_use", found.name));
        let octets = found.mac.map(|octet| format!("{octet:02x}")).join(":");
        assert_eq!(mac.trim().trim_matches('"'), octets, "{}", found.name);
    }
}

#[test]
fn flows_are_found_by_cookie_and_by_match_and_are_as_they_were_written() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let normal = Action::Output(Output::Normal);
    let arp = Match { payload: Payload::EtherType(0x0806), ..of_port(2) };
    let flows = [
        flow(10, of_port(1), Action::Drop),
        flow(20, of_port(2), normal.clone()),
        flow(30, arp, Action::Output(Output::Port(PortNumber::LOCAL))),
        Flow { cookie: Cookie(1), ..flow(5, Match::default(), normal) },
    ];
    connection.commit(&flows.clone().map(FlowMod::Add)).expect("flows");
    let priorities = |connection: &mut Connection, cookies, matches| {
        let found = connection.flows(&FlowFilter { cookies, matches }).expect("flows");
        let mut priorities: Vec<u16> = found.iter().map(|flow| flow.priority).collect();
        priorities.sort_unstable();
        priorities
    };
    let any = Match::default;
    assert_eq!(priorities(&mut connection, CookieFilter::ANY, any()), [5, 10, 20, 30]);
    assert_eq!(priorities(&mut connection, CookieFilter::of_mark(MARK), any()), [10, 20, 30]);
    assert_eq!(priorities(&mut connection, CookieFilter::of_port(MARK, port(2)), any()), [20, 30]);
    assert_eq!(priorities(&mut connection, CookieFilter::ANY, of_port(2)), [20, 30]);
    for found in all(&mut connection) {
        let flow = flows.iter().find(|flow| flow.priority == found.priority).expect("written");
        assert_eq!((found.table, found.cookie, &found.instructions), (0, flow.cookie, &flow.action.encode()));
        assert_eq!((found.packets, found.bytes), (0, 0));
    }
    connection.commit(&[FlowMod::Delete(of_port(2))]).expect("deleted");
    assert_eq!(priorities(&mut connection, CookieFilter::ANY, any()), [5, 10]);
}

#[test]
fn first_fragments_are_matched_by_what_they_carry_until_the_switch_ends() {
    let mut daemons = start();
    let mut connection = connect(&daemons);
    let mode = |connection: &mut Connection| connection.fragment_mode().expect("a configuration");
    assert_eq!(mode(&mut connection), FragmentMode::Normal);
    connection.match_carried_fragments();
    connection.barrier().expect("set");
    vsctl(&daemons, &format!("set Bridge {BRIDGE} fail_mode=standalone -- set-controller {BRIDGE} tcp:127.0.0.1:9"));
    assert_eq!(mode(&mut connect(&daemons)), FragmentMode::Carried, "flows are flushed, and it stays");
    daemons.kill_vswitchd().expect("a signal");
    daemons.start_vswitchd().expect("a switch");
    assert_eq!(mode(&mut connect(&daemons)), FragmentMode::Normal);
}

#[test]
fn ports_that_are_not_flooded_to_are_those_that_are_named_until_the_switch_ends() {
    let mut daemons = start();
    for name in ["one", "two"] {
        vsctl(&daemons, &format!("add-port {BRIDGE} {name} -- set Interface {name} type=internal"));
    }
    let number = |name: &str| vsctl(&daemons, &format!("get Interface {name} ofport")).trim().parse().ok();
    let [one, two] = ["one", "two"].map(|name| number(name).and_then(PortNumber::new).expect(name));
    let management = management(&daemons);
    let set = |ports: &[(PortNumber, bool)]| {
        forwarding::set_flooding(&management, AMPLE, &ports.iter().copied().collect()).expect("ports")
    };
    assert_eq!([set(&[(one, true)]), set(&[(one, false)]), set(&[(one, false)])], [0, 1, 0]);
    assert_eq!([set(&[(two, false), (port(77), false)]), set(&[(two, false), (one, false)])], [1, 0]);
    let names: BTreeSet<String> = ["two".to_owned()].into();
    let open = |flooding| forwarding::open_ports(&management, AMPLE, &names, flooding).expect("ports");
    // The device is down at first, and is then up without getting what is flooded.
    assert_eq!([open(Flooding::AsItIs), open(Flooding::AsItIs)], [names.clone(), BTreeSet::new()]);
    assert_eq!((set(&[(two, false)]), open(Flooding::ToAll)), (0, names.clone()));
    assert_eq!(set(&[(two, true), (one, true)]), 1);
    assert_eq!(set(&[(two, false)]), 1);
    daemons.kill_vswitchd().expect("a signal");
    daemons.start_vswitchd().expect("a switch");
    let all = [(one, true), (two, true)].into();
    assert_eq!(forwarding::set_flooding(&management, AMPLE, &all).expect("ports"), 0);
}

#[test]
fn thousands_of_flows_are_read() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let flows: Vec<Flow> = (1..=5000).map(|number| flow(10, of_port(number), Action::Drop)).collect();
    let changes: Vec<FlowMod> = flows.iter().cloned().map(FlowMod::Add).collect();
    connection.commit(&changes).expect("flows");
    let cookies = |flows: &mut dyn Iterator<Item = Cookie>| flows.collect::<BTreeSet<_>>();
    let found = all(&mut connection);
    assert_eq!(found.len(), 5000);
    let expected = cookies(&mut flows.iter().map(|flow| flow.cookie));
    assert_eq!(cookies(&mut found.iter().map(|flow| flow.cookie)), expected);
}

#[test]
fn a_bridge_without_openflow_1_4_is_said_to_be_so() {
    let daemons = start();
    vsctl(&daemons, &format!("set Bridge {BRIDGE} protocols=OpenFlow10,OpenFlow13"));
    let error = connect(&daemons).barrier().expect_err("another version");
    assert!(matches!(error, OpenFlowError::Version(_)), "{error:?}");
    vsctl(&daemons, &format!("set Bridge {BRIDGE} protocols=OpenFlow14"));
    connect(&daemons).barrier().expect("a reply");
}

#[test]
fn a_switch_that_hangs_or_is_not_there_is_an_error_in_time() {
    let daemons = start();
    let none = Connection::open(&usnet_openflow::socket(daemons.folder(), "br-none"), AMPLE);
    assert!(matches!(none, Err(OpenFlowError::Connect { source, .. }) if source.kind() == ErrorKind::NotFound));
    let mut connection = connect(&daemons);
    daemons.pause_vswitchd().expect("a signal");
    let since = Instant::now();
    let limit = Duration::from_millis(200);
    connection.set_deadline(limit);
    assert!(connection.barrier().expect_err("no answer").is_timeout());
    let mut another = Connection::open(&management(&daemons), limit).expect("a bridge");
    assert!(another.barrier().expect_err("no answer").is_timeout());
    assert!(since.elapsed() < AMPLE);
    daemons.resume_vswitchd().expect("a signal");
}

#[test]
fn the_end_of_the_switch_ends_a_connection_that_is_kept() {
    let mut daemons = start();
    let mut connection = connect(&daemons);
    connection.keep(Duration::from_millis(50)).expect("a switch that runs");
    daemons.kill_vswitchd().expect("a signal");
    let since = Instant::now();
    connection.keep(AMPLE).expect_err("the switch has ended");
    assert!(since.elapsed() < AMPLE / 2);
}

#[test]
fn a_server_of_something_else_is_not_openflow() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = usnet_openflow::socket(folder.path(), BRIDGE);
    let listener = UnixListener::bind(&socket).expect("a socket");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        std::io::Write::write_all(&mut stream, br#"{"method":"echo"}"#).expect("sent");
        std::io::copy(&mut stream, &mut std::io::sink()).expect("the client's end");
    });
    // The first bytes are a header with a length of 28,005 bytes, which never come.
    let mut connection = Connection::open(&socket, Duration::from_millis(100)).expect("a server");
    assert!(connection.barrier().is_err());
    drop(connection);
    server.join().expect("the server");
}

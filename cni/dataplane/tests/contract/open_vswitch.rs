//! The cases on the real Open vSwitch, and those that are about it alone.

use crate::Switch;
use crate::cases;
use crate::values::{achieve, apply, create_bridge, create_port, desired, network, observe, port_name};
use std::fs;
use std::time::Duration;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::{ElementState, Tagging};
use usnet_dataplane::ovs::OpenVswitch;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Database, Error, Reply, Transaction};
use usnet_test_openvswitch::OpenVswitch as Daemons;

const TIMEOUT: Duration = Duration::from_secs(10);

/// A client that counts its round trips.
pub(crate) struct Counting {
    client: Client,
    round_trips: usize,
}

impl Database for &mut Counting {
    async fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        self.round_trips += 1;
        self.client.transact(transaction)
    }
}

fn client(daemons: &Daemons) -> Client {
    Client::connect(daemons.socket(), TIMEOUT).expect("a database that answers")
}

fn vsctl(daemons: &Daemons, arguments: &str) -> String {
    daemons.vsctl(&arguments.split(' ').collect::<Vec<_>>()).expect("ovs-vsctl")
}

fn row_of_port(daemons: &Daemons, port: &str) -> String {
    vsctl(daemons, &format!("get Port {port} _uuid")).trim().to_owned()
}

impl Switch for Daemons {
    type Engine = OpenVswitch<Client>;

    fn start() -> Self {
        Self::builder().dpdk(true).dpdk_memory(64).start().expect("Open vSwitch")
    }

    fn engine(&self) -> Self::Engine {
        OpenVswitch::new(client(self))
    }

    fn add_foreign_bridge(&self, bridge: &str) {
        vsctl(
            self,
            &format!("add-br {bridge} -- set Bridge {bridge} datapath_type=netdev external_ids:owner=somebody"),
        );
    }

    fn add_foreign_port(&self, bridge: &str, port: &str) {
        vsctl(self, &format!("add-port {bridge} {port} -- set Interface {port} type=internal"));
    }

    fn remove_bridge(&self, bridge: &str) {
        vsctl(self, &format!("del-br {bridge}"));
    }

    fn remove_port(&self, bridge: &str, port: &str) {
        vsctl(self, &format!("del-port {bridge} {port}"));
    }

    fn move_port(&self, port: &str, from: &str, to: &str) {
        let row = row_of_port(self, port);
        vsctl(self, &format!("remove Bridge {from} ports {row} -- add Bridge {to} ports {row}"));
    }

    fn remove_mark(&self, bridge: &str) {
        vsctl(self, &format!("remove Bridge {bridge} external_ids usnet.dev/network"));
    }

    /// `_version` of a row differs after each write of it. The switch itself writes to interfaces and the first table, so there it is what we write.
    fn dump(&self) -> String {
        let mut transaction = Transaction::new();
        let selected = [
            ("Open_vSwitch", &["next_cfg", "bridges"][..]),
            ("Bridge", &["_version", "name"][..]),
            ("Port", &["_version", "name"][..]),
            ("Interface", &["name", "type", "options", "mtu_request", "external_ids"][..]),
        ]
        .map(|(table, columns)| transaction.select(table, vec![], columns));
        let reply = client(self).transact(&transaction).expect("all rows");
        format!("{:#?}", selected.map(|index| reply.raw_rows(index).expect("rows").to_vec()))
    }

    fn port_identity(&self, port: &str) -> String {
        vsctl(self, &format!("get Interface {port} _uuid ofport"))
    }

    fn forwards(&self, bridge: &str, port: &str) -> bool {
        let shown = self.appctl(&["dpif/show"]).expect("what the switch has");
        let of_bridge = shown.lines().skip_while(|line| line.trim() != format!("{bridge}:")).skip(1);
        of_bridge.take_while(|line| line.starts_with("    ")).any(|line| line.contains(port))
    }

    fn kill_forwarding(&mut self) {
        self.kill_vswitchd().expect("kill");
    }

    fn start_forwarding(&mut self) {
        self.start_vswitchd().expect("start");
    }

    fn kill_control(&mut self) {
        self.kill_ovsdb_server().expect("kill");
    }

    fn start_control(&mut self) {
        self.start_ovsdb_server().expect("start");
    }
}

macro_rules! contract {
    ($($case:ident),* $(,)?) => {$(
        #[test]
        fn $case() {
            cases::$case(&mut <Daemons as Switch>::start());
        }
    )*};
}

contract!(
    what_is_asked_for_is_made_and_taken_away,
    the_second_time_nothing_changes,
    a_foreign_bridge_of_the_same_name_is_left_alone,
    a_foreign_port_survives_in_our_bridge,
    what_others_took_away_comes_back,
    a_port_that_others_moved_is_brought_back,
    settings_change_in_place,
    a_bridge_without_our_mark_is_no_longer_ours,
    a_failing_operation_does_not_hold_up_the_others,
    one_socket_serves_one_port,
    a_name_that_is_asked_for_twice_is_given_once,
    a_switch_that_does_not_act_is_an_error_and_made_good_later,
    a_switch_that_does_not_answer_never_looks_empty,
    two_hundred_networks_in_one_go,
    several_attach_at_once,
);

#[test]
fn attaching_takes_two_round_trips_and_so_do_many_networks() {
    let daemons = <Daemons as Switch>::start();
    let mut counting = Counting { client: client(&daemons), round_trips: 0 };
    let networks: Vec<_> = (0..50).map(|number| network(&format!("n{number}"))).collect();
    let bridges: Vec<_> = networks.iter().map(create_bridge).collect();
    for operations in [bridges, vec![create_port("c1", &networks[0])]] {
        counting.round_trips = 0;
        assert!(apply(&mut OpenVswitch::new(&mut counting), &operations).iter().all(Result::is_ok));
        assert_eq!(counting.round_trips, 2);
    }
}

#[test]
fn a_port_that_the_switch_cannot_make_is_refused_in_its_own_words() {
    let daemons = Daemons::start().expect("Open vSwitch without DPDK");
    let mut engine = daemons.engine();
    let blue = network("blue");
    let results = apply(&mut engine, &[create_bridge(&blue), create_port("c1", &blue)]);
    assert_eq!(results[0], Ok(()));
    let Err(OpError::Refused { what, reason }) = &results[1] else { panic!("{results:?}") };
    assert_eq!(*what, format!("port {}", port_name("c1")));
    assert!(reason.contains("Address family not supported"), "{reason}");
    let shown = observe(&mut engine);
    assert!(matches!(shown.bridges["br-blue"].ports[&port_name("c1")].state, ElementState::Failed(_)));
    // Again: it is recorded already and still does not run.
    assert!(apply(&mut engine, &[create_port("c1", &blue)])[0].is_err());
    achieve(&mut engine, &desired(&[blue], &[]));
}

#[test]
fn what_others_changed_on_ours_is_put_right() {
    let daemons = <Daemons as Switch>::start();
    let mut engine = daemons.engine();
    let wanted = desired(&[network("blue")], &["c1"]);
    achieve(&mut engine, &wanted);
    let port = port_name("c1");
    let identity = daemons.port_identity(port.as_str());
    for change in [
        format!("set Port {port} trunks=10,20"),
        format!("set Port {port} vlan_mode=native-untagged tag=5"),
        format!("set Interface {port} mtu_request=2000"),
        "set Interface br-blue mtu_request=2000".to_owned(),
        "clear Interface br-blue mtu_request".to_owned(),
    ] {
        vsctl(&daemons, &change);
        assert_eq!(achieve(&mut engine, &wanted).len(), 1, "{change}");
        assert_eq!(daemons.port_identity(port.as_str()), identity, "{change}");
    }
    assert_eq!(observe(&mut engine).bridges["br-blue"].ports[&port].tagging, Tagging::Untagged);
    // The bridge's own port, and its datapath (there is none in the kernel, so that the bridge goes for a moment).
    let remove_own_port = format!("remove Bridge br-blue ports {}", row_of_port(&daemons, "br-blue"));
    for change in [remove_own_port.as_str(), "set Bridge br-blue datapath_type=system"] {
        vsctl(&daemons, change);
        assert_eq!(achieve(&mut engine, &wanted).len(), 1, "{change}");
        assert_eq!(observe(&mut engine).bridges["br-blue"].state, ElementState::Running);
    }
}

#[test]
fn a_port_that_is_on_two_bridges_is_made_anew() {
    let daemons = <Daemons as Switch>::start();
    let mut engine = daemons.engine();
    let wanted = desired(&[network("blue"), network("red")], &["c1", "c2"]);
    achieve(&mut engine, &wanted);
    vsctl(&daemons, &format!("add Bridge br-red ports {}", row_of_port(&daemons, port_name("c1").as_str())));
    assert_eq!(achieve(&mut engine, &wanted).len(), 3);
    for container in ["c1", "c2"] {
        assert!(daemons.forwards("br-blue", port_name(container).as_str()), "{container}");
    }
}

/// Changing the socket of a port that exists has no effect: the switch has to see that the port goes, before it comes again.
#[test]
fn a_port_with_another_socket_is_made_anew_and_serves_its_own() {
    let daemons = <Daemons as Switch>::start();
    let mut engine = daemons.engine();
    let wanted = desired(&[network("blue")], &["c1"]);
    achieve(&mut engine, &wanted);
    let log = || fs::read_to_string(daemons.folder().join("ovs-vswitchd-dpdk.log")).expect("its log");
    let made = |log: &str| log.matches("using client socket '/run/usnet-contract/c1/net1.sock'").count();
    assert_eq!(made(&log()), 1, "{}", log());
    vsctl(&daemons, &format!("set Interface {} options:vhost-server-path=/run/elsewhere", port_name("c1")));
    assert_eq!(achieve(&mut engine, &wanted).len(), 2);
    assert_eq!(made(&log()), 2);
}

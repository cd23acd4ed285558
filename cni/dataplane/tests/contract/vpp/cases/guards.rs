//! Guards of ports: they are set before a port is up, change in place, and go with it.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe, port_name, try_apply};
use crate::vpp::switch::VppSwitch;
use std::time::Duration;
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::Op;
use usnet_dataplane::vpp::Vpp as Driver;
use usnet_test_vpp::{Breakage, Fault, Moment};
use usnet_vpp::messages::{
    ClassifyAddDelSession, ClassifyAddDelTable, ClassifySessionDump, ClassifyTableByInterface, ClassifyTableIds,
    ClassifyTableInfo, ClassifyTableInfoReply, IfStatusFlags, InputAclSetInterface, L2Flags, L2InputFeatures, NO_TABLE,
    PERMIT,
};

pub(super) const OF_A: &str = "02:00:00:00:00:0a 10.9.0.10 fd09::a";
/// The tables of this guard, of a MAC address alone, and of one IPv4 address.
const TABLES: usize = 13;
const MAC_TABLES: usize = 2;
const IPV4_TABLES: usize = 6;
/// More changing messages than an ADD with such a guard has.
const MANY: u64 = 120;
const SHORT: Duration = Duration::from_millis(500);
const UNSPECIFIED: i32 = -1;

/// A network with these ports, each with its guard.
pub(super) fn desired(switch: &VppSwitch, network: &NodeNetwork, ports: &[(&str, Option<&str>)]) -> Desired {
    let containers: Vec<&str> = ports.iter().map(|(container, _)| *container).collect();
    let mut desired = switch.desired(std::slice::from_ref(network), &containers);
    for (port, (_, guard)) in ports.iter().map(|port| (switch.desired_port(port.0, network), port)) {
        let guard = guard.map(|text| text.parse().expect("a guard"));
        desired.ports.get_mut(&port.owner.owner).expect("a port").settings.guard = guard;
    }
    desired
}

/// The network of bridge domains with guards: its ports do not say so, and neither does a bridge
/// domain.
pub(super) fn network(switch: &VppSwitch) -> NodeNetwork {
    let mut network = switch.network("blue");
    network.bridge.is_guarded = true;
    network
}

fn index(switch: &VppSwitch, container: &str) -> u32 {
    switch.other_client().interface(&port_name(container)).sw_if_index
}

pub(super) fn tables(switch: &VppSwitch) -> Vec<u32> {
    switch.other_client().request(ClassifyTableIds {}).ids
}

/// The first table that is set for a port.
fn first(switch: &VppSwitch, container: &str) -> u32 {
    let sw_if_index = index(switch, container);
    switch.other_client().request(ClassifyTableByInterface { sw_if_index }).l2_table_id
}

/// Whether the frames of a port are filtered, and whether it is up.
pub(super) fn state(switch: &VppSwitch, container: &str) -> (bool, bool) {
    let interface = switch.other_client().interface(&port_name(container));
    let sw_if_index = interface.sw_if_index;
    let flags = switch.other_client().request(L2Flags { sw_if_index, is_set: true, feature_bitmap: 0 });
    let is_filtered = L2InputFeatures(flags.resulting_feature_bitmap).contains(L2InputFeatures::ACL);
    (is_filtered, interface.flags.contains(IfStatusFlags::ADMIN_UP))
}

pub(super) fn guard_of(switch: &VppSwitch, network: &NodeNetwork, container: &str) -> Option<String> {
    let observed = observe(&mut switch.engine());
    observed.bridges[bridge(network)].ports[&port_name(container)].settings.guard.as_ref().map(ToString::to_string)
}

pub(crate) fn a_guard_is_set_changed_in_place_and_removed(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    converge(&mut engine, &desired(switch, &blue, &[("c1", None), ("c2", None)]));
    assert_eq!((state(switch, "c1"), tables(switch).len()), ((false, true), 0));
    let identity = switch.port_identity(&port_name("c1"));
    for (guard, count) in [
        ("02:00:00:00:00:0a 10.9.0.10", IPV4_TABLES),
        (OF_A, TABLES),
        ("02:00:00:00:00:0a 10.9.0.10 10.9.0.11 fd09::a", TABLES),
        // The first table is that of the former guard.
        ("02:00:00:00:00:0a any", 1 + MAC_TABLES),
        ("02:00:00:00:00:0b any", 1 + MAC_TABLES),
        ("02:00:00:00:00:0b dhcp", 4),
        (OF_A, TABLES),
    ] {
        let changes = converge(&mut engine, &desired(switch, &blue, &[("c1", Some(guard)), ("c2", None)]));
        assert_eq!((changes.len(), guard_of(switch, &blue, "c1").as_deref()), (1, Some(guard)));
        assert_eq!((state(switch, "c1"), tables(switch).len()), ((true, true), count), "{guard}");
        assert_eq!(state(switch, "c2"), (false, true));
    }
    assert_eq!(switch.port_identity(&port_name("c1")), identity);
    converge(&mut engine, &desired(switch, &blue, &[("c1", None), ("c2", Some(OF_A))]));
    assert_eq!((state(switch, "c1"), state(switch, "c2"), tables(switch).len()), ((false, true), (true, true), TABLES));
    converge(&mut engine, &Desired::default());
    assert_eq!(tables(switch), Vec::<u32>::new());
}

/// Unset, as another client does it.
fn unset(switch: &VppSwitch, container: &str) {
    let (sw_if_index, l2_table_index) = (index(switch, container), first(switch, container));
    switch.other_client().request(InputAclSetInterface {
        sw_if_index,
        ip4_table_index: NO_TABLE,
        ip6_table_index: NO_TABLE,
        l2_table_index,
        is_add: false,
    });
}

/// The tables of a port in their order.
fn chain(switch: &VppSwitch, container: &str) -> Vec<ClassifyTableInfoReply> {
    let mut next = first(switch, container);
    let mut chain = Vec::new();
    while next != NO_TABLE {
        let info = switch.other_client().request(ClassifyTableInfo { table_id: next });
        next = info.next_table_index;
        chain.push(info);
    }
    chain
}

/// A session is added to a table of the port c1, or the first one is deleted.
fn change_session(switch: &VppSwitch, at: usize, is_add: bool) {
    let table = chain(switch, "c1")[at].clone();
    let found = switch.other_client().dump(ClassifySessionDump { table_id: table.table_id });
    let r#match = if is_add { table.mask } else { found[0].r#match.clone() };
    let (hit_next_index, table_index) = (PERMIT, table.table_id);
    let change = ClassifyAddDelSession { is_add, table_index, hit_next_index, r#match, ..Default::default() };
    switch.other_client().request(change);
}

/// Another table follows a table of the port c1.
fn change_next(switch: &VppSwitch, at: usize, next_table_index: u32) {
    let info = chain(switch, "c1")[at].clone();
    switch.other_client().request(ClassifyAddDelTable {
        is_add: true,
        table_index: info.table_id,
        next_table_index,
        match_n_vectors: info.match_n_vectors,
        mask: info.mask,
        ..ClassifyAddDelTable::default()
    });
}

fn leave_and_return(switch: &VppSwitch, domain: u32) {
    let index = index(switch, "c1");
    switch.other_client().take_out(index, domain);
    switch.other_client().put_into(index, domain);
}

/// Where usnet checks nothing, another client may.
pub(crate) fn a_filter_of_another_client_stays_on_a_port_without_a_guard(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let without = desired(switch, &blue, &[("c1", None)]);
    converge(&mut engine, &without);
    let created = switch.other_client().request(ClassifyAddDelTable {
        is_add: true,
        table_index: NO_TABLE,
        nbuckets: 2,
        memory_size: 1 << 20,
        match_n_vectors: 1,
        next_table_index: NO_TABLE,
        miss_next_index: PERMIT,
        mask: vec![0xff; 16],
        ..ClassifyAddDelTable::default()
    });
    let (sw_if_index, l2_table_index) = (index(switch, "c1"), created.new_table_index);
    switch.other_client().request(InputAclSetInterface {
        sw_if_index,
        ip4_table_index: NO_TABLE,
        ip6_table_index: NO_TABLE,
        l2_table_index,
        is_add: true,
    });
    assert_eq!((converge(&mut engine, &without).len(), guard_of(switch, &blue, "c1")), (0, None));
    assert_eq!((state(switch, "c1"), first(switch, "c1")), ((true, true), l2_table_index));

    // Where it does, its own filter takes that place, and the table of the other client is left.
    converge(&mut engine, &desired(switch, &blue, &[("c1", Some(OF_A))]));
    assert_eq!((guard_of(switch, &blue, "c1").as_deref(), state(switch, "c1")), (Some(OF_A), (true, true)));
    assert!(tables(switch).contains(&l2_table_index));
}

pub(crate) fn what_others_change_of_a_guard_is_repaired(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let desired = desired(switch, &blue, &[("c1", Some(OF_A)), ("c2", Some("02:00:00:00:00:0b any"))]);
    converge(&mut engine, &desired);
    let domain = bridge(&blue).parse().expect("an id");
    for what in 0..7 {
        match what {
            0 => unset(switch, "c1"),
            // Of a table that refuses, of the first one, and of the text.
            1 => change_session(switch, 1, false),
            2 => change_session(switch, 0, true),
            3 => change_session(switch, TABLES - 1, true),
            4 => change_next(switch, 1, chain(switch, "c1")[3].table_id),
            5 => change_next(switch, 5, NO_TABLE),
            _ => leave_and_return(switch, domain),
        }
        assert_ne!(guard_of(switch, &blue, "c1").as_deref(), Some(OF_A), "{what}");
        assert_eq!(converge(&mut engine, &desired).len(), 1, "{what}");
        let found = (state(switch, "c1"), guard_of(switch, &blue, "c1"));
        assert_eq!(found, ((true, true), Some(OF_A.to_owned())), "{what}");
    }
}

pub(crate) fn a_port_with_the_index_of_a_deleted_one_is_not_open(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let guarded = desired(switch, &blue, &[("c1", Some(OF_A))]);
    converge(&mut engine, &guarded);
    let before = index(switch, "c1");
    switch.remove_port(bridge(&blue), &port_name("c1"));
    converge(&mut engine, &guarded);
    assert_eq!((index(switch, "c1"), state(switch, "c1")), (before, (true, true)));
    assert_eq!(tables(switch).len(), TABLES, "those of the deleted one are deleted");
    switch.remove_port(bridge(&blue), &port_name("c1"));
    converge(&mut engine, &desired(switch, &blue, &[("c2", None)]));
    assert_eq!((index(switch, "c2"), state(switch, "c2")), (before, (false, true)), "a port without a guard");
    converge(&mut engine, &desired(switch, &blue, &[("c2", Some("02:00:00:00:00:0a any"))]));
    assert_eq!((state(switch, "c2"), tables(switch).len()), ((true, true), MAC_TABLES));
}

pub(crate) fn a_guarded_port_that_was_taken_out_is_down_until_it_is_guarded_again(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let guarded = desired(switch, &blue, &[("c1", Some(OF_A))]);
    converge(&mut engine, &guarded);
    let index = index(switch, "c1");
    switch.other_client().take_out(index, bridge(&blue).parse().expect("an id"));
    switch.take_exchanged();
    converge(&mut engine, &guarded);
    assert_eq!((state(switch, "c1"), tables(switch).len()), ((true, true), TABLES));
    let changes = switch.changes();
    let at = |name: &str| changes.iter().position(|change| change == name).expect(name);
    let last = |name: &str| changes.iter().rposition(|change| change == name).expect(name);
    assert!(at("sw_interface_set_flags") < at("sw_interface_set_l2_bridge"), "{changes:?}");
    assert!(last("input_acl_set_interface") < last("sw_interface_set_flags"), "{changes:?}");
}

pub(crate) fn a_removed_port_leaves_no_table(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    for with_index in [false, true] {
        converge(&mut engine, &desired(switch, &blue, &[("c1", Some(OF_A)), ("c2", Some(OF_A))]));
        let before = index(switch, "c1");
        let mut remove = switch.remove_port_op("c1", &blue);
        if let Op::RemovePort { interface_index, .. } = &mut remove {
            *interface_index = with_index.then_some(before);
        }
        assert_eq!(apply(&mut engine, &[remove]), [Ok(())]);
        assert_eq!((tables(switch).len(), state(switch, "c2")), (TABLES, (true, true)));
        // An index whose table was deleted before it was unset could not be guarded again.
        converge(&mut engine, &desired(switch, &blue, &[("c2", Some(OF_A)), ("c3", None)]));
        assert_eq!((index(switch, "c3"), first(switch, "c3")), (before, NO_TABLE));
    }
}

pub(crate) fn guards_return_after_a_restart(switch: &mut VppSwitch) {
    let blue = network(switch);
    let guarded = desired(switch, &blue, &[("c1", Some(OF_A)), ("c2", Some("02:00:00:00:00:0b any"))]);
    converge(&mut switch.engine(), &guarded);
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &guarded);
    assert_eq!((state(switch, "c1"), state(switch, "c2")), ((true, true), (true, true)));
    assert_eq!(tables(switch).len(), TABLES + MAC_TABLES);
}

/// VPP ends when the heap of a table is full.
pub(crate) fn a_port_with_many_addresses_fits_its_tables(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let addresses: String = (1..=30).map(|last| format!(" 10.9.0.{last}")).collect();
    let ipv6: String = (1..=30).map(|last| format!(" fd09::{last:x}")).collect();
    let text = format!("02:00:00:00:00:0a dhcp{addresses}{ipv6}");
    let guard: usnet_dataplane::port::Guard = text.parse().expect("a guard");
    let text = guard.to_string();
    converge(&mut engine, &desired(switch, &blue, &[("c1", Some(&text))]));
    assert_eq!((state(switch, "c1"), guard_of(switch, &blue, "c1")), ((true, true), Some(text)));
    let largest = chain(switch, "c1").into_iter().map(|info| info.active_sessions).max();
    assert_eq!(largest, Some(31 * 31 + 31), "advertisements and questions");
}

/// A guarded port as the plugin creates it.
fn create(switch: &VppSwitch, network: &NodeNetwork) -> Op {
    let port = desired(switch, network, &[("c1", Some(OF_A))]).ports.into_values().next().expect("a port");
    Op::CreatePort { port: port.into() }
}

/// Whichever message VPP rejects, an ADD fails and leaves nothing, or the port is filtered.
pub(crate) fn a_rejected_message_leaves_no_open_port_and_no_table(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let alone = switch.desired(std::slice::from_ref(&blue), &[]);
    converge(&mut engine, &alone);
    let create = create(switch, &blue);
    let simulator = switch.vpp().simulator().expect("a case of the simulator");
    let mut refused = 0;
    for nth in 1..MANY {
        simulator.fault(Fault::Fail { nth, retval: UNSPECIFIED });
        let results = apply(&mut engine, std::slice::from_ref(&create));
        simulator.clear_faults();
        if results[0].is_ok() {
            assert_eq!(state(switch, "c1"), (true, true), "message {nth}");
            converge(&mut engine, &alone);
        } else {
            refused += 1;
        }
        let ports = switch.other_client().ports();
        assert_eq!((ports, tables(switch).len()), (0, 0), "message {nth}");
    }
    // Each table, each session, the links between tables, the filter and what all ports need.
    assert!(refused > TABLES + 43 + (TABLES - 1) + 6, "{refused}");
}

/// Whenever VPP ends or disconnects: the port is never up without its filter, and the next plan
/// completes it.
pub(crate) fn after_any_failure_a_guarded_port_is_closed_or_guarded(switch: &mut VppSwitch) {
    let blue = network(switch);
    let guarded = desired(switch, &blue, &[("c1", Some(OF_A))]);
    let create = create(switch, &blue);
    let mut broken = 0;
    for (how, when) in
        [(Breakage::Drop, Moment::Before), (Breakage::Drop, Moment::After), (Breakage::Die, Moment::After)]
    {
        for nth in (1..MANY).step_by(3) {
            converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
            let mut engine = Driver::new(switch.client(SHORT), VppSwitch::socket_ids());
            let simulator = switch.vpp().simulator().expect("a case of the simulator");
            simulator.fault(Fault::Break { how, when, nth });
            let failed = try_apply(&mut engine, std::slice::from_ref(&create)).is_err();
            simulator.clear_faults();
            switch.other_client().drop_connection();
            if !switch.vpp().is_running() {
                switch.kill();
                switch.restart();
            } else if switch.other_client().find(&port_name("c1")).is_some() {
                let (is_filtered, is_up) = state(switch, "c1");
                assert!(is_filtered || !is_up, "{how:?} {when:?} {nth}");
            }
            converge(&mut switch.engine(), &guarded);
            assert_eq!(state(switch, "c1"), (true, true), "{how:?} {when:?} {nth}");
            converge(&mut switch.engine(), &Desired::default());
            broken += u32::from(failed);
            if !failed {
                break;
            }
        }
    }
    assert!(broken >= 60, "{broken}");
}

/// A table that another client deleted cannot be unset. But VPP uses the indexes of tables again,
/// and then it can.
pub(crate) fn an_index_whose_table_was_deleted_is_guarded(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    converge(&mut engine, &desired(switch, &blue, &[("c1", Some("02:00:00:00:00:0a any"))]));
    let (before, table_index) = (index(switch, "c1"), first(switch, "c1"));
    switch.remove_port(bridge(&blue), &port_name("c1"));
    let delete = ClassifyAddDelTable { del_chain: true, table_index, ..ClassifyAddDelTable::default() };
    switch.other_client().request(delete);
    converge(&mut engine, &desired(switch, &blue, &[("c1", Some(OF_A))]));
    assert_eq!((index(switch, "c1"), state(switch, "c1"), tables(switch).len()), (before, (true, true), TABLES));
}

/// On one that does not tell whether it filters frames.
pub(crate) fn before_26_06_a_port_with_a_guard_is_refused(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    let open = desired(switch, &blue, &[("c2", None)]);
    converge(&mut engine, &open);
    let results = apply(&mut engine, &[create(switch, &blue)]);
    let text = results[0].as_ref().expect_err("it cannot be verified").to_string();
    assert!(text.contains("26.06"), "{text}");
    let unguardable = observe(&mut engine).unguardable.expect("it says so without a port");
    assert!(unguardable.contains("26.06") && text.contains(unguardable.trim_start_matches("VPP: ")), "{unguardable}");
    let ports = switch.other_client().ports();
    assert_eq!((ports, tables(switch).len()), (1, 0));
    converge(&mut engine, &open);
}

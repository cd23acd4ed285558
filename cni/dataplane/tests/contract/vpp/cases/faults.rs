//! Faults of the simulator: an older VPP, one that rejects any message of an ADD, and one that
//! crashes around any of them.

use crate::switch::Switch;
use crate::values::{Values, access, apply, bridge, converge, observe, port_name, try_apply};
use crate::vpp::cases::limits::limited;
use crate::vpp::switch::VppSwitch;
use std::time::Duration;
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::diff;
use usnet_dataplane::vpp::Vpp as Driver;
use usnet_test_vpp::{Breakage, Fault, Moment, Simulator};

/// More messages than an ADD has. Each loop below asserts that it got beyond the last one.
const MANY: u64 = 40;
/// For an ADD through a connection that breaks, of which VPP reports nothing.
const SHORT: Duration = Duration::from_millis(500);
/// VPP's `UNSPECIFIED`.
const UNSPECIFIED: i32 = -1;

fn simulator(switch: &VppSwitch) -> &Simulator {
    switch.vpp().simulator().expect("these are cases of the simulator")
}

/// To be run on one that has the older of each two messages.
pub(crate) fn older_messages_are_used(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
    assert_eq!(converge(&mut engine, &desired).len(), 3);
    assert!(switch.forwards(bridge(&blue), &port_name("c1")));
    let changes = switch.changes();
    for name in ["memif_create", "memif_socket_filename_add_del", "bridge_domain_add_del"] {
        assert!(changes.iter().any(|change| change == name), "{name}: {changes:?}");
    }
    converge(&mut engine, &Desired::default());
    assert!(switch.other_client().memifs().is_empty());
}

/// To be run on one that has neither.
pub(crate) fn a_vpp_that_is_too_old_is_distinguished_from_one_without_the_plugin(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let results = apply(&mut engine, &[switch.create_port("c1", &blue)]);
    let text = results[0].as_ref().expect_err("it cannot").to_string();
    assert!(text.contains("memif_create_v2") && text.contains("use VPP 26.06"), "{text}");
    assert!(!text.contains("plugin"), "{text}");
}

/// With all that a port can have.
fn whole(switch: &VppSwitch) -> NodeNetwork {
    let mut network = limited(&switch.network("blue"), Some(500), Some(600));
    network.port.vlan = Some(access(7));
    network
}

/// Whichever message VPP rejects, the ADD either succeeds nevertheless or fails and leaves nothing
/// behind.
pub(crate) fn a_rejected_message_leaves_nothing_behind(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = whole(switch);
    let alone = switch.desired(std::slice::from_ref(&blue), &[]);
    converge(&mut engine, &alone);
    let (sockets, create) = (switch.other_client().sockets(), switch.create_port("c1", &blue));
    let mut refused = 0;
    for nth in 1..MANY {
        simulator(switch).fault(Fault::Fail { nth, retval: UNSPECIFIED });
        let results = apply(&mut engine, std::slice::from_ref(&create));
        simulator(switch).clear_faults();
        match &results[0] {
            Ok(()) => {
                assert!(switch.forwards(bridge(&blue), &port_name("c1")), "message {nth}");
                converge(&mut engine, &alone);
            }
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("UNSPECIFIED"), "message {nth}: {text}");
            }
        }
        let mut other_client = switch.other_client();
        assert_eq!((other_client.ports(), other_client.sockets()), (0, sockets.clone()), "message {nth}");
        assert_eq!(other_client.policers(), [""; 0], "message {nth}");
        drop(other_client);
        assert_eq!(diff(&alone, &observe(&mut engine)), [], "message {nth}");
    }
    // Socket id, memif, tag, MTU, bridge domain, VLAN, two policers and their attachment, admin up.
    // The filter is inherited from the previous one, which was added to no bridge domain.
    assert_eq!(refused, 11);
}

/// Whenever VPP crashes or disconnects, before or after it executed a message: the next read finds
/// all that is missing, and nothing exists twice.
pub(crate) fn after_any_failure_the_next_plan_repairs_it(switch: &mut VppSwitch) {
    let blue = whole(switch);
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let mut broken = 0;
    for how in [Breakage::Drop, Breakage::Restart, Breakage::Die] {
        for when in [Moment::Before, Moment::After] {
            for nth in 1..MANY {
                converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
                let mut engine = Driver::new(switch.client(SHORT), VppSwitch::socket_ids());
                simulator(switch).fault(Fault::Break { how, when, nth });
                let failed = try_apply(&mut engine, &[switch.create_port("c1", &blue)]).is_err();
                simulator(switch).clear_faults();
                switch.other_client().drop_connection();
                if !switch.vpp().is_running() {
                    switch.kill();
                    switch.restart();
                }
                converge(&mut switch.engine(), &desired);
                assert!(switch.forwards(bridge(&blue), &port_name("c1")), "{how:?} {when:?} {nth}");
                let mut other_client = switch.other_client();
                assert_eq!((other_client.ports(), other_client.sockets().len()), (1, 2), "{how:?} {when:?} {nth}");
                assert_eq!(other_client.policers().len(), 2, "{how:?} {when:?} {nth}");
                drop(other_client);
                converge(&mut switch.engine(), &Desired::default());
                if !failed {
                    break;
                }
                broken += 1;
            }
        }
    }
    assert!(broken >= 60, "{broken}");
}

//! What VPP copies, by index, never reaches an interface that was created later.

use crate::cases::captures::{captures, number, start};
use crate::switch::Switch;
use crate::values::{Values, apply, converge, port_name};
use crate::vpp::switch::VppSwitch;
use usnet_dataplane::plan::Op;
use usnet_vpp::messages::{SpanState, SwInterfaceSpanDetails, SwInterfaceSpanDump, SwInterfaceSpanEnableDisable};

fn spans(switch: &VppSwitch) -> Vec<SwInterfaceSpanDetails> {
    let mut client = switch.other_client();
    [false, true].into_iter().flat_map(|is_l2| client.dump(SwInterfaceSpanDump { is_l2 })).collect()
}

fn index(switch: &VppSwitch, container: &str) -> u32 {
    switch.other_client().interface(&port_name(container)).sw_if_index
}

pub(crate) fn no_copies_go_on_after_a_port_was_removed(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let desired = |containers: &[&str]| switch.desired(std::slice::from_ref(&blue), containers);
    converge(&mut switch.engine(), &desired(&["c1", "c2"]));
    start(switch, "c1");
    assert_eq!(spans(switch).len(), 1);
    // Others copy from the port, to it, and in its bridge domain.
    let (one, two) = (index(switch, "c1"), index(switch, "c2"));
    for (from, to, is_l2) in [(one, 0, false), (two, one, false), (two, one, true)] {
        let (sw_if_index_from, sw_if_index_to, state) = (from, to, SpanState::RxTx);
        let request = SwInterfaceSpanEnableDisable { sw_if_index_from, sw_if_index_to, state, is_l2 };
        switch.other_client().request(request);
    }
    assert_eq!(spans(switch).len(), 4);
    // By the agent.
    converge(&mut switch.engine(), &desired(&["c2"]));
    assert_eq!(spans(switch), []);
    // The next port has the index of the removed one.
    converge(&mut switch.engine(), &desired(&["c2", "c3"]));
    assert_eq!((index(switch, "c3"), spans(switch)), (one, Vec::new()));
    captures(switch).stop(number()).expect("stopped");
}

pub(crate) fn a_detach_ends_copies_as_well(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    start(switch, "c1");
    let mut removal = switch.remove_port_op("c1", &blue);
    let Op::RemovePort { interface_index, .. } = &mut removal else { panic!("{removal}") };
    *interface_index = Some(index(switch, "c1"));
    assert_eq!(apply(&mut switch.engine(), &[removal]), [Ok(())]);
    assert_eq!(spans(switch), []);
    captures(switch).stop(number()).expect("stopped");
    assert_eq!(captures(switch).list().expect("captures"), []);
}

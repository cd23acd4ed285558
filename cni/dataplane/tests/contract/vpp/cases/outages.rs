//! A VPP that hangs, crashes in the middle, or lacks a plugin.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, create_bridge, observe, port_name, try_apply, try_observe};
use crate::vpp::switch::VppSwitch;
use std::error::Error;
use std::time::Duration;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::diff;
use usnet_dataplane::vpp::Vpp;

/// Long enough for a VPP that answers, short enough to wait for one that does not.
const SHORT: Duration = Duration::from_millis(500);

/// An error with its sources.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

pub(crate) fn a_hanging_vpp_is_reported_and_nothing_is_created_twice(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let mut engine = Vpp::new(switch.client(SHORT), VppSwitch::socket_ids());
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    switch.vpp().pause().expect("it runs");
    let error = try_observe(&mut engine).expect_err("it hangs");
    assert!(chain(&error).contains("does it hang?"), "{}", chain(&error));
    assert!(try_apply(&mut engine, &[switch.create_port("c1", &blue)]).is_err());
    switch.vpp().resume().expect("it runs");
    // Requests sent while it hung may be executed by now, or in a moment.
    let mut engine = switch.engine();
    for operation in diff(&desired, &observe(&mut engine)) {
        assert_eq!(apply(&mut engine, std::slice::from_ref(&operation)), [Ok(())], "{operation}");
    }
    assert_eq!(diff(&desired, &observe(&mut engine)), []);
    assert_eq!(switch.other_client().memifs().len(), 1);
}

/// As after a crash of VPP, and a second one during the recovery.
pub(crate) fn a_vpp_that_crashes_during_a_replay_is_replayed_again(switch: &mut VppSwitch) {
    let containers: Vec<String> = (0..100).map(|number| format!("c{number}")).collect();
    let containers: Vec<&str> = containers.iter().map(String::as_str).collect();
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &containers);
    for delay in [2, 5, 10, 20] {
        let mut engine = switch.engine();
        let operations = diff(&desired, &observe(&mut engine));
        assert_eq!(operations.len(), 101);
        let filling = std::thread::spawn(move || try_apply(&mut engine, &operations).map(|_| ()));
        // Any moment will do; which one it was is not asserted.
        std::thread::sleep(Duration::from_millis(delay));
        switch.kill();
        let _filled_or_not = filling.join().expect("an error is no panic");
        switch.restart();
    }
    let mut engine = switch.engine();
    assert_eq!(converge(&mut engine, &desired).len(), 101);
    assert!(containers.iter().all(|container| switch.forwards(bridge(&blue), &port_name(container))));
    converge(&mut engine, &Desired::default());
}

/// To be run on a VPP without any plugin.
pub(crate) fn a_missing_plugin_is_named_and_bridges_work_without_it(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let operations = [switch.create_port("c1", &blue), create_bridge(&switch.network("red"))];
    let text = match try_apply(&mut engine, &operations) {
        Ok(results) => {
            assert_eq!(results[1], Ok(()));
            chain(results[0].as_ref().expect_err("there is no memif"))
        }
        Err(error) => chain(&error),
    };
    assert!(text.contains("memif_create") && text.contains("memif_plugin.so"), "{text}");
    assert!(observe(&mut engine).bridges[bridge(&blue)].ports.is_empty());
}

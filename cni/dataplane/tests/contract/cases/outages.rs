//! A switch that does not answer, or does not apply its configuration.

use crate::switch::{Forwarding, Switch};
use crate::values::{Values, bridge, converge, create_bridge, observe, port_name, try_apply, try_observe};
use usnet_dataplane::engine::EngineError;
use usnet_dataplane::plan::diff;

pub(crate) fn a_stalled_switch_is_an_error_and_converges_later(switch: &mut impl Forwarding) {
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let mut engine = switch.engine();
    converge(&mut engine, &switch.desired(&[switch.network("red")], &[]));
    switch.kill_forwarding();
    let operations = diff(&desired, &observe(&mut engine));
    for _ in 0..2 {
        let result = try_apply(&mut engine, &operations);
        assert!(matches!(result, Err(EngineError::NotActing { .. })), "{result:?}");
    }
    switch.start_forwarding();
    converge(&mut engine, &desired);
    assert!(switch.forwards(bridge(&blue), &port_name("c1")));
}

pub(crate) fn a_switch_that_does_not_answer_never_looks_empty<S: Switch>(switch: &mut S) {
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let mut engine = switch.engine();
    let created = converge(&mut engine, &desired);
    switch.kill();
    assert!(try_observe(&mut engine).is_err());
    assert!(try_apply(&mut engine, &[create_bridge(&switch.network("red"))]).is_err());
    switch.restart();
    assert_eq!(converge(&mut engine, &desired), if S::REMEMBERS { vec![] } else { created });
    assert!(switch.forwards(bridge(&blue), &port_name("c1")));
}

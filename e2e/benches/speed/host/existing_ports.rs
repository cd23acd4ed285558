//! Ports that the bridge has before, with records: attached by the plugin, like those measured.

use super::node::Node;
use super::programs::Programs;
use crate::calls::at_once;
use crate::calls::plugin::Plugin;
use std::time::Duration;
use usnet_crds::Port;

/// As many calls at once do not wait for each other too long.
const AT_ONCE: usize = 10;
const TRIES: usize = 5;
/// Numbers of pods from here on are of existing ports.
const FIRST: usize = 1_000_000;

/// Attaches ports of the engine's default type until the bridge has this many.
pub(crate) fn fill(programs: &Programs, node: &Node, present: usize, wanted: usize) {
    eprintln!("{}: {wanted} ports", node.name);
    node.program(&Port { port_type: node.engine.default_port_type(), ..Port::default() });
    let plugin = Plugin::new(programs, node, None);
    for first in (present..wanted).step_by(AT_ONCE) {
        at_once::run(AT_ONCE.min(wanted - first), |number| add(&plugin, FIRST + first + number));
    }
    node.settle();
}

/// On a busy machine the switch may not be in time.
fn add(plugin: &Plugin<'_>, number: usize) -> Duration {
    let failure = (0..TRIES).map_while(|_| plugin.call("ADD", number).1.err()).enumerate().last();
    let (tries, failure) = failure.map_or_else(Default::default, |(index, failure)| (index + 1, failure));
    assert!(tries < TRIES, "{failure}");
    Duration::ZERO
}

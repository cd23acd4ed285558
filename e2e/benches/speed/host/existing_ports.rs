//! Ports that the bridge has before, with records: attached by the plugin, like those measured.

use super::node::Node;
use super::programs::Programs;
use crate::calls::Contestant;
use crate::calls::at_once;
use crate::calls::plugin::Plugin;
use usnet_crds::Port;

/// As many calls at once do not wait for each other too long.
const AT_ONCE: usize = 10;
/// Numbers of pods from here on are of existing ports.
const FIRST: usize = 1_000_000;

/// Attaches ports of the engine's default type until the bridge has this many.
pub(crate) fn fill(programs: &Programs, node: &Node, present: usize, wanted: usize) {
    eprintln!("{}: {wanted} ports", node.name);
    node.program(&Port { port_type: node.engine.default_port_type(), ..Port::default() });
    let plugin = Plugin::new(programs, node, None);
    for first in (present..wanted).step_by(AT_ONCE) {
        at_once::run(AT_ONCE.min(wanted - first), |number| plugin.add(FIRST + first + number));
    }
    assert_eq!(plugin.failures(), Vec::<String>::new());
    node.settle();
}

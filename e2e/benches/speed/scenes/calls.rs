//! ADD and DEL of each kind of port, with few and with many ports on the bridge, one call and many
//! at once: the plugin, the floor, the start of a process, and the same by hand, in turn.

use super::{AT_ONCE, rounds};
use crate::calls::Contestant;
use crate::calls::at_once;
use crate::calls::floor::Floor;
use crate::calls::kind::PortKind;
use crate::calls::ovs_vsctl::OvsVsctl;
use crate::calls::plugin::Plugin;
use crate::calls::unwaited_removal::UnwaitedRemoval;
use crate::calls::vppctl::Vppctl;
use crate::host::node::Node;
use crate::host::programs::Programs;
use std::fs;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_dataplane::atomic_file::{self, Durability};

/// With more ports, by hand is measured one call at a time only: `ovs-vsctl` reads all rows, and a
/// hundred at once would take minutes.
const BY_HAND_AT_ONCE: (usize, usize) = (50, 10);

/// Bytes, about those of a record.
const RECORD_SIZE: usize = 700;

/// What each took for both verbs.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(super) add: Vec<Duration>,
    pub(super) del: Vec<Duration>,
}

/// One row of the tables.
#[derive(Debug)]
pub(crate) struct Row {
    pub(super) kind: PortKind,
    /// Ports that the bridge had before.
    pub(super) ports: usize,
    pub(super) at_once: usize,
    pub(super) plugin: Taken,
    pub(super) floor: Taken,
    pub(super) by_hand: Taken,
    /// The transaction and `ip link del`.
    pub(super) unwaited: Taken,
    pub(super) start: Vec<Duration>,
    /// To write a file of a record's size and have it on disk, which the guarantee of ADD costs.
    pub(super) sync: Vec<Duration>,
}

pub(crate) fn run(programs: &Programs, node: &Node, kinds: &[PortKind], ports: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for kind in kinds {
        node.program(&kind.port);
        for at_once in AT_ONCE.into_iter().filter(|at_once| *at_once == 1 || !kind.is_host_interface()) {
            eprintln!("{}: {}, {ports} ports, {at_once} at once", node.name, kind.name);
            rows.push(measure(programs, node, kind, (ports, at_once)));
        }
    }
    rows
}

fn measure(programs: &Programs, node: &Node, kind: &PortKind, (ports, at_once): (usize, usize)) -> Row {
    let plugin = Plugin::new(programs, node, None);
    let floor = Floor::new(node, kind);
    let by_hand = if at_once == 1 || (at_once, ports) == BY_HAND_AT_ONCE { by_hand(node, kind) } else { None };
    let unwaited = (kind.engine == EngineKind::OpenVswitch && kind.is_veth()).then(|| UnwaitedRemoval::new(node));
    let mut row = Row {
        kind: kind.clone(),
        ports,
        at_once,
        plugin: Taken::default(),
        floor: Taken::default(),
        by_hand: Taken::default(),
        unwaited: Taken::default(),
        start: Vec::new(),
        sync: Vec::new(),
    };
    // One call fills caches.
    turn(node, &plugin, 1);
    turn(node, &floor, 1);
    for _ in 0..rounds(at_once) {
        row.plugin.extend(turn(node, &plugin, at_once));
        row.floor.extend(turn(node, &floor, at_once));
        row.by_hand.extend(by_hand.as_ref().map(|contestant| turn(node, contestant.as_ref(), at_once)));
        row.unwaited.extend(unwaited.as_ref().map(|contestant| turn(node, contestant, at_once)));
        row.start.extend(at_once::run(at_once, |_| programs.start()));
        row.sync.extend(at_once::run(at_once, |number| sync(node, number)));
    }
    plugin.print_failures(&format!("{}, {}, {ports} ports, {at_once} at once", node.name, kind.name));
    row
}

/// A new file whose content is on disk, as that of a record, in the same file system.
fn sync(node: &Node, number: usize) -> Duration {
    let path = node.roots.state.join(format!("sync.{number}"));
    let start = Instant::now();
    atomic_file::write(&path, &"r".repeat(RECORD_SIZE), Durability::Content).expect("the disk takes it");
    let took = start.elapsed();
    fs::remove_file(&path).expect("the file goes");
    took
}

fn by_hand<'a>(node: &'a Node, kind: &'a PortKind) -> Option<Box<dyn Contestant + 'a>> {
    match node.engine {
        EngineKind::OpenVswitch => Some(Box::new(OvsVsctl::new(node, kind))),
        EngineKind::Vpp => Vppctl::new(node, kind).map(|contestant| Box::new(contestant) as Box<_>),
    }
}

/// All ADDs, then all DELs. The engine is idle before each.
pub(super) fn turn(node: &Node, contestant: &dyn Contestant, at_once: usize) -> Taken {
    let add = at_once::run(at_once, |number| contestant.add(number));
    node.settle();
    let del = at_once::run(at_once, |number| contestant.del(number));
    node.settle();
    Taken { add, del }
}

impl Taken {
    pub(super) fn extend(&mut self, more: impl Into<Option<Self>>) {
        if let Some(more) = more.into() {
            self.add.extend(more.add);
            self.del.extend(more.del);
        }
    }
}

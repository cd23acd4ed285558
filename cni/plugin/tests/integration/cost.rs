//! How many system calls ADD and DEL make. Each was counted and found to be needed; one more needs
//! a reason, and another bound here.

use crate::support::engine::{on_open_vswitch, on_the_simulator};
use crate::support::{NETWORK, TestNode, port_types};
use nix::libc;
use std::collections::BTreeMap;
use usnet_crds::{EngineKind, Port};

on_open_vswitch!(add_and_del_make_no_more_system_calls_than_they_need);
on_the_simulator!(add_and_del_make_no_more_system_calls_than_they_need);

/// An answer that arrives in pieces takes two more for each.
const PIECES: usize = 6;
/// Not counted: a debug build makes one of the first with each `close`, and the allocator decides
/// about the second.
const LEFT_OUT: [libc::c_long; 2] = [libc::SYS_fcntl, libc::SYS_brk];

/// A port type, and the system calls of its ADD and DEL.
struct Bound {
    name: &'static str,
    port: Port,
    add: usize,
    del: usize,
}

fn bounds(engine: EngineKind) -> Vec<Bound> {
    let bound = |name, port, (add, del)| Bound { name, port, add, del };
    match engine {
        EngineKind::OpenVswitch => {
            vec![bound("vhost-user", port_types::vhost_user(), (62, 43)), bound("veth", port_types::veth(), (99, 48))]
        }
        EngineKind::Vpp => vec![
            bound("memif", port_types::memif_in_volume(), (80, 53)),
            bound("vhost-user", port_types::vhost_user(), (73, 51)),
        ],
    }
}

fn add_and_del_make_no_more_system_calls_than_they_need(node: &mut TestNode) {
    for Bound { name, port, add, del } in bounds(node.engine.kind()) {
        node.program_network_with(NETWORK, &port, None);
        let pod = node.pod("p");
        // The first call creates the node's folders, and those of this pod in the index.
        node.add(&pod, "net1").result();
        node.del(&pod, "net1").assert_done();
        for (verb, max) in [("ADD", add), ("DEL", del)] {
            let mut calls = node.system_calls(verb, &pod, "net1");
            calls.retain(|call| !LEFT_OUT.contains(call));
            // While another process changes devices, the kernel begins the same write to a setting
            // of the network again and again.
            calls.dedup_by(|call, before| call == before && *call == libc::SYS_write);
            println!("{verb} of {name}: {} system calls", calls.len());
            assert!(
                calls.len() <= max + PIECES,
                "{verb} of {name}: {} system calls: {:?}",
                calls.len(),
                counted(&calls)
            );
        }
    }
}

/// How often each is made, by its number.
fn counted(calls: &[libc::c_long]) -> BTreeMap<libc::c_long, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(*call).or_default() += 1;
    }
    counts
}

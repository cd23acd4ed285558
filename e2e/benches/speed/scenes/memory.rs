//! The memory of a hundred DELs that exist at the same time.
//!
//! Each is stopped at its exit, when it still has all that it did not give back, until all are
//! there. Memory that they share, such as the program's text, counts once in the sum of PSS and not
//! in private memory. What a process had at most and gave back before its exit is added to both.

use crate::calls::Contestant;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::node::Node;
use crate::host::programs::Programs;
use crate::report::{Targets, table};
use nix::libc::PTRACE_EVENT_EXIT;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};

const CALLS: usize = 100;

/// The target, in KiB.
const PRIVATE_MAX: f64 = 40.0 * 1024.0;

pub(crate) fn run(programs: &Programs, node: &Node, ports: usize, targets: &mut Targets) {
    let kind = PortKind::of_type(node.engine, node.engine.default_port_type());
    eprintln!("{}: memory, {ports} ports", node.name);
    node.program(&kind.port);
    let plugin = Plugin::new(programs, node, None);
    for number in 0..CALLS {
        plugin.add(number);
    }
    node.settle();
    let calls: Vec<_> = (0..CALLS).map(|number| start(&plugin, number)).collect();
    for (process, _) in &calls {
        wait_for_exit(*process);
    }
    let mut sum = Memory::default();
    for (process, mut child) in calls {
        sum.add(&Memory::of(process));
        ptrace::detach(process, None).expect("it continues");
        assert!(child.wait().expect("it ends").success(), "DEL succeeds");
    }
    node.settle();
    plugin.print_failures(&node.name);
    let place = format!("{}, {ports} ports", node.name);
    let checked = targets.check("private memory of 100 DELs in KiB", place, sum.private, PRIVATE_MAX);
    let mebibytes = |value: f64| table::number(value / 1024.0);
    let heading = format!("{}: {CALLS} DELs of {} with {ports} ports, sum in MiB", node.name, kind.name);
    let cells = vec![mebibytes(sum.private), checked, mebibytes(sum.proportional), mebibytes(sum.resident)];
    table::print(&heading, &["private", "target in KiB", "PSS", "RSS"], &[cells]);
}

/// A DEL that stops at its exit.
fn start(plugin: &Plugin<'_>, number: usize) -> (Pid, Child) {
    let mut command = plugin.command("DEL", number);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the plugin starts");
    let process = Pid::from_raw(child.id().try_into().expect("a process id"));
    // It waits for its input meanwhile.
    ptrace::seize(process, Options::PTRACE_O_TRACEEXIT).expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(plugin.configuration().as_bytes()).expect("it reads");
    (process, child)
}

fn wait_for_exit(process: Pid) {
    loop {
        match waitpid(process, None).expect("it exists") {
            WaitStatus::PtraceEvent(_, _, PTRACE_EVENT_EXIT) => return,
            WaitStatus::Stopped(_, signal) => ptrace::cont(process, signal).expect("it continues"),
            WaitStatus::PtraceEvent(..) => ptrace::cont(process, None).expect("it continues"),
            ended => panic!("the plugin ended before it was stopped: {ended:?}"),
        }
    }
}

/// In KiB.
#[derive(Debug, Default)]
struct Memory {
    private: f64,
    proportional: f64,
    resident: f64,
}

impl Memory {
    fn of(process: Pid) -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).expect("it is stopped");
        let (rollup, status) = (read("smaps_rollup"), read("status"));
        let resident = field(&status, "VmHWM:");
        let given_back = resident - field(&status, "VmRSS:");
        Self {
            private: field(&rollup, "Private_Clean:") + field(&rollup, "Private_Dirty:") + given_back,
            proportional: field(&rollup, "Pss:") + given_back,
            resident,
        }
    }

    fn add(&mut self, other: &Self) {
        self.private += other.private;
        self.proportional += other.proportional;
        self.resident += other.resident;
    }
}

fn field(text: &str, name: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok()).expect("the kernel shows it")
}

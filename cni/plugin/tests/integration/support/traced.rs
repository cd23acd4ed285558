//! Calls of the plugin under ptrace(2): its system calls are counted, or it is killed before one of
//! them. Those before its `main` are left out: in tests the program is linked dynamically.

use super::pod::Pod;
use super::{NETWORK, TestNode, configuration};
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

/// The first system call of `main`, which nothing before it makes.
#[cfg(target_arch = "x86_64")]
const FIRST: libc::c_long = libc::SYS_poll;
#[cfg(not(target_arch = "x86_64"))]
const FIRST: libc::c_long = libc::SYS_ppoll;

/// A call that stops at each of its system calls.
struct Traced {
    child: Child,
    process: Pid,
    is_in_main: bool,
}

impl TestNode {
    /// Calls the plugin. Returns the numbers of its system calls.
    #[track_caller]
    pub(crate) fn system_calls(&self, verb: &'static str, pod: &Pod, interface: &str) -> Vec<libc::c_long> {
        let mut traced = Traced::start(self, verb, pod, interface);
        let mut calls = Vec::new();
        loop {
            match traced.next_call() {
                Ok(call) => calls.push(call),
                Err(ended) => {
                    assert!(matches!(ended, WaitStatus::Exited(_, 0)), "{verb}: {ended:?}");
                    return calls;
                }
            }
        }
    }

    /// Calls the plugin, and kills it before the system call with this number, from 0. Returns
    /// whether it was killed: if it has fewer, it ran to its end.
    #[track_caller]
    pub(crate) fn kill_before(&self, verb: &'static str, pod: &Pod, interface: &str, number: usize) -> bool {
        let mut traced = Traced::start(self, verb, pod, interface);
        for _ in 0..=number {
            if let Err(ended) = traced.next_call() {
                assert!(matches!(ended, WaitStatus::Exited(_, 0)), "{verb}: {ended:?}");
                return false;
            }
        }
        traced.child.kill().unwrap();
        loop {
            match waitpid(traced.process, None).unwrap() {
                WaitStatus::Signaled(..) => return true,
                WaitStatus::Exited(..) => panic!("{verb} ended before it was killed"),
                _ => {}
            }
        }
    }
}

impl Traced {
    fn start(node: &TestNode, verb: &'static str, pod: &Pod, interface: &str) -> Self {
        let mut command = node.command(verb, pod, interface, &[]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: The child only makes a system call.
        #[expect(unsafe_code, reason = "the child has to ask for it before it executes the program")]
        let command = unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
        let mut child = command.spawn().unwrap();
        // It waits for its tracer meanwhile.
        child.stdin.take().unwrap().write_all(configuration(NETWORK).to_string().as_bytes()).unwrap();
        let process = Pid::from_raw(child.id().try_into().unwrap());
        let stopped = waitpid(process, None).unwrap();
        assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
        ptrace::setoptions(process, Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL).unwrap();
        Self { child, process, is_in_main: false }
    }

    /// Continues to the next system call of `main`, and stops before it; its number, or how the
    /// program ended.
    fn next_call(&mut self) -> Result<libc::c_long, WaitStatus> {
        let mut signal = None;
        loop {
            ptrace::syscall(self.process, signal.take()).unwrap();
            match waitpid(self.process, None).unwrap() {
                WaitStatus::PtraceSyscall(_) => {
                    if let Some(call) = self.entered() {
                        self.is_in_main |= call == FIRST;
                        if self.is_in_main {
                            return Ok(call);
                        }
                    }
                }
                WaitStatus::Stopped(_, delivered) => signal = Some(delivered),
                ended @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => return Err(ended),
                _ => {}
            }
        }
    }

    /// The number of the system call before which the process stopped; none after one.
    fn entered(&self) -> Option<libc::c_long> {
        let info = ptrace::syscall_info(self.process).unwrap();
        // SAFETY: By `op` the union is that of an entry.
        #[expect(unsafe_code, reason = "the kernel's structure is a union")]
        let call = (info.op == libc::PTRACE_SYSCALL_INFO_ENTRY).then_some(unsafe { info.u.entry.nr });
        call.map(|call| call.try_into().unwrap())
    }
}

//! Sockets of another network namespace: a socket keeps the namespace that it was opened in.

use crate::links::LinkError;
use crate::netlink::NetlinkError;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;

/// Runs `open` in a network namespace, in a thread of its own; none is that of this process.
pub(in crate::links) fn within<T: Send>(
    network_namespace: Option<&Path>,
    open: impl FnOnce() -> Result<T, LinkError> + Send,
) -> Result<T, LinkError> {
    let Some(path) = network_namespace else { return open() };
    let entered = || -> Result<T, LinkError> {
        let file = File::open(path).map_err(|source| cannot_enter(path, source))?;
        setns(file, CloneFlags::CLONE_NEWNET).map_err(|errno| cannot_enter(path, errno.into()))?;
        open()
    };
    let panicked = || cannot_enter(path, io::Error::other("the thread that entered it panicked"));
    thread::scope(|scope| scope.spawn(entered).join()).map_err(|_| panicked())?
}

fn cannot_enter(path: &Path, source: io::Error) -> LinkError {
    let what = format!("enter the network namespace {}", path.display());
    LinkError::Netlink { what, source: NetlinkError::Socket(source) }
}

//! The sockets at which VPP listens for peers. Connections are not accepted: they wait in the
//! backlog.

use crate::simulator::model::memif_address::MemifAddress;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// VPP's backlog.
const QUEUE: i32 = 5;
/// VPP's file modes with the usual umask: the group may connect to a memif.
const MEMIF_MODE: u32 = 0o775;
const VHOST_MODE: u32 = 0o755;
/// The number of checks whether a socket is in use. Together they take longer than the start of a
/// program: a program that another thread starts has copies of all sockets of this process until
/// its exec, even of closed ones.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// `sun_path` without its terminating zero.
const PATH_MAX: usize = 107;

/// Listens for the peers of memifs.
pub(crate) fn for_memif(address: &MemifAddress) -> io::Result<OwnedFd> {
    match address {
        MemifAddress::File(path) => {
            remove_stale(path)?;
            let listener = listen_at(&UnixAddr::new(path)?)?;
            fs::set_permissions(path, Permissions::from_mode(MEMIF_MODE))?;
            Ok(listener)
        }
        MemifAddress::Abstract { name, namespace: None } => listen_at_name(&UnixAddr::new_abstract(name.as_bytes())?),
        MemifAddress::Abstract { name, namespace: Some(namespace) } => listen_in(namespace, name),
    }
}

/// Removes a socket file if no process listens there. Anything else makes the bind fail.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(file) if file.file_type().is_socket() && is_stale(path) => fs::remove_file(path),
        Ok(file) if file.file_type().is_socket() => Err(ErrorKind::AddrInUse.into()),
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        // The bind reports why the file cannot be read.
        Err(_) => Ok(()),
    }
}

/// Whether no process listens at the path.
fn is_stale(path: &Path) -> bool {
    tries().any(|()| matches!(UnixStream::connect(path), Err(error) if error.kind() == ErrorKind::ConnectionRefused))
}

/// Makes [`TRIES`] attempts, with a pause before each but the first.
fn tries() -> impl Iterator<Item = ()> {
    let pause = |attempt| {
        if attempt > 0 {
            std::thread::sleep(BETWEEN_TRIES);
        }
    };
    (0..TRIES).map(pause)
}

/// Listens at an abstract name, which is in use as long as any process has a copy of the socket.
fn listen_at_name(address: &UnixAddr) -> io::Result<OwnedFd> {
    let is_in_use = |result: &io::Result<OwnedFd>| matches!(result, Err(error) if error.kind() == ErrorKind::AddrInUse);
    let found = tries().map(|()| listen_at(address)).find(|result| !is_in_use(result));
    found.unwrap_or_else(|| Err(ErrorKind::AddrInUse.into()))
}

fn listen_at(address: &UnixAddr) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
    bind(socket.as_raw_fd(), address)?;
    listen(&socket, Backlog::new(QUEUE)?)?;
    Ok(socket)
}

/// Listens in another network namespace. A thread that enters it cannot be used for anything else.
fn listen_in(namespace: &Path, name: &str) -> io::Result<OwnedFd> {
    let namespace = File::open(namespace)?;
    let address = UnixAddr::new_abstract(name.as_bytes())?;
    let enter_and_listen = move || {
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        listen_at_name(&address)
    };
    std::thread::spawn(enter_and_listen).join().unwrap_or_else(|_| Err(ErrorKind::Other.into()))
}

/// Listens for the peer of a vhost-user interface. VPP removes any file at the path, and cuts the
/// path afterwards.
pub(crate) fn for_vhost(path: &str) -> io::Result<UnixListener> {
    let _may_be_none = fs::remove_file(path);
    let end = path.floor_char_boundary(PATH_MAX);
    let cut = path.get(..end).unwrap_or(path);
    let listener = UnixListener::bind(cut)?;
    fs::set_permissions(cut, Permissions::from_mode(VHOST_MODE))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_used_again_although_a_program_that_starts_still_has_the_last_socket() {
        let name = format!("usnet-test-{}", std::process::id());
        let address = MemifAddress::Abstract { name, namespace: None };
        let listener = for_memif(&address).unwrap();
        let of_starting_program = listener.try_clone().unwrap();
        drop(listener);
        let starting = std::thread::spawn(move || {
            std::thread::sleep(BETWEEN_TRIES);
            drop(of_starting_program);
        });
        let again = for_memif(&address);
        starting.join().unwrap();
        assert!(again.is_ok(), "{again:?}");
        assert_eq!(for_memif(&address).unwrap_err().kind(), ErrorKind::AddrInUse);
    }
}

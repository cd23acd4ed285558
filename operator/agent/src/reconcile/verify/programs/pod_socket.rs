//! Inspects the socket at which the program of a pod should listen (IO). The agent does not connect
//! to it: a program that starts listening would take the agent for the engine. The engine tries to
//! connect every few seconds, so that a socket that stays unconnected for longer has no program.

use std::fs::symlink_metadata;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use usnet_crds::conditions::message::node::PodSocket;
use usnet_dataplane::attachment::Record;

/// Inspects the socket of an attachment, in the folder that the pod and its engine share.
pub(super) fn look(record: &Record) -> PodSocket {
    record.port.backend.socket_file().map_or(PodSocket::Unknown, look_at)
}

fn look_at(socket: &Path) -> PodSocket {
    match symlink_metadata(socket) {
        Ok(found) if found.file_type().is_socket() => PodSocket::Abandoned,
        Ok(_) => PodSocket::Other,
        Err(error) if error.kind() == ErrorKind::NotFound && is_visible(socket) => PodSocket::Absent,
        Err(_) => PodSocket::Unknown,
    }
}

/// Whether the agent sees the folder of the pod. An agent without the mounts of the node sees an
/// empty folder in its place. The pod's folder has the description of the interface, unless the
/// program removed it.
fn is_visible(socket: &Path) -> bool {
    socket.with_extension("json").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_a_killed_program_left_is_told_from_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("net1.sock");
        assert_eq!(look_at(&socket), PodSocket::Unknown, "the folder may be another one");
        fs::write(folder.path().join("net1.json"), "{}").unwrap();
        assert_eq!(look_at(&socket), PodSocket::Absent);
        drop(UnixListener::bind(&socket).unwrap());
        assert_eq!(look_at(&socket), PodSocket::Abandoned);
        let link = folder.path().join("net2.sock");
        symlink(&socket, &link).unwrap();
        assert_eq!(look_at(&link), PodSocket::Other, "an engine follows no link");
        fs::create_dir(folder.path().join("net3.sock")).unwrap();
        assert_eq!(look_at(&folder.path().join("net3.sock")), PodSocket::Other);
    }
}

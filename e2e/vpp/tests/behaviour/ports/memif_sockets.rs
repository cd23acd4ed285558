//! The ids of memif sockets, and their files.

use crate::{Fixture, on_each};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket};
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use usnet_vpp::ReturnCode;
use usnet_vpp::messages::{MemifSocketFilenameAddDel, MemifSocketFilenameAddDelV2, MemifSocketFilenameDump};

const REFUSED: Result<u32, ReturnCode> = Err(ReturnCode::SyscallError4);

impl Fixture {
    /// Returns the name of a socket id.
    fn socket_name(&mut self, socket_id: u32) -> Option<String> {
        let mut all = self.dump(MemifSocketFilenameDump {}).into_iter();
        all.find(|socket| socket.socket_id == socket_id).map(|socket| socket.socket_filename.into_string())
    }

    /// Adds a socket id with a name, which always works, and the first memif on it.
    fn memif_at(&mut self, socket_id: u32, name: &str) -> Result<u32, ReturnCode> {
        self.add_socket(socket_id, name).expect("nothing is checked here");
        self.create_memif(socket_id, 0)
    }

    /// Returns a path in VPP's folder of the given length in bytes.
    fn path_of(&self, length: usize) -> String {
        let folder = self.path("");
        format!("{folder}{}", "x".repeat(length - folder.len()))
    }
}

fn listen_at(path: &str) -> OwnedFd {
    let listener = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).expect("socket");
    bind(listener.as_raw_fd(), &UnixAddr::new(path).expect("address")).expect("bind");
    listen(&listener, Backlog::MAXCONN).expect("listen");
    listener
}

#[test]
fn numbers() {
    on_each(|vpp| {
        let (first, second) = (vpp.path("a.sock"), vpp.path("b.sock"));
        let invalid = Err(ReturnCode::InvalidArgument);
        assert_eq!(vpp.socket_name(0), Some(vpp.path("memif.sock")));
        assert_eq!((vpp.add_socket(0, &first), vpp.delete_socket(0)), (invalid, invalid));
        assert_eq!(
            (vpp.add_socket(9, ""), vpp.delete_socket(98), vpp.delete_socket(u32::MAX)),
            (invalid, invalid, invalid)
        );
        assert_eq!((vpp.add_socket(5, &first), vpp.add_socket(5, &first)), (Ok(()), Ok(())));
        assert_eq!(vpp.add_socket(5, &second), Err(ReturnCode::EntryAlreadyExists));
        let memif = vpp.create_memif(5, 0).expect("memif");
        assert_eq!(vpp.delete_socket(5), Err(ReturnCode::UnexpectedIntfState));
        vpp.delete_memif(memif).expect("delete");
        assert_eq!((vpp.delete_socket(5), vpp.socket_name(5)), (Ok(()), None));
    });
}

#[test]
fn chosen_numbers_are_the_same_in_each_start() {
    on_each(|vpp| {
        let path = vpp.path("a.sock");
        let mut choose = || {
            let socket_filename = path.as_str().into();
            let add = MemifSocketFilenameAddDelV2 { is_add: true, socket_id: u32::MAX, socket_filename };
            vpp.request(add).expect("socket").socket_id
        };
        assert_eq!((choose(), choose()), (1_013_904_223, 1_196_435_762));
        let socket_filename = path.as_str().try_into().expect("fits");
        let older = MemifSocketFilenameAddDel { is_add: true, socket_id: u32::MAX, socket_filename };
        assert_eq!(vpp.request(older).err(), Some(ReturnCode::InvalidArgument));
    });
}

#[test]
fn file_comes_with_the_first_memif_and_stays_after_the_last() {
    on_each(|vpp| {
        let path = vpp.path("m.sock");
        vpp.add_socket(5, &path).expect("socket");
        assert!(!vpp.exists("m.sock"));
        let memifs = [vpp.create_memif(5, 0).expect("memif"), vpp.create_memif(5, 1).expect("memif")];
        let file = fs::metadata(&path).expect("the file");
        assert!(file.file_type().is_socket());
        assert_eq!(file.permissions().mode() & 0o777, 0o775);
        for memif in memifs {
            vpp.delete_memif(memif).expect("delete");
        }
        vpp.delete_socket(5).expect("delete");
        assert!(vpp.exists("m.sock"), "it is left");
        vpp.memif_at(6, &path).expect("one that was left is no obstacle");
    });
}

#[test]
fn file_that_is_used_is_refused() {
    on_each(|vpp| {
        let (path, foreign) = (vpp.path("m.sock"), vpp.path("foreign.sock"));
        vpp.memif_at(5, &path).expect("memif");
        assert_eq!(vpp.memif_at(6, &path), REFUSED, "by VPP itself");
        let listener = listen_at(&foreign);
        assert_eq!(vpp.memif_at(7, &foreign), REFUSED, "by another process");
        drop(listener);
        // A test in another thread may have forked, and has a copy of the socket until its exec.
        let is_closed =
            || UnixStream::connect(&foreign).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        assert!((0..2000).any(|_| {
            thread::sleep(Duration::from_millis(5));
            is_closed()
        }));
        vpp.memif_at(8, &foreign).expect("no process listens any more");
    });
}

#[test]
fn what_is_no_socket_is_in_the_way_and_stays() {
    on_each(|vpp| {
        let [file, folder, dangling] = ["file", "folder", "dangling"].map(|name| vpp.path(name));
        fs::write(&file, "text").expect("write");
        fs::create_dir(&folder).expect("folder");
        symlink(vpp.path("nowhere"), &dangling).expect("link");
        for (socket_id, path) in (5..).zip([&file, &folder, &dangling]) {
            assert_eq!(vpp.memif_at(socket_id, path), REFUSED, "{path}");
        }
        assert_eq!(fs::read_to_string(&file).expect("read"), "text");
        assert!(!vpp.exists("nowhere") && Path::new(&dangling).is_symlink());
    });
}

#[test]
fn names_that_are_refused_with_the_first_memif() {
    on_each(|vpp| {
        let folder = vpp.path("");
        let bad = [":", " ", "+", "@", "="].map(|character| format!("{folder}bad{character}name"));
        let others = ["@at", "unix:/tmp/x", "/no/such/folder/m.sock", "abstract:a:b", "abstract:a,other=1"];
        let long = [vpp.path_of(107), vpp.path_of(108), format!("abstract:{}", "n".repeat(106))];
        let all = bad.iter().map(String::as_str).chain(others).chain(long.iter().map(String::as_str));
        for (socket_id, name) in (5..).zip(all) {
            assert_eq!(vpp.memif_at(socket_id, name), REFUSED, "{name}");
        }
        assert_eq!(vpp.memifs(), []);
    });
}

#[test]
fn longest_names() {
    on_each(|vpp| {
        let (path, folder) = (vpp.path_of(106), vpp.path(""));
        vpp.memif_at(5, &path).expect("106 bytes");
        assert_eq!(vpp.socket_name(5), Some(path));
        let name = format!("abstract:{}{}", folder.replace('/', "_"), "n".repeat(105 - folder.len()));
        vpp.memif_at(6, &name).expect("105 bytes");
        assert_eq!(vpp.socket_name(6).as_deref(), name.get(..107), "it is cut");
    });
}

#[test]
fn relative_name_is_in_the_runtime_directory() {
    on_each(|vpp| {
        vpp.memif_at(5, "new/folder/m.sock").expect("memif");
        assert_eq!(vpp.socket_name(5), Some(vpp.path("new/folder/m.sock")));
        assert!(vpp.exists("new/folder/m.sock"));
    });
}

#[test]
fn name_in_another_network_namespace() {
    on_each(|vpp| {
        let namespace = Namespace::new();
        let own = std::process::id();
        vpp.memif_at(5, &format!("abstract:usnet{own},netns_name={}", namespace.path())).expect("memif");
        assert_eq!(namespace.listeners(&format!("@usnet{own}")), 1);
        assert!(!fs::read_to_string("/proc/net/unix").expect("sockets").contains(&format!("@usnet{own}")));
        let again = format!("abstract:usnet{own},netns_name={}", namespace.path());
        assert_eq!(vpp.memif_at(6, &again), REFUSED, "the name is taken there");
        assert_eq!(vpp.memif_at(7, "abstract:x,netns_name=/no/such/namespace"), REFUSED);
        assert_eq!(vpp.memif_at(8, "abstract:x,netns_name=/etc/passwd"), REFUSED);
        vpp.delete_memif(1).expect("delete");
        // A program that another test is starting has a copy of the socket until it is loaded.
        let end = Instant::now() + Duration::from_secs(10);
        while namespace.listeners(&format!("@usnet{own}")) > 0 {
            assert!(Instant::now() < end, "the socket is still there");
            thread::sleep(Duration::from_millis(10));
        }
    });
}

/// A network namespace of a process, which waits until this is dropped.
struct Namespace(std::process::Child);

impl Namespace {
    fn new() -> Self {
        let script = "echo ready; read -r word";
        let mut command = std::process::Command::new("unshare");
        command.args(["--net", "sh", "-c", script]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().expect("unshare");
        let mut ready = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut ready).expect("ready");
        Self(child)
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// Returns the number of sockets in the namespace that have a name.
    fn listeners(&self, name: &str) -> usize {
        let sockets = fs::read_to_string(format!("/proc/{}/net/unix", self.0.id())).expect("sockets");
        sockets.lines().filter(|line| line.ends_with(name)).count()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The process ends with its input.
        drop(self.0.stdin.take());
        let _ended = self.0.wait();
    }
}

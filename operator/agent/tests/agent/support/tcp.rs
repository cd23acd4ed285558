//! TCP between two network namespaces.

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A network namespace without devices.
pub(crate) struct Namespace(File);

impl Namespace {
    pub(crate) fn new() -> Self {
        let create = || {
            unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
            File::open("/proc/thread-self/ns/net").expect("its file")
        };
        Self(thread::spawn(create).join().expect("a namespace"))
    }

    /// An existing network namespace.
    pub(crate) fn open(path: &Path) -> Self {
        Self(File::open(path).expect("a network namespace"))
    }

    /// A path as `ip link set netns` takes it.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    /// Runs `ip` in the network namespace.
    pub(crate) fn ip(&self, arguments: &str) {
        let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        let run = move || Command::new("ip").args(words).status().expect("ip").success();
        assert!(self.run(run).join().expect("a thread"), "ip {arguments}");
    }

    /// Runs a program in the network namespace; returns what it printed.
    pub(crate) fn output(&self, command: &str) -> String {
        let (program, arguments) = command.split_once(' ').expect("arguments");
        let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        let program = program.to_owned();
        let run = move || Command::new(program).args(words).output().expect("a program");
        let output = self.run(run).join().expect("a thread");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
        let file = self.0.try_clone().expect("the namespace");
        thread::spawn(move || {
            setns(file, CloneFlags::CLONE_NEWNET).expect("the namespace");
            work()
        })
    }
}

/// Sends this many bytes. Returns how long it took until all arrived; none if that exceeds `limit`.
pub(crate) fn transfer(
    from: &Namespace,
    to: &Namespace,
    address: IpAddr,
    bytes: usize,
    limit: Duration,
) -> Option<Duration> {
    let listener = to.run(move || TcpListener::bind((address, 0)).expect("a listener")).join().expect("a thread");
    let port = listener.local_addr().expect("its port").port();
    let received = to.run(move || {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(limit))?;
        let (mut count, mut buffer) = (0, vec![0; 1 << 16]);
        while count < bytes {
            match stream.read(&mut buffer)? {
                0 => break,
                more => count += more,
            }
        }
        stream.write_all(&[1])?;
        std::io::Result::Ok(())
    });
    let sent = from.run(move || {
        let start = Instant::now();
        let mut stream = TcpStream::connect_timeout(&(address, port).into(), limit)?;
        stream.set_write_timeout(Some(limit))?;
        stream.set_read_timeout(Some(limit))?;
        stream.write_all(&vec![7; bytes])?;
        stream.shutdown(Shutdown::Write)?;
        stream.read_exact(&mut [0])?;
        std::io::Result::Ok(start.elapsed())
    });
    let elapsed = sent.join().expect("a thread").ok()?;
    received.join().expect("a thread").ok()?;
    (elapsed < limit).then_some(elapsed)
}

//! The pod's end of an interface: this program sends and receives in the place of the pod's.

use crate::support::cluster::get;
use crate::support::scene::Scene;
use crate::support::station::{Station, process};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use usnet_endpoint::memif::{self, Socket};
use usnet_endpoint::vhost_user::{Endpoint, Listener};
use usnet_endpoint::{Error, Port};
use usnet_test_abuse::{Frame, send};

/// The time limit for an engine to connect, and to receive all frames.
const TIMEOUT: Duration = Duration::from_secs(30);
const FRAME_MAX: usize = 1 << 16;

/// The pod's end of `net1`.
pub(crate) enum PodEndpoint {
    /// A veth, and a packet socket in the pod, which receives what its devices do.
    Kernel(Station, OwnedFd),
    /// The program at a socket. Without the listener the engine could not connect again.
    VhostUser { port: Endpoint, _listener: Listener },
    /// The program on a socket.
    Memif(memif::Endpoint),
}

impl PodEndpoint {
    /// Takes the place of the program of a pod that runs and has this type of port.
    pub(crate) fn open(scene: &Scene, pod: &str, port: &str) -> Self {
        let process = process(&get(&["pod", pod, "-n", &scene.name]).unwrap());
        let path = PathBuf::from(format!("/proc/{process}/root/run/usnet/net1.sock"));
        match port {
            "Veth" => {
                let station = Station::of_pod(scene, pod);
                let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
                let open = move || socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).unwrap();
                let received = station.run(open).join().unwrap();
                Self::Kernel(station, received)
            }
            "VhostUser" => {
                let listener = Listener::bind(&path).unwrap();
                Self::VhostUser { port: listener.accept(TIMEOUT).unwrap(), _listener: listener }
            }
            _ => {
                let socket = Socket::File(path);
                Self::Memif(memif::connect(&memif::Target { socket, id: 0, secret: String::new(), ip: false }).unwrap())
            }
        }
    }

    pub(crate) fn send(&mut self, frames: &Arc<Vec<Frame>>) {
        match self {
            Self::Kernel(station, _) => {
                let frames = Arc::clone(frames);
                station.run(move || send(None, "net1", &frames)).join().unwrap().unwrap();
            }
            Self::VhostUser { port, .. } => send_by(port, frames),
            Self::Memif(port) => send_by(port, frames),
        }
    }

    /// Returns the next frame that is there.
    pub(crate) fn receive(&mut self) -> Option<Vec<u8>> {
        let mut frame = vec![0; FRAME_MAX];
        match self {
            Self::Kernel(_, socket) => match recv(socket.as_raw_fd(), &mut frame, MsgFlags::empty()) {
                Ok(length) => frame.truncate(length),
                Err(Errno::EAGAIN | Errno::EINTR) => return None,
                Err(error) => panic!("packet socket: {error}"),
            },
            Self::VhostUser { port, .. } => return port.receive(&mut frame).unwrap().then_some(frame),
            Self::Memif(port) => return port.receive(&mut frame).unwrap().then_some(frame),
        }
        Some(frame)
    }
}

fn send_by(port: &mut impl Port, frames: &[Frame]) {
    let until = Instant::now() + TIMEOUT;
    for frame in frames {
        while let Err(error) = port.send(&frame.bytes) {
            assert!(matches!(error, Error::Full) && Instant::now() < until, "{}: {error}", frame.name);
            thread::sleep(Duration::from_millis(1));
        }
    }
}

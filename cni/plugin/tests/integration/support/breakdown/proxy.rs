//! A proxy between the plugin and a real VPP that lets VPP break down at a chosen message.

use super::planned::{Breakdown, Loss};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, spawn};
use usnet_test_vpp::{Moment, Vpp};
use usnet_vpp::messages::{ControlPing, SOCKCLNT_CREATE_REPLY_ID, SockclntCreateReply, SockclntDelete};
use usnet_vpp::wire::{Envelope, FrameDecoder, Header, Reader, message_id, read_envelope, write_frame};
use usnet_vpp::{Descriptor, Message};

/// The context of the proxy's own pings. The client counts up.
const PROBE: u32 = u32::MAX;
const FRAME_HEADER: usize = 16;

/// A proxy that listens on VPP's socket path as long as it exists. VPP's socket is moved aside.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    breakdown: Option<Breakdown>,
    socket: PathBuf,
    /// The path of VPP's own socket meanwhile.
    aside: PathBuf,
    vpp: Pid,
    messages: AtomicUsize,
    is_over: AtomicBool,
    is_blocked: AtomicBool,
}

impl Proxy {
    pub(crate) fn start(vpp: &Vpp, breakdown: Option<Breakdown>) -> Self {
        let shared = Arc::new(Shared {
            breakdown,
            socket: vpp.socket().to_owned(),
            aside: vpp.socket().with_extension("aside"),
            vpp: Pid::from_raw(vpp.pid().expect("a VPP that runs").try_into().unwrap()),
            messages: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
        });
        fs::rename(&shared.socket, &shared.aside).unwrap();
        let listener = UnixListener::bind(&shared.socket).unwrap();
        let of_thread = Arc::clone(&shared);
        let thread = spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if of_thread.is_over.load(Ordering::SeqCst) {
                    return;
                }
                if !of_thread.is_blocked.load(Ordering::SeqCst)
                    && let Ok(vpp) = UnixStream::connect(&of_thread.aside)
                {
                    Connection::start(client, vpp, Arc::clone(&of_thread));
                }
            }
        });
        Self { shared, thread: Some(thread) }
    }

    /// The number of messages that came.
    pub(crate) fn messages(&self) -> usize {
        self.shared.messages.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let _woken = UnixStream::connect(&self.shared.socket);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
        let _restored = fs::rename(&self.shared.aside, &self.shared.socket);
    }
}

impl Shared {
    /// Counts a message, and returns whether and when VPP breaks down at it.
    fn count(&self) -> Option<Moment> {
        let nth = self.messages.fetch_add(1, Ordering::SeqCst) + 1;
        self.breakdown.filter(|breakdown| breakdown.nth == nth).map(|breakdown| breakdown.when)
    }

    fn break_down(&self) {
        let loss = self.breakdown.map(|breakdown| breakdown.loss);
        self.is_blocked.store(loss != Some(Loss::Connection), Ordering::SeqCst);
        if loss == Some(Loss::Vpp) {
            kill(self.vpp, Signal::SIGKILL).unwrap();
        }
    }
}

/// The first answer of the connection.
struct Greeting {
    client_index: u32,
    ping: u16,
    close: u16,
}

impl Greeting {
    fn read(message: &[u8]) -> Self {
        let mut reader = Reader::new(message);
        read_envelope(SockclntCreateReply::HEADER, &mut reader).unwrap();
        let reply = SockclntCreateReply::decode(&mut reader).unwrap();
        let id = |name: &str| {
            let mut table = reply.message_table.0.iter();
            table.find(|entry| entry.name.as_str() == name).expect("a message of every VPP").index
        };
        let (ping, close) = (Descriptor::of::<ControlPing>(), Descriptor::of::<SockclntDelete>());
        Self { client_index: reply.index, ping: id(ping.name_crc), close: id(close.name_crc) }
    }

    fn probe(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        let envelope = Envelope { client_index: self.client_index, context: PROBE };
        write_frame(&mut frame, self.ping, Header::ClientAndContext, envelope, &[]);
        frame.split_off(FRAME_HEADER)
    }
}

struct Connection {
    shared: Arc<Shared>,
    greeting: OnceLock<Greeting>,
    /// Whether VPP's answers are kept from the client.
    is_muted: AtomicBool,
}

impl Connection {
    fn start(client: UnixStream, vpp: UnixStream, shared: Arc<Shared>) {
        let connection = Arc::new(Self { shared, greeting: OnceLock::new(), is_muted: AtomicBool::new(false) });
        let (probed, answered) = channel();
        let (from, to, back) = (vpp.try_clone().unwrap(), client.try_clone().unwrap(), Arc::clone(&connection));
        spawn(move || back.relay_answers(from, to, &probed));
        spawn(move || connection.relay_requests(client, vpp, &answered));
    }

    fn relay_requests(&self, mut client: UnixStream, mut vpp: UnixStream, answered: &Receiver<()>) {
        let mut decoder = FrameDecoder::default();
        while let Some(message) = next(&mut client, &mut decoder) {
            // Before VPP's greeting there is only the client's.
            let greeting = self.greeting.get();
            let counted = greeting.filter(|greeting| message_id(&message).unwrap() != greeting.close);
            let Some((greeting, when)) = counted.and_then(|greeting| Some((greeting, self.shared.count()?))) else {
                send(&mut vpp, &message);
                continue;
            };
            if when == Moment::After {
                self.is_muted.store(true, Ordering::SeqCst);
                send(&mut vpp, &message);
            }
            send(&mut vpp, &greeting.probe());
            let _vpp_is_gone = answered.recv();
            self.shared.break_down();
            break;
        }
        let _gone = (client.shutdown(Shutdown::Both), vpp.shutdown(Shutdown::Both));
    }

    fn relay_answers(&self, mut vpp: UnixStream, mut client: UnixStream, probed: &Sender<()>) {
        let mut decoder = FrameDecoder::default();
        while let Some(message) = next(&mut vpp, &mut decoder) {
            if message_id(&message).unwrap() == SOCKCLNT_CREATE_REPLY_ID {
                self.greeting.get_or_init(|| Greeting::read(&message));
                send(&mut client, &message);
            } else if context(&message) == PROBE {
                let _receiver_gone = probed.send(());
            } else if !self.is_muted.load(Ordering::SeqCst) {
                send(&mut client, &message);
            }
        }
        let _gone = client.shutdown(Shutdown::Both);
    }
}

fn send(stream: &mut UnixStream, message: &[u8]) {
    let mut frame = vec![0; FRAME_HEADER];
    frame[8..12].copy_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(message);
    // A lost peer is detected by reading.
    let _gone = stream.write_all(&frame);
}

fn next(stream: &mut UnixStream, decoder: &mut FrameDecoder) -> Option<Vec<u8>> {
    let mut buffer = [0; 1 << 16];
    loop {
        if let Some(message) = decoder.next_message().unwrap() {
            return Some(message);
        }
        let length = stream.read(&mut buffer).ok().filter(|length| *length > 0)?;
        decoder.receive(&buffer[..length]);
    }
}

fn context(message: &[u8]) -> u32 {
    read_envelope(Header::Context, &mut Reader::new(message)).map_or(0, |(_, envelope)| envelope.context)
}

//! Checks continuously that the nodes respond at their own addresses.

use super::background::{Background, End};
use crate::support::cluster::nodes;
use crate::support::station::Station;
use std::fmt;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 7300;
/// Between two requests to one node.
const INTERVAL: Duration = Duration::from_millis(5);
/// A node that has not answered by then was not reachable. A test bed that has no turn for this
/// long fails everything else as well.
const LIMIT: Duration = Duration::from_secs(2);

/// The responses of all nodes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Answers {
    pub(crate) asked: u64,
    pub(crate) missing: u64,
    pub(crate) longest: Duration,
}

impl fmt::Display for Answers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, missing, longest } = self;
        write!(formatter, "{missing} of {asked} missing, longest {} ms", longest.as_millis())
    }
}

/// Requests from the control plane to each node, one after the other, from now on.
pub(crate) struct Probes {
    requests: Background<Answers>,
    echoes: Background<()>,
}

impl Probes {
    pub(crate) fn start() -> Self {
        let (mut requests, mut echoes) = (Background::new(), Background::new());
        for station in nodes().into_iter().map(Station::of_node) {
            // Its socket is there before the first request.
            let socket = bound(&station, PORT);
            echoes.add(&station, move |end| echo(end, &socket));
            let address = station.address.clone();
            requests.add_outside(&station.name, move |end| ask(end, &address));
        }
        Self { requests, echoes }
    }

    pub(crate) fn end(self) -> Answers {
        let by_node = self.requests.end();
        drop(self.echoes);
        by_node.into_iter().fold(Answers::default(), |sum, (_, answers)| Answers {
            asked: sum.asked + answers.asked,
            missing: sum.missing + answers.missing,
            longest: sum.longest.max(answers.longest),
        })
    }
}

fn bound(station: &Station, port: u16) -> UdpSocket {
    station.run(move || UdpSocket::bind(("0.0.0.0", port)).unwrap()).join().unwrap()
}

fn echo(end: &End, socket: &UdpSocket) {
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut datagram = [0; 8];
    while !end.has_come() {
        if let Ok((length, from)) = socket.recv_from(&mut datagram) {
            let _gone = socket.send_to(&datagram[..length], from);
        }
    }
}

fn ask(end: &End, address: &str) -> Answers {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    socket.connect((address, PORT)).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let mut answers = Answers::default();
    while !end.has_come() {
        answers.asked += 1;
        let start = Instant::now();
        if is_answered(&socket, answers.asked) {
            answers.longest = answers.longest.max(start.elapsed());
        } else {
            answers.missing += 1;
        }
        thread::sleep(INTERVAL);
    }
    answers
}

/// Answers to earlier requests may still come.
fn is_answered(socket: &UdpSocket, number: u64) -> bool {
    if socket.send(&number.to_be_bytes()).is_err() {
        return false;
    }
    let mut datagram = [0; 8];
    loop {
        match socket.recv(&mut datagram) {
            Ok(8) if u64::from_be_bytes(datagram) == number => return true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

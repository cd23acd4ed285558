//! The owner of a port: it answers, counts, and executes requests.

use crate::connector::Connector;
use crate::error::{self, Error};
use crate::interface::{End, Interface, display_mac, parse_mac};
use crate::numbered;
use crate::request::{Answer, Request, State};
use crate::stack::Stack;
use crate::streams::Streams;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use usnet_endpoint::Port;

/// The longest wait for frames. A request of another instance waits as long.
pub(crate) const WAIT: Duration = Duration::from_millis(10);
/// A request fails if no engine connects within this time.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// `show` waits so long for the engine, which connects within a second of the start of a program
/// that listens.
const SHOW_WITHIN: Duration = Duration::from_secs(3);
/// The most frames that are read at once.
const BATCH: usize = 1024;

pub(crate) struct Owner {
    interface: Interface,
    connector: Connector,
    port: Option<Box<dyn Port>>,
    problem: Option<String>,
    stack: Stack,
    streams: Streams,
    /// Whether ARP and echo requests are answered here. The kernel answers for its own devices.
    answers: bool,
    received: u64,
    sent: u64,
}

struct PingTimes {
    /// The time between two requests.
    interval: Duration,
    /// The time to wait for the last reply.
    timeout: Duration,
}

impl Owner {
    pub(crate) fn new(interface: Interface) -> Result<Self, Error> {
        let connector = Connector::new(&interface)?;
        let stack = Stack::new(&interface);
        let answers = interface.end != End::Device;
        Ok(Self {
            interface,
            connector,
            port: None,
            problem: None,
            stack,
            streams: Streams::default(),
            answers,
            received: 0,
            sent: 0,
        })
    }

    /// Connects if necessary, and handles the frames that are received within `timeout`.
    pub(crate) fn work(&mut self, timeout: Duration) {
        if self.port.is_none() {
            match self.connector.connect(timeout) {
                Ok(port) => (self.port, self.problem) = (Some(port), None),
                Err(error) => self.problem = Some(error::chain(&error)),
            }
        }
        if let Err(error) = self.exchange(timeout) {
            self.problem = Some(error::chain(&error));
            self.port = None;
        }
    }

    fn exchange(&mut self, timeout: Duration) -> Result<(), usnet_endpoint::Error> {
        let Some(port) = &mut self.port else { return Ok(()) };
        port.wait(timeout)?;
        let mut frame = Vec::new();
        for _ in 0..BATCH {
            if !port.receive(&mut frame)? {
                break;
            }
            self.received += 1;
            match numbered::decode(&frame) {
                Some(numbered) => self.streams.count(numbered),
                None if self.answers => self.stack.receive(std::mem::take(&mut frame)),
                None => {}
            }
        }
        for frame in self.stack.work() {
            match port.send(&frame) {
                // The frame is lost, as on a full wire.
                Err(usnet_endpoint::Error::Full) => {}
                result => {
                    result?;
                    self.sent += 1;
                }
            }
        }
        Ok(())
    }

    /// Executes a request. Received frames are handled meanwhile.
    pub(crate) fn handle(&mut self, request: &Request) -> Result<Answer, Error> {
        match request {
            Request::Show => {
                self.is_connected_within(SHOW_WITHIN);
                Ok(self.show())
            }
            Request::Ping { address, count, interval_ms, timeout_ms, size } => {
                self.wait_for_connection()?;
                let answered = std::mem::replace(&mut self.answers, true);
                let times = PingTimes {
                    interval: Duration::from_millis(*interval_ms),
                    timeout: Duration::from_millis(*timeout_ms),
                };
                let answer = self.ping(*address, *count, &times, *size);
                self.answers = answered;
                Ok(answer)
            }
            Request::Send { to, count, size, stream } => {
                self.wait_for_connection()?;
                self.send(parse_mac(to).map_err(Error::Request)?, *count, *size, *stream)
            }
            Request::Receive { stream, count, timeout_ms } => {
                Ok(self.receive(*stream, *count, Duration::from_millis(*timeout_ms)))
            }
        }
    }

    fn wait_for_connection(&mut self) -> Result<(), Error> {
        if self.is_connected_within(CONNECT_WITHIN) {
            return Ok(());
        }
        let problem = self.problem.clone().unwrap_or_default();
        Err(Error::NotConnected(format!("{}: {problem}", self.interface.name)))
    }

    /// Waits for the engine, and handles frames meanwhile.
    fn is_connected_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.port.is_none() && Instant::now() < deadline {
            self.work(WAIT);
        }
        self.port.is_some()
    }

    fn show(&self) -> Answer {
        let state = State {
            interface: self.interface.name.clone(),
            network: self.interface.network.clone(),
            connected: self.port.is_some(),
            mac: display_mac(self.interface.mac),
            mtu: self.interface.mtu,
            addresses: self.interface.addresses.clone(),
            received_frames: self.received,
            sent_frames: self.sent,
            problem: self.problem.clone(),
        };
        Answer { ok: state.connected, result: json!(state) }
    }

    fn ping(&mut self, address: IpAddr, count: u16, times: &PingTimes, size: usize) -> Answer {
        let PingTimes { interval, timeout } = *times;
        let payload = vec![0x5a; size];
        let mut sent: BTreeMap<u16, Instant> = BTreeMap::new();
        let mut round_trips = Vec::new();
        let mut next = Instant::now();
        let mut last = Instant::now();
        while round_trips.len() < usize::from(count) && (sent.len() < usize::from(count) || last.elapsed() < timeout) {
            let sequence = sent.len() as u16;
            if sequence < count && Instant::now() >= next && self.stack.request_echo(address, sequence, &payload) {
                (next, last) = (Instant::now() + interval, Instant::now());
                sent.insert(sequence, last);
            }
            // The request leaves the stack at once, and not only after a wait.
            self.work(Duration::ZERO);
            while let Some(sequence) = self.stack.take_reply(address) {
                round_trips.extend(sent.get(&sequence).map(|at| at.elapsed().as_micros() as u64));
            }
            self.work(interval.min(WAIT));
            while let Some(sequence) = self.stack.take_reply(address) {
                round_trips.extend(sent.get(&sequence).map(|at| at.elapsed().as_micros() as u64));
            }
        }
        let times_us = json!({"min": round_trips.iter().min(), "max": round_trips.iter().max()});
        Answer {
            ok: round_trips.len() == usize::from(count),
            result: json!({
                "address": address, "transmitted": sent.len(), "received": round_trips.len(),
                "roundTripMicroseconds": times_us,
            }),
        }
    }

    fn send(&mut self, to: [u8; 6], count: u32, size: usize, stream: u64) -> Result<Answer, Error> {
        if self.interface.is_ip() {
            return Err(Error::Request(
                "numbered frames need Ethernet, and this memif is in IP mode: use ping".to_owned(),
            ));
        }
        let mut number = 0;
        let mut progress = Instant::now();
        while number < count && progress.elapsed() < CONNECT_WITHIN {
            let frame = numbered::encode(self.interface.mac, to, stream, number, size);
            match self.port.as_mut().map(|port| port.send(&frame)) {
                Some(Ok(())) => {
                    (number, progress) = (number + 1, Instant::now());
                    self.sent += 1;
                    if number.is_multiple_of(BATCH as u32 / 8) {
                        self.work(Duration::ZERO);
                    }
                }
                Some(Err(usnet_endpoint::Error::Full)) | None => self.work(Duration::from_millis(1)),
                Some(Err(error)) => return Err(error.into()),
            }
        }
        Ok(Answer { ok: number == count, result: json!({"stream": stream, "size": size, "sent": number}) })
    }

    fn receive(&mut self, stream: u64, count: u32, timeout: Duration) -> Answer {
        let deadline = Instant::now() + timeout;
        while self.streams.counts(stream).received < count && Instant::now() < deadline {
            self.work(WAIT);
        }
        // A copy of the last frame would follow right behind it.
        self.work(WAIT);
        let counts = self.streams.counts(stream);
        Answer {
            ok: counts.received == count && counts.duplicates == 0 && counts.damaged == 0,
            result: json!({
                "stream": stream, "expected": count, "received": counts.received,
                "duplicates": counts.duplicates, "damaged": counts.damaged,
            }),
        }
    }
}

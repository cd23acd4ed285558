//! The program that has a port: it answers, counts, and does what it is asked.

use crate::connector::Connector;
use crate::error::Error;
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

/// How long it waits for frames at once: a request of another instance waits as long.
const TURN: Duration = Duration::from_millis(10);
/// How long an engine has to connect before a request fails.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Frames that are read in one turn.
const BATCH: usize = 1024;

/// The owner of a port.
pub(crate) struct Owner {
    interface: Interface,
    connector: Connector,
    port: Option<Box<dyn Port>>,
    problem: Option<String>,
    stack: Stack,
    streams: Streams,
    /// A device of the kernel is answered for by the kernel.
    answers: bool,
    received: u64,
    sent: u64,
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

    /// Connects if need be, and works on the frames that come within `timeout`.
    pub(crate) fn turn(&mut self, timeout: Duration) {
        if self.port.is_none() {
            match self.connector.connect(timeout) {
                Ok(port) => (self.port, self.problem) = (Some(port), None),
                Err(error) => self.problem = Some(text_of(&error)),
            }
        }
        if let Err(error) = self.exchange(timeout) {
            self.problem = Some(text_of(&error));
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
                // As on a wire, what does not fit is lost.
                Err(usnet_endpoint::Error::Full) => {}
                result => {
                    result?;
                    self.sent += 1;
                }
            }
        }
        Ok(())
    }

    /// Does what it is asked; frames are worked on meanwhile.
    pub(crate) fn handle(&mut self, request: &Request) -> Result<Answer, Error> {
        match request {
            Request::Show => Ok(self.show()),
            Request::Ping { address, count, interval_ms, timeout_ms, size } => {
                self.connected()?;
                let answered = std::mem::replace(&mut self.answers, true);
                let times = (Duration::from_millis(*interval_ms), Duration::from_millis(*timeout_ms));
                let answer = self.ping(*address, *count, times, *size);
                self.answers = answered;
                Ok(answer)
            }
            Request::Send { to, count, size, stream } => {
                self.connected()?;
                self.send(parse_mac(to).map_err(Error::Request)?, *count, *size, *stream)
            }
            Request::Receive { stream, count, timeout_ms } => {
                Ok(self.receive(*stream, *count, Duration::from_millis(*timeout_ms)))
            }
        }
    }

    pub(crate) fn turn_of_service(&mut self) {
        self.turn(TURN);
    }

    fn connected(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + CONNECT_WITHIN;
        while self.port.is_none() {
            if Instant::now() > deadline {
                let problem = self.problem.clone().unwrap_or_default();
                return Err(Error::NotConnected(format!("{}: {problem}", self.interface.name)));
            }
            self.turn(TURN);
        }
        Ok(())
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

    fn ping(&mut self, address: IpAddr, count: u16, (interval, patience): (Duration, Duration), size: usize) -> Answer {
        let payload = vec![0x5a; size];
        let mut sent: BTreeMap<u16, Instant> = BTreeMap::new();
        let mut times = Vec::new();
        let mut next = Instant::now();
        let mut last = Instant::now();
        while times.len() < usize::from(count) && (sent.len() < usize::from(count) || last.elapsed() < patience) {
            let sequence = sent.len() as u16;
            if sequence < count && Instant::now() >= next && self.stack.request_echo(address, sequence, &payload) {
                (next, last) = (Instant::now() + interval, Instant::now());
                sent.insert(sequence, last);
            }
            // What was handed to the stack leaves at the beginning of a turn without a wait.
            self.turn(Duration::ZERO);
            while let Some(sequence) = self.stack.take_reply(address) {
                times.extend(sent.get(&sequence).map(|at| at.elapsed().as_micros() as u64));
            }
            self.turn(interval.min(TURN));
            while let Some(sequence) = self.stack.take_reply(address) {
                times.extend(sent.get(&sequence).map(|at| at.elapsed().as_micros() as u64));
            }
        }
        let times_us = json!({"min": times.iter().min(), "max": times.iter().max()});
        Answer {
            ok: times.len() == usize::from(count),
            result: json!({"address": address, "transmitted": sent.len(), "received": times.len(), "roundTripMicroseconds": times_us}),
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
                        self.turn(Duration::ZERO);
                    }
                }
                Some(Err(usnet_endpoint::Error::Full)) | None => self.turn(Duration::from_millis(1)),
                Some(Err(error)) => return Err(error.into()),
            }
        }
        Ok(Answer { ok: number == count, result: json!({"stream": stream, "size": size, "sent": number}) })
    }

    fn receive(&mut self, stream: u64, count: u32, patience: Duration) -> Answer {
        let deadline = Instant::now() + patience;
        while self.streams.counts(stream).received < count && Instant::now() < deadline {
            self.turn(TURN);
        }
        // Copies of the last frame come right behind it, if at all.
        self.turn(TURN);
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

/// An error with its causes in one line.
pub(crate) fn text_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

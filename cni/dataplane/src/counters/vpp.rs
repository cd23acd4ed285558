//! The counters of VPP: its shared memory, and the binary API for which interface is whose.
//!
//! VPP uses the index of a deleted interface for the next one at once, so that both are read until
//! no interface came or went in between.

use super::{PortCounters, TIMEOUT, Traffic};
use crate::engine::EngineError;
use crate::engine::vpp::port_of_pod;
use crate::model::port::PortName;
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_crds::EngineKind;
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{IfStatusFlags, NO_INTERFACE, SwInterfaceDetails, SwInterfaceDump};
use usnet_vpp::stats::{Combined, Reader, Snapshot, StatsError};

/// VPP's own name for the socket, beside that of the binary API.
const SOCKET: &str = "stats.sock";
/// How often both are read. A single interface that is created takes milliseconds.
const ATTEMPTS: usize = 5;

/// Counters that are about frames VPP could not put into the ring of a peer. `/if/tx` has them too.
const RING_ERRORS: [&str; 9] = [
    // memif
    "no_free_slots",
    // vhost-user
    "vhost vring not ready",
    "vhost interface is down",
    "tx packet drops (no available descriptors)",
    "tx packet drops (cannot merge descriptors)",
    "mmap failure",
    "indirect descriptor table overflow",
    // af_packet
    "tx frame not ready",
    "tx ring overrun",
];

/// Reads the counters of VPP.
#[derive(Debug)]
pub(super) struct VppCounters {
    control_socket: PathBuf,
    reader: Reader,
}

/// Interfaces came and went all the time.
#[derive(Debug, thiserror::Error)]
#[error("interfaces were created or deleted during each of {ATTEMPTS} readings of its counters; try again")]
struct InterfacesChange;

/// What VPP counts of one interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InterfaceCounters {
    pub(super) is_connected: bool,
    /// Whether `drops` has the errors of the ring as well.
    pub(super) is_vhost_user: bool,
    pub(super) rx: Option<Combined>,
    pub(super) tx: Option<Combined>,
    pub(super) drops: Option<u64>,
    pub(super) rx_no_buf: Option<u64>,
    pub(super) rx_miss: Option<u64>,
    pub(super) rx_error: Option<u64>,
    pub(super) tx_error: Option<u64>,
    pub(super) ring_errors: BTreeMap<String, u64>,
}

impl VppCounters {
    pub(super) fn new(control_socket: PathBuf) -> Self {
        let reader = Reader::new(control_socket.with_file_name(SOCKET), TIMEOUT, is_wanted);
        Self { control_socket, reader }
    }

    pub(super) fn read(&mut self) -> Result<BTreeMap<PortName, PortCounters>, EngineError> {
        let mut client = Client::connect(&self.control_socket, TIMEOUT)?;
        for _ in 0..ATTEMPTS {
            let snapshot = self.reader.read()?;
            let mut batch = Batch::new();
            let dump = SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() };
            let dump = batch.dump(dump);
            let interfaces = client.send(&batch)?.details(dump)?;
            if self.reader.is_current(&snapshot)? {
                return Ok(ports(&interfaces, &snapshot));
            }
        }
        Err(EngineError::Unavailable { engine: EngineKind::Vpp, source: Box::new(InterfacesChange) })
    }
}

impl From<StatsError> for EngineError {
    fn from(error: StatsError) -> Self {
        Self::Unavailable { engine: EngineKind::Vpp, source: Box::new(error) }
    }
}

/// The entries that are read.
fn is_wanted(name: &str) -> bool {
    let of_interfaces = name.strip_prefix("/if/");
    let of_interfaces = of_interfaces.is_some_and(|counter| {
        matches!(counter, "rx" | "tx" | "drops" | "rx-no-buf" | "rx-miss" | "rx-error" | "tx-error")
    });
    let of_ring = name.strip_prefix("/err/").and_then(|error| error.split_once("-tx/"));
    of_interfaces || of_ring.is_some_and(|(_, error)| RING_ERRORS.contains(&error))
}

/// The ports of pods. A second interface with the same tag is not the port.
fn ports(interfaces: &[SwInterfaceDetails], snapshot: &Snapshot) -> BTreeMap<PortName, PortCounters> {
    let mut ports = BTreeMap::new();
    for details in interfaces {
        if let Some(port) = port_of_pod(details) {
            ports.entry(port).or_insert_with(|| counters(&interface_counters(details, snapshot)));
        }
    }
    ports
}

fn interface_counters(details: &SwInterfaceDetails, snapshot: &Snapshot) -> InterfaceCounters {
    let index = details.sw_if_index;
    let simple = |counter: &str| snapshot.simple(&format!("/if/{counter}"), index);
    let ring_error = |error: &&str| {
        let entry = format!("/err/{}-tx/{error}", details.interface_name.as_str());
        Some(((*error).to_owned(), snapshot.simple(&entry, 0)?))
    };
    InterfaceCounters {
        is_connected: details.flags.contains(IfStatusFlags::LINK_UP),
        is_vhost_user: details.interface_dev_type.as_str() == "vhost-user",
        rx: snapshot.combined("/if/rx", index),
        tx: snapshot.combined("/if/tx", index),
        drops: simple("drops"),
        rx_no_buf: simple("rx-no-buf"),
        rx_miss: simple("rx-miss"),
        rx_error: simple("rx-error"),
        tx_error: simple("tx-error"),
        ring_errors: RING_ERRORS.iter().filter_map(ring_error).collect(),
    }
}

/// What VPP sends, the pod receives. VPP counts a frame as sent before it tries to put it into the
/// ring. `drops` is of the interface on which a frame came in.
pub(super) fn counters(interface: &InterfaceCounters) -> PortCounters {
    let not_taken: u64 = interface.ring_errors.values().sum();
    let drops = interface.drops.map(|drops| drops.saturating_sub(if interface.is_vhost_user { not_taken } else { 0 }));
    let lost = [("rx-no-buf", interface.rx_no_buf), ("rx-miss", interface.rx_miss)];
    let causes = lost.iter().filter_map(|(name, count)| Some(((*name).to_owned(), (*count)?)));
    let causes = causes.chain(interface.ring_errors.iter().map(|(name, count)| (name.clone(), *count)));
    PortCounters {
        connected: interface.is_connected,
        receive: Traffic {
            packets: interface.tx.map(|tx| tx.packets.saturating_sub(not_taken)),
            bytes: interface.tx.map(|tx| tx.bytes),
            dropped: interface.tx.map(|_| not_taken),
            errors: interface.tx_error,
        },
        transmit: Traffic {
            packets: interface.rx.map(|rx| rx.packets),
            bytes: interface.rx.map(|rx| rx.bytes),
            dropped: drops.map(|drops| lost.iter().filter_map(|(_, count)| *count).fold(drops, u64::saturating_add)),
            errors: interface.rx_error,
        },
        drop_causes: causes.filter(|(_, count)| *count > 0).collect(),
    }
}

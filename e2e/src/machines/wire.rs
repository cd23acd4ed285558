//! Faults of cables and NICs.

use std::path::Path;

use serde_json::{Value, json};

use super::command_line::{device, netdev, nic_device};
use super::machine::{Machine, MachineError};

/// The interval in which a filter passes frames on, in microseconds: longer than any test.
const NEVER: u64 = 3_600_000_000;

impl Machine {
    /// Pulls the cable of a NIC at this end alone, or plugs it in: the NIC has no carrier, the
    /// other end notices nothing.
    pub fn set_carrier(&self, nic: usize, is_up: bool) -> Result<(), MachineError> {
        self.qmp(|qmp| qmp.ask("set_link", &json!({"name": device(nic), "up": is_up}))).map(drop)
    }

    /// Loses all frames to a NIC silently, or no more: it keeps its carrier.
    pub fn set_silent_loss(&self, nic: usize, is_lossy: bool) -> Result<(), MachineError> {
        let id = format!("loss{nic}");
        self.qmp(|qmp| match is_lossy {
            true => qmp.ask(
                "object-add",
                &json!({"qom-type": "filter-buffer", "id": id, "netdev": netdev(nic), "interval": NEVER, "queue": "all"}),
            ),
            // What it kept is delivered then, all at once.
            false => qmp.ask("object-del", &json!({"id": id})),
        })
        .map(drop)
    }

    /// Writes all frames of a NIC into a file, in the format of pcap, from now on.
    pub fn capture(&self, nic: usize, file: &Path) -> Result<(), MachineError> {
        let arguments = json!({
            "qom-type": "filter-dump", "id": format!("capture{nic}"), "netdev": netdev(nic), "file": file, "queue": "all"
        });
        self.qmp(|qmp| qmp.ask("object-add", &arguments)).map(drop)
    }

    /// Ends a capture.
    pub fn end_capture(&self, nic: usize) -> Result<(), MachineError> {
        self.qmp(|qmp| qmp.ask("object-del", &json!({"id": format!("capture{nic}")}))).map(drop)
    }

    /// Unplugs a NIC, and waits until the machine has released it.
    pub fn unplug(&self, nic: usize) -> Result<(), MachineError> {
        self.qmp(|qmp| {
            qmp.ask("device_del", &json!({"id": device(nic)}))?;
            qmp.wait_for_event("DEVICE_DELETED")
        })
    }

    /// Plugs a NIC in again, in the same place.
    pub fn plug(&self, nic: usize) -> Result<(), MachineError> {
        let Some(spec) = self.nic(nic) else { return Ok(()) };
        let text = format!("driver={}", nic_device(nic, spec));
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        let arguments: serde_json::Map<String, Value> = pairs.map(property).collect();
        self.qmp(|qmp| qmp.ask("device_add", &Value::Object(arguments))).map(drop)
    }
}

/// A property of a command line, in JSON, where one is a boolean.
fn property((key, value): (&str, &str)) -> (String, Value) {
    let value = if key == "iommu_platform" { (value == "on").into() } else { value.into() };
    (key.to_owned(), value)
}

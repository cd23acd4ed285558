//! Converts the settings of a VirtualMachine for the device that its guest sees, which KubeVirt
//! does for its own interfaces only.

use serde::Deserialize;
use std::fmt::Write;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestDevice {
    /// The PCI address in the guest; none lets libvirt choose.
    pub address: Option<PciAddress>,
    /// The index by which guests name the device.
    pub acpi_index: Option<u32>,
    /// The position among the devices that the guest boots from.
    pub boot_order: Option<u32>,
    /// Whether the link is down until KubeVirt sets it up.
    pub is_down: bool,
    /// Whether drivers of virtio before 1.0 can use the device.
    pub is_transitional: bool,
}

/// An address on a PCI bus: domain, bus, slot and function in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PciAddress([String; 4]);

impl PciAddress {
    /// Parses an address such as `0000:81:01.0`.
    fn parse(text: &str) -> Option<Self> {
        let (domain, rest) = text.split_once(':')?;
        let (bus, rest) = rest.split_once(':')?;
        let (slot, function) = rest.split_once('.')?;
        let has = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_valid = has(domain, 4) && has(bus, 2) && has(slot, 2) && matches!(function.as_bytes(), [b'0'..=b'7']);
        is_valid.then(|| Self([domain, bus, slot, function].map(str::to_ascii_lowercase)))
    }
}

/// The fields of an interface that describe its device.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceFields {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    pci_address: Option<String>,
    #[serde(default)]
    acpi_index: Option<u32>,
    #[serde(default)]
    boot_order: Option<u32>,
    #[serde(default)]
    state: Option<String>,
}

/// A field with a value that a vhost-user device cannot have.
#[derive(Debug, thiserror::Error)]
#[error("{field} {value:?} of interface {network} {problem}")]
pub(super) struct FieldError {
    network: String,
    field: &'static str,
    value: String,
    problem: &'static str,
}

impl GuestDevice {
    /// Reads the device of the interface of a network.
    pub(super) fn read(network: &str, fields: &DeviceFields, is_transitional: bool) -> Result<Self, FieldError> {
        let wrong = |field, value: &str, problem| FieldError {
            network: network.to_owned(),
            field,
            value: value.to_owned(),
            problem,
        };
        if let Some(model) = fields.model.as_deref().filter(|model| !matches!(*model, "" | "virtio")) {
            return Err(wrong("model", model, "is not possible: a vhost-user device is a virtio device"));
        }
        let is_down = match fields.state.as_deref() {
            None | Some("" | "up") => false,
            Some("down") => true,
            Some(state) => return Err(wrong("state", state, "is not supported: set up or down")),
        };
        let address = fields.pci_address.as_deref().filter(|text| !text.is_empty());
        let parsed = |text| {
            PciAddress::parse(text)
                .ok_or_else(|| wrong("pciAddress", text, "is not a PCI address such as 0000:81:01.0"))
        };
        Ok(Self {
            address: address.map(parsed).transpose()?,
            acpi_index: fields.acpi_index.filter(|index| *index > 0),
            boot_order: fields.boot_order.filter(|order| *order > 0),
            is_down,
            is_transitional,
        })
    }

    /// The name of the model in libvirt.
    pub(super) const fn model(&self) -> &'static str {
        if self.is_transitional { "virtio-transitional" } else { "virtio-non-transitional" }
    }

    /// The XML elements of the device, with `kept_address` unless another address is set.
    pub(super) fn elements(&self, kept_address: &str) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        if self.is_down {
            text.push_str("<link state='down'/>");
        }
        if let Some(order) = self.boot_order {
            let _written = write!(text, "<boot order='{order}'/>");
        }
        if let Some(index) = self.acpi_index {
            let _written = write!(text, "<acpi index='{index}'/>");
        }
        match &self.address {
            Some(PciAddress([domain, bus, slot, function])) => {
                let _written = write!(
                    text,
                    "<address type='pci' domain='0x{domain}' bus='0x{bus}' slot='0x{slot}' function='0x{function}'/>"
                );
            }
            None => text.push_str(kept_address),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(fields: Value, is_transitional: bool) -> Result<GuestDevice, String> {
        let fields: DeviceFields = serde_json::from_value(fields).unwrap();
        GuestDevice::read("blue", &fields, is_transitional).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_guest_sees_is_in_the_domain() {
        let fields = json!({
            "name": "blue", "model": "virtio", "pciAddress": "0000:0A:01.7", "acpiIndex": 101, "bootOrder": 1, "state": "down",
        });
        let device = read(fields, true).unwrap();
        assert_eq!(device.model(), "virtio-transitional");
        assert_eq!(
            device.elements("<address type='pci' slot='0x00'/>"),
            "<link state='down'/><boot order='1'/><acpi index='101'/><address type='pci' domain='0x0000' bus='0x0a' slot='0x01' function='0x7'/>"
        );
        let plain = read(json!({"state": "up"}), false).unwrap();
        assert_eq!((plain.model(), plain.elements("<a/>").as_str()), ("virtio-non-transitional", "<a/>"));
    }

    #[test]
    fn what_it_cannot_be_is_refused() {
        for (fields, words) in [
            (json!({"model": "e1000"}), "model \"e1000\" of interface blue is not possible"),
            (json!({"state": "absent"}), "state \"absent\" of interface blue is not supported"),
            (json!({"pciAddress": "81:00.0"}), "pciAddress \"81:00.0\" of interface blue is not a PCI address"),
            (json!({"pciAddress": "0000:81:00.8"}), "is not a PCI address"),
            (json!({"pciAddress": "0000:81:0g.0"}), "is not a PCI address"),
        ] {
            let refused = read(fields, false).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}

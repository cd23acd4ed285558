//! Device plugin resources: the extended resource of a network, and its devices. Each attachment of
//! a pod is allocated one.

use super::limits::DeviceCount;
use super::names::{InvalidName, NetworkName};
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// The prefix of resource names.
pub const RESOURCE_PREFIX: &str = "usnet.dev";
/// The path in containers where the folders of devices are mounted. It is outside of the usual
/// mount of the volume `usnet`, and short: paths of unix sockets are limited to 107 bytes.
pub const CONTAINER_FOLDER: &str = "/run/usnet.dev";
/// The resource that a pod requests, such as `usnet.dev/blue`.
pub fn resource_name(network: &NetworkName) -> String {
    format!("{RESOURCE_PREFIX}/{network}")
}

/// The environment variable with the folders of a container's devices of a network, such as
/// `USNET_DEVICES_BLUE_2`.
pub fn folders_variable(network: &NetworkName) -> String {
    format!("USNET_DEVICES_{}", network.as_str().to_ascii_uppercase().replace('-', "_"))
}

/// Why text is not the id of a device.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDeviceId {
    #[error("device id {0:?} is not a network's name, '-' and a number")]
    Form(String),
    #[error("device id {id:?} does not begin with the name of a network")]
    Network { id: String, source: InvalidName },
}

/// One device: a slot for one attachment to a network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    network: NetworkName,
    number: u16,
}

impl DeviceId {
    pub fn all(network: &NetworkName, devices: DeviceCount) -> impl Iterator<Item = Self> {
        (0..devices.get()).map(|number| Self { network: network.clone(), number })
    }

    pub fn network(&self) -> &NetworkName {
        &self.network
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.network, self.number)
    }
}

impl FromStr for DeviceId {
    type Err = InvalidDeviceId;

    /// Accepts only what [`Display`](fmt::Display) writes: the id becomes the name of a folder.
    fn from_str(text: &str) -> Result<Self, InvalidDeviceId> {
        let wrong_form = || InvalidDeviceId::Form(text.to_owned());
        let (network, number) = text.rsplit_once('-').ok_or_else(wrong_form)?;
        let parsed: Result<u16, ParseIntError> = number.parse();
        let parsed = parsed.ok().filter(|parsed| parsed.to_string() == number && *parsed < DeviceCount::MAXIMUM);
        let network = network.parse().map_err(|source| InvalidDeviceId::Network { id: text.to_owned(), source })?;
        Ok(Self { network, number: parsed.ok_or_else(wrong_form)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::limits::{DEVICE_ID_MAX, DEVICE_NETWORK_NAME_MAX};

    #[test]
    fn ids_are_short_enough_and_read_back() {
        let network: NetworkName = "a".repeat(DEVICE_NETWORK_NAME_MAX).parse().unwrap();
        let devices = DeviceCount::try_from(i64::from(DeviceCount::MAXIMUM)).unwrap();
        let all: Vec<DeviceId> = DeviceId::all(&network, devices).collect();
        assert_eq!(all.len(), usize::from(DeviceCount::MAXIMUM));
        for id in &all {
            assert!(id.to_string().len() <= DEVICE_ID_MAX, "{id}");
            assert_eq!(&id.to_string().parse::<DeviceId>().unwrap(), id);
        }
    }

    #[test]
    fn a_network_whose_name_ends_in_a_number_has_devices_of_its_own() {
        let id: DeviceId = "blue-1-2".parse().unwrap();
        assert_eq!((id.network().as_str(), id.number), ("blue-1", 2));
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in
            ["", "blue", "blue-", "blue-x", "blue-01", "blue-+1", "blue-1000", "../x-1", "a/b-1", "-1", "blue--1", "."]
        {
            assert!(text.parse::<DeviceId>().is_err(), "{text}");
        }
    }

    /// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>: the part behind
    /// the slash has up to 63 letters, digits, `-`, `_` and `.`, and a letter or digit at both
    /// ends. Every name of a network is one.
    #[test]
    fn every_network_has_a_resource() {
        let longest: NetworkName = "a".repeat(crate::names::NETWORK_NAME_MAX).parse().unwrap();
        assert!(resource_name(&longest).split('/').nth(1).unwrap().len() <= 63);
        assert!(["-a", "a-", "a.", "A_"].iter().all(|name| name.parse::<NetworkName>().is_err()));
    }
}

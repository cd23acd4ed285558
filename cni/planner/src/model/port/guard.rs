//! The guard of a port: what its pod may claim to be in the frames that it sends.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use usnet_crds::MacAddress;

/// What a pod may claim to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The MAC address of its interface.
    pub mac: MacAddress,
    pub addresses: GuardedAddresses,
    /// The addresses that it may use with other MAC addresses, as a virtual router does.
    pub pairs: BTreeSet<GuardedPair>,
}

/// A MAC address that is not the one of the interface, and an IP address that may be used with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuardedPair {
    pub ip: IpAddr,
    pub mac: MacAddress,
}

/// The IP addresses that a pod may claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardedAddresses {
    /// Any, and every other protocol.
    Any,
    Only {
        addresses: BTreeSet<IpAddr>,
        /// Whether it asks a DHCP server for them.
        dhcp: bool,
    },
}

const ANY: &str = "any";
const DHCP: &str = "dhcp";

impl fmt::Display for Guard {
    /// The MAC address, and then `any`, or the addresses, with `dhcp` before them; at last the
    /// pairs as `IP@MAC`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.mac)?;
        match &self.addresses {
            GuardedAddresses::Any => write!(formatter, " {ANY}")?,
            GuardedAddresses::Only { addresses, dhcp } => {
                if *dhcp {
                    write!(formatter, " {DHCP}")?;
                }
                addresses.iter().try_for_each(|address| write!(formatter, " {address}"))?;
            }
        }
        self.pairs.iter().try_for_each(|GuardedPair { ip, mac }| write!(formatter, " {ip}@{mac}"))
    }
}

/// What is not a guard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a guard: a MAC address, then \"any\", or \"dhcp\" and IP addresses, and then IP@MAC")]
pub struct InvalidGuard(String);

impl FromStr for Guard {
    type Err = InvalidGuard;

    fn from_str(text: &str) -> Result<Self, InvalidGuard> {
        let invalid = || InvalidGuard(text.to_owned());
        let mut words = text.split(' ').peekable();
        let mac = words.next().and_then(|mac| mac.parse().ok()).ok_or_else(invalid)?;
        let addresses = if words.next_if_eq(&ANY).is_some() {
            GuardedAddresses::Any
        } else {
            let dhcp = words.next_if_eq(&DHCP).is_some();
            let mut addresses = BTreeSet::new();
            while let Some(word) = words.next_if(|word| !word.contains('@')) {
                addresses.insert(word.parse().map_err(|_| invalid())?);
            }
            GuardedAddresses::Only { addresses, dhcp }
        };
        let pairs = words.map(|word| pair(word).ok_or_else(invalid)).collect::<Result<_, _>>()?;
        Ok(Self { mac, addresses, pairs })
    }
}

fn pair(word: &str) -> Option<GuardedPair> {
    let (ip, mac) = word.split_once('@')?;
    Some(GuardedPair { ip: ip.parse().ok()?, mac: mac.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_its_text() {
        let mac = "02:00:00:00:00:0a";
        for text in [
            format!("{mac} any"),
            mac.to_owned(),
            format!("{mac} dhcp"),
            format!("{mac} 10.9.0.10 fd09::a"),
            format!("{mac} dhcp 10.9.0.10"),
            format!("{mac} any 10.9.0.100@00:00:5e:00:01:05"),
            format!("{mac} 10.9.0.10 10.9.0.100@00:00:5e:00:01:05 fd09::100@00:00:5e:00:02:05"),
        ] {
            assert_eq!(text.parse::<Guard>().unwrap().to_string(), text);
        }
        for wrong in [
            "".to_owned(),
            "any".to_owned(),
            "x any".to_owned(),
            format!("{mac} any 10.9.0.10"),
            format!("{mac} x"),
            format!("{mac}  fd09::a"),
            format!("{mac} 10.9.0.100@{mac} 10.9.0.10"),
            format!("{mac} 10.9.0.100@"),
        ] {
            assert_eq!(wrong.parse::<Guard>(), Err(InvalidGuard(wrong.clone())));
        }
    }
}

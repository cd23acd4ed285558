//! The connection of which policies are asked: `tcp/5432`, `udp/53`, or `icmp` for any protocol
//! without ports.

use std::fmt;
use std::str::FromStr;
use usnet_crds::policy::rule::TransportProtocol;

/// What a connection is to, by its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Port(TransportProtocol, u16),
    /// Of a protocol without ports.
    WithoutPort,
}

/// What is not a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("use tcp/PORT or udp/PORT with a port from 1 to 65535, or icmp for protocols without ports")]
pub(crate) struct InvalidTarget;

impl Target {
    pub(super) const fn port(self) -> Option<(TransportProtocol, u16)> {
        match self {
            Self::Port(protocol, port) => Some((protocol, port)),
            Self::WithoutPort => None,
        }
    }
}

impl FromStr for Target {
    type Err = InvalidTarget;

    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        let text = text.to_ascii_lowercase();
        if text == "icmp" {
            return Ok(Self::WithoutPort);
        }
        let (protocol, port) = text.split_once('/').ok_or(InvalidTarget)?;
        let protocol = match protocol {
            "tcp" => TransportProtocol::Tcp,
            "udp" => TransportProtocol::Udp,
            _ => return Err(InvalidTarget),
        };
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(InvalidTarget)?;
        Ok(Self::Port(protocol, port))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(TransportProtocol::Tcp, port) => write!(formatter, "tcp/{port}"),
            Self::Port(TransportProtocol::Udp, port) => write!(formatter, "udp/{port}"),
            Self::WithoutPort => write!(formatter, "icmp"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_read_as_they_are_written() {
        for text in ["tcp/5432", "udp/53", "icmp"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("TCP/80".parse(), Ok(Target::Port(TransportProtocol::Tcp, 80)));
        for wrong in ["", "tcp", "80", "tcp/0", "tcp/65536", "sctp/7", "tcp/http"] {
            assert_eq!(wrong.parse::<Target>(), Err(InvalidTarget), "{wrong}");
        }
    }
}

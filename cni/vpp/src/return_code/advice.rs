//! The observed meaning of return codes, with advice.

use super::codes::ReturnCode;
use std::fmt::{self, Display, Formatter};

impl ReturnCode {
    /// Returns advice for the codes that the messages of this crate were seen to give.
    #[must_use]
    pub const fn advice(self) -> Option<&'static str> {
        Some(match self {
            Self::InvalidSwIfIndex => "the interface does not exist any more; read the interfaces again",
            Self::NoSuchEntry => "the object does not exist; read the state again before changing it",
            Self::SyscallError1 => {
                "the device of an af_packet interface does not exist, or VPP cannot open /dev/vhost-net for a tap; load the kernel module vhost_net"
            }
            Self::SyscallError2 => {
                "VPP cannot listen on the vhost-user socket, or open the network namespace of a tap; check that the socket's directory exists, that VPP may write to it, and that VPP has the mounts of the node"
            }
            Self::SyscallError3 => "VPP cannot enter the network namespace of a tap, or the kernel refuses the tap",
            Self::SyscallError4 => {
                "VPP cannot listen on the memif socket; its directory must exist, the path must not be used by another \
                 listener or file, and it may have at most 106 bytes of [A-Za-z0-9_./-]; delete the socket id before \
                 trying again"
            }
            Self::SubifAlreadyExists => {
                "the memif id is in use on this socket, or the socket has memifs of the other role"
            }
            Self::InvalidArgument => {
                "a value is out of range; check that the ring size is a power of two and that the socket id was added"
            }
            Self::UnexpectedIntfState => {
                "the socket id is in use, or two interfaces are bound to different tables; delete the memifs on it, or bind both to the same tables"
            }
            Self::TunnelExist => "such a tunnel exists; read the tunnels again",
            Self::IfAlreadyExists => "another interface uses the same socket path or name",
            Self::EntryAlreadyExists => "the id is in use, for example for another socket file; use another id",
            Self::BdAlreadyExists => {
                "the bridge domain exists already, or its id is 0, which VPP reserves; change its flags instead, or use another id"
            }
            Self::BdInUse => "the bridge domain still has interfaces; remove them first",
            Self::BdNotModifiable => "VPP reserves bridge domain 0; use another id",
            Self::AddressInUse => {
                "the address, or one of its subnet, is in use in the same routing table; use another subnet or another table"
            }
            Self::AddressFoundForInterface => {
                "the interface has addresses; remove them before its routing table changes"
            }
            Self::BdAlreadyHasBvi => "the bridge domain has another BVI; remove that, or use another bridge domain",
            Self::BdIdExceedMax => "the bridge domain id must be at most 16777215",
            Self::ApiEndianFailed => "VPP could not decode the request; this is a defect of the client",
            _ => return None,
        })
    }
}

impl Display for ReturnCode {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name(), self.number())?;
        self.advice().map_or(Ok(()), |advice| write!(formatter, ": {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::ReturnCode;

    #[test]
    fn number_and_name_belong_together() {
        let code = ReturnCode::from(-14);
        assert_eq!((code, code.number(), code.name()), (ReturnCode::SyscallError4, -14, "SYSCALL_ERROR_4"));
        assert!(code.to_string().starts_with("SYSCALL_ERROR_4 (-14): VPP cannot listen on the memif socket"), "{code}");
        assert_eq!(ReturnCode::from(-1234).to_string(), "unknown return code (-1234)");
        for number in -200..0 {
            assert_eq!(ReturnCode::from(number).number(), number);
        }
    }
}

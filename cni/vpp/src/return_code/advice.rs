//! The observed meaning of a return code, and what to do then.

use super::codes::ReturnCode;
use std::fmt::{self, Display, Formatter};

impl ReturnCode {
    /// What to do about it, for the codes that the messages of this crate were seen to give.
    #[must_use]
    pub const fn advice(self) -> Option<&'static str> {
        Some(match self {
            Self::InvalidSwIfIndex => "the interface is gone; read the interfaces again",
            Self::NoSuchEntry => "it does not exist, or no more; read again before changing it",
            Self::SyscallError2 => {
                "VPP cannot listen at the vhost-user socket; does its directory exist, and may VPP write there?"
            }
            Self::SyscallError4 => {
                "VPP cannot listen at the memif socket; its directory must exist, nobody else may listen there or have put \
                 a file there, and the path may have at most 106 bytes of [A-Za-z0-9_./-]; delete the socket's id before \
                 trying again"
            }
            Self::SubifAlreadyExists => {
                "the memif's id is taken on its socket, or the socket has memifs of the other role"
            }
            Self::InvalidArgument => {
                "a value is out of range; is the ring size a power of two, and was the socket's id added?"
            }
            Self::UnexpectedIntfState => "it is in use; remove the memifs on the socket first",
            Self::TunnelExist => "such a tunnel exists; read the tunnels again",
            Self::IfAlreadyExists => "another interface uses the same socket path or name",
            Self::EntryAlreadyExists => {
                "the id belongs to something else, such as another socket file; take another id"
            }
            Self::BdAlreadyExists => {
                "the bridge domain's id is taken, or is 0, which is VPP's own; change its flags instead, or take another id"
            }
            Self::BdInUse => "interfaces are still in the bridge domain; take them out first",
            Self::BdNotModifiable => "bridge domain 0 is VPP's own; take another id",
            Self::BdIdExceedMax => "the bridge domain's id must be at most 16777215",
            Self::ApiEndianFailed => "VPP could not read the request; this is an error of the client",
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
        assert!(code.to_string().starts_with("SYSCALL_ERROR_4 (-14): VPP cannot listen at the memif socket"), "{code}");
        assert_eq!(ReturnCode::from(-1234).to_string(), "unknown return code (-1234)");
        for number in -200..0 {
            assert_eq!(ReturnCode::from(number).number(), number);
        }
    }
}

//! Ports of a bridge.

use crate::PortNumber;
use crate::wire::{Malformed, Reader};

/// A port as its bridge describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortDescription {
    pub number: PortNumber,
    /// The first 15 bytes of its name.
    pub name: String,
    pub mac: [u8; 6],
}

impl PortDescription {
    /// Reads all ports of a part of a reply.
    pub fn decode_all(mut reader: Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut ports = Vec::new();
        while !reader.is_empty() {
            let number = PortNumber::from_long(reader.u32()?).ok_or(Malformed::Value("the number of a port"))?;
            let length = reader.u16()?;
            ports.push(Self::decode(number, reader.structure(length, 6, "a port")?)?);
        }
        Ok(ports)
    }

    /// Configuration, state and properties follow what is read.
    fn decode(number: PortNumber, mut reader: Reader<'_>) -> Result<Self, Malformed> {
        reader.skip(2)?;
        let mac = reader.array()?;
        reader.skip(2)?;
        let name: [u8; 16] = reader.array()?;
        let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
        Ok(Self { number, name: String::from_utf8_lossy(&name).into_owned(), mac })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_cut_off_is_an_error() {
        let mac = [2, 0, 0, 0, 0, 1];
        let head = [&[0, 0, 0, 7, 0, 72, 0, 0], &mac[..], &[0, 0], b"port\0not a name!"].concat();
        let port = [&head[..], &[0; 40]].concat();
        let read = |bytes: &[u8]| PortDescription::decode_all(Reader::new(bytes, "a reply"));
        let number = PortNumber::new(7).unwrap();
        assert_eq!(read(&port), Ok(vec![PortDescription { number, name: "port".to_owned(), mac }]));
        for length in 1..port.len() {
            assert!(read(&port[..length]).is_err(), "{length}");
        }
        assert_eq!(read(&[0, 0, 0xff, 0xff, 0, 8, 0, 0]), Err(Malformed::Value("the number of a port")));
        assert_eq!(read(&[0, 0, 0, 7, 0, 5, 0, 0]), Err(Malformed::Length("a port")));
    }
}

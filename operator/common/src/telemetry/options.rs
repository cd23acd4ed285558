//! Where a program listens, and for whom; the same options for all programs.

use super::certificate::Files;
use std::net::{AddrParseError, SocketAddr};
use std::path::PathBuf;

/// The variable of the socket of probes: containers set it for the program and for its probes.
pub(super) const PROBE_SOCKET: &str = "USNET_PROBE_SOCKET";

/// Where a program listens.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ListenOptions {
    /// The address that serves /metrics; none if absent. At an address of the loopback device, such
    /// as 127.0.0.1:8443, to every client over HTTP; at any other, such as `[::]:8443`, over TLS to
    /// clients with a token that RBAC allows to get it.
    #[arg(long, env = "USNET_LISTEN_METRICS", value_name = "ADDRESS:PORT", value_parser = address)]
    pub listen_metrics: Option<SocketAddr>,
    /// The certificate for /metrics, PEM; if absent, a self-signed certificate is generated.
    #[arg(long, env = "USNET_METRICS_CERTIFICATE", value_name = "FILE", requires = "metrics_key")]
    pub metrics_certificate: Option<PathBuf>,
    /// The private key of --metrics-certificate, PEM.
    #[arg(long, env = "USNET_METRICS_KEY", value_name = "FILE", requires = "metrics_certificate")]
    pub metrics_key: Option<PathBuf>,
    /// The address that serves /healthz and /readyz to every client, such as `[::]:8082`; none if
    /// absent.
    #[arg(long, env = "USNET_LISTEN_PROBES", value_name = "ADDRESS:PORT")]
    pub listen_probes: Option<SocketAddr>,
    /// The unix socket that serves /healthz, /readyz and /metrics to `usnet probe`; none if absent.
    /// A file of that name is replaced.
    #[arg(long, env = PROBE_SOCKET, value_name = "FILE")]
    pub probe_socket: Option<PathBuf>,
    /// The address that serves /metrics/ports; none if absent. Only the agent has ports.
    #[arg(skip)]
    pub listen_ports: Option<SocketAddr>,
}

impl ListenOptions {
    pub(super) fn certificate_files(&self) -> Option<Files> {
        let (certificate, key) = (self.metrics_certificate.clone()?, self.metrics_key.clone()?);
        Some(Files { certificate, key })
    }
}

/// An address and a port. Brackets may be around an IPv4 address, too: manifests write
/// `[$(POD_IP)]:8443` for both families.
fn address(text: &str) -> Result<SocketAddr, AddrParseError> {
    let bracketed = || {
        let (address, port) = text.strip_prefix('[')?.split_once("]:")?;
        Some(SocketAddr::new(address.parse().ok()?, port.parse().ok()?))
    };
    bracketed().map_or_else(|| text.parse(), Ok)
}

/// An address that only programs of the same network namespace reach, for the options of a program.
///
/// # Errors
/// When the text is no address of the loopback device.
pub fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "must be an address and a port, such as 127.0.0.1:8083")?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("must be of the loopback device, such as 127.0.0.1:8083: any reader learns names and traffic of all pods"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_in_brackets_in_both_families() {
        for (text, expected) in [
            ("[10.0.0.1]:28181", "10.0.0.1:28181"),
            ("[fd00::1]:28181", "[fd00::1]:28181"),
            ("127.0.0.1:28181", "127.0.0.1:28181"),
            ("[::]:8443", "[::]:8443"),
        ] {
            assert_eq!(address(text), Ok(expected.parse().unwrap()), "{text}");
        }
        for text in ["[]:28181", "[10.0.0.1]", "[10.0.0.1]28181", "28181", "localhost:28181"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}

//! Probes that check whether a program is ready.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The time limit of one probe.
const LIMIT: Duration = Duration::from_secs(2);

/// Returns a probe that connects by TCP.
pub fn tcp(address: SocketAddr) -> impl Fn() -> bool + Send + Sync {
    move || TcpStream::connect_timeout(&address, LIMIT).is_ok()
}

/// Returns a probe that expects status 200 for `GET path` over plain HTTP.
pub fn http(address: SocketAddr, path: &'static str) -> impl Fn() -> bool + Send + Sync {
    move || get_status_is_ok(address, path).unwrap_or(false)
}

/// Returns a probe that connects to a unix socket.
pub fn unix_socket(path: PathBuf) -> impl Fn() -> bool + Send + Sync {
    move || UnixStream::connect(&path).is_ok()
}

/// Returns a probe that expects a command to succeed.
pub fn command(build: impl Fn() -> Command + Send + Sync) -> impl Fn() -> bool + Send + Sync {
    move || {
        let status = build().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

/// Returns a probe that expects both to succeed. The second, more expensive one runs only after the
/// first.
pub fn both(
    first: impl Fn() -> bool + Send + Sync,
    second: impl Fn() -> bool + Send + Sync,
) -> impl Fn() -> bool + Send + Sync {
    move || first() && second()
}

fn get_status_is_ok(address: SocketAddr, path: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: world\r\n\r\n")?;
    let mut start = [0; 12];
    stream.read_exact(&mut start)?;
    Ok(start.ends_with(b" 200"))
}

//! Ways to see that a program serves.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long one look may take.
const LIMIT: Duration = Duration::from_secs(2);

/// It accepts TCP connections.
pub fn tcp(address: SocketAddr) -> impl Fn() -> bool + Send + Sync {
    move || TcpStream::connect_timeout(&address, LIMIT).is_ok()
}

/// It answers `GET path` with status 200 over plain HTTP.
pub fn http(address: SocketAddr, path: &'static str) -> impl Fn() -> bool + Send + Sync {
    move || get_status_is_ok(address, path).unwrap_or(false)
}

/// It accepts connections on a unix socket.
pub fn unix_socket(path: PathBuf) -> impl Fn() -> bool + Send + Sync {
    move || UnixStream::connect(&path).is_ok()
}

/// A command about it succeeds.
pub fn command(build: impl Fn() -> Command + Send + Sync) -> impl Fn() -> bool + Send + Sync {
    move || {
        let status = build().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

/// Both hold; the second, dearer one is asked only when the first holds.
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

//! `kubectl logs` of one pod.

use super::kinds::Kind;
use super::send_for_text;
use hyper::Request;

/// Returns the log of a container; `None` if `kubectl` has to read it, or to report why it cannot.
pub(super) fn of_pod(arguments: &[&str]) -> Option<String> {
    let (mut pod, mut namespace, mut query) = (None, "default", String::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.split_once('=') {
            _ if *argument == "-n" => namespace = rest.next()?,
            _ if *argument == "-c" => query += &format!("&container={}", rest.next()?),
            _ if *argument == "--timestamps" => query += "&timestamps=true",
            Some(("--tail", lines)) => query += &format!("&tailLines={}", lines.parse::<u32>().ok()?),
            None if pod.is_none() && !argument.starts_with('-') && !argument.contains('/') => pod = Some(*argument),
            _ => return None,
        }
    }
    let path = format!("{}/{}/log?{query}", Kind::named("pod")?.path(namespace), pod.filter(|pod| !pod.is_empty())?);
    send_for_text(Request::get(path).body(Vec::new()).ok()?).ok()
}

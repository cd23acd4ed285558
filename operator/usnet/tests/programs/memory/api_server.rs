//! An API server that has objects of certain kinds, and no others. It answers lists in pages and
//! keeps watches open.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// How long a watch without events is kept open.
const WATCH: Duration = Duration::from_secs(60);
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What it has, by the path of the list.
#[derive(Default)]
pub(crate) struct Objects {
    /// What a list has.
    pub(crate) listed: BTreeMap<&'static str, Vec<String>>,
    /// What the first watch shows.
    pub(crate) changed: BTreeMap<&'static str, Vec<String>>,
}

/// A running one.
pub(crate) struct ApiServer {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    objects: Objects,
    /// How often each list was watched.
    watches: Mutex<BTreeMap<String, usize>>,
    changed: Condvar,
}

impl ApiServer {
    pub(crate) fn start(objects: Objects) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { objects, ..State::default() });
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&served);
                // A client that closes a connection is none of its concern.
                thread::spawn(move || stream.and_then(|stream| state.serve(&stream)).ok());
            }
        });
        Self { address, state }
    }

    /// Waits until each of these lists was watched so often: whatever came before was read.
    pub(crate) fn await_watches(&self, paths: &[&str], times: usize) {
        let watches = self.state.watches.lock().unwrap();
        let is_less = |watches: &mut BTreeMap<String, usize>| {
            paths.iter().any(|path| watches.get(*path).is_none_or(|number| *number < times))
        };
        let (watches, timeout) = self.state.changed.wait_timeout_while(watches, PATIENCE, is_less).unwrap();
        let missing: BTreeSet<_> =
            paths.iter().filter(|path| watches.get(**path).is_none_or(|it| *it < times)).collect();
        assert!(!timeout.timed_out(), "not watched {times} times: {missing:?}");
    }
}

impl State {
    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let target = first.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let is_known = path.contains("usnet.dev") || path.contains("k8s.cni") || path.starts_with("/api/v1/n");
        if !first.starts_with("GET") || !is_known {
            return stream.write_all(b"HTTP/1.1 503 Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")?;
        if query.contains_key("watch") { self.watch(stream, path) } else { self.list(stream, path, &query) }
    }

    fn list(&self, mut stream: &TcpStream, path: &str, query: &BTreeMap<&str, &str>) -> io::Result<()> {
        let all = self.objects.listed.get(path).map(Vec::as_slice).unwrap_or_default();
        let number = |key: &str| query.get(key).and_then(|text| text.parse::<usize>().ok());
        let begin = number("continue").unwrap_or_default();
        let end = number("limit").map_or(all.len(), |limit| begin.saturating_add(limit).min(all.len()));
        let more = if end < all.len() { end.to_string() } else { String::new() };
        let metadata = json!({"resourceVersion": "1000", "continue": more});
        write!(stream, r#"{{"kind": "List", "apiVersion": "v1", "metadata": {metadata}, "items": ["#)?;
        for (place, object) in all.get(begin..end).unwrap_or_default().iter().enumerate() {
            stream.write_all(if place == 0 { b"" } else { b"," })?;
            stream.write_all(object.as_bytes())?;
        }
        stream.write_all(b"]}")
    }

    fn watch(&self, mut stream: &TcpStream, path: &str) -> io::Result<()> {
        let number = {
            let mut watches = self.watches.lock().unwrap();
            let number = watches.entry(path.to_owned()).or_default();
            *number += 1;
            self.changed.notify_all();
            *number
        };
        if number > 1 {
            thread::sleep(WATCH);
            return Ok(());
        }
        for object in self.objects.changed.get(path).into_iter().flatten() {
            writeln!(stream, r#"{{"type": "MODIFIED", "object": {object}}}"#)?;
        }
        Ok(())
    }
}

/// What of an object is large.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Large {
    Annotations,
    Labels,
    ManagedFields,
    Finalizers,
    Owners,
    Nothing,
}

/// An object as text, which has so many bytes more.
pub(crate) fn object(number: usize, large: Large, size: usize, rest: &Value) -> String {
    let mut fields = String::new();
    let (begin, end) = match large {
        Large::Annotations => (r#""annotations": {"#, "},"),
        Large::Labels => (r#""labels": {"#, "},"),
        Large::ManagedFields => (r#""managedFields": [{"manager": "m", "fieldsV1": {"#, "}}],"),
        Large::Finalizers => (r#""finalizers": ["#, "],"),
        Large::Owners => (r#""ownerReferences": ["#, "],"),
        Large::Nothing => ("", ""),
    };
    fields.push_str(begin);
    let mut entry = 0_usize;
    while fields.len() < size && !matches!(large, Large::Nothing) {
        let comma = if entry == 0 { "" } else { "," };
        let text = match large {
            Large::Finalizers => format!(r#"{comma}"example.com/f{entry}""#),
            Large::Owners => {
                format!(r#"{comma}{{"apiVersion": "v1", "kind": "Pod", "name": "p{entry}", "uid": "{entry}"}}"#)
            }
            Large::ManagedFields => format!(r#"{comma}"f:field{entry}": {{}}"#),
            _ => format!(r#"{comma}"example.com/key{entry}": "value \"{entry}\"""#),
        };
        fields.push_str(&text);
        entry += 1;
    }
    fields.push_str(end);
    let mut text = String::new();
    let version = number + 1;
    write!(
        text,
        r#"{{"metadata": {{{fields} "name": "n{number}", "namespace": "team-a", "uid": "u{number}", "resourceVersion": "{version}"}}, "spec": {}, "status": {}}}"#,
        rest["spec"], rest["status"],
    )
    .unwrap();
    text
}

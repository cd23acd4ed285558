//! What etcd has, asked over its JSON gateway.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

/// The content in MiB, without old revisions: they are compacted first.
pub(crate) fn content_mib(etcd: SocketAddr) -> f64 {
    let revision = status(etcd)["header"]["revision"].as_str().expect("a revision").to_owned();
    post(etcd, "/v3/kv/compaction", &json!({"revision": revision, "physical": true}));
    in_use_mib(etcd)
}

/// What is in use, old revisions and all.
pub(crate) fn in_use_mib(etcd: SocketAddr) -> f64 {
    let size = status(etcd)["dbSizeInUse"].as_str().and_then(|size| size.parse::<f64>().ok());
    size.expect("a size") / 1024.0 / 1024.0
}

fn status(etcd: SocketAddr) -> Value {
    post(etcd, "/v3/maintenance/status", &json!({}))
}

fn post(etcd: SocketAddr, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let mut stream = TcpStream::connect(etcd).expect("etcd accepts");
    let head = format!("POST {path} HTTP/1.0\r\nHost: etcd\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).expect("etcd reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("etcd answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("etcd answers {body:?}: {error}"))
}

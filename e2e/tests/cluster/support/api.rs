//! Objects of the API server, read by this process: `kubectl` takes a quarter of a second of a core
//! to start, and waiting for a condition reads many times.

use hyper::Request;
use kube::{Client, Config};
use serde_json::Value;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Kinds by the names that tests use, with their path in the API and whether they have namespaces.
const KINDS: [(&[&str], &str, &str, bool); 14] = [
    (&["usn"], "apis/usnet.dev/v1alpha1", "userspacenetworks", false),
    (&["usns"], "apis/usnet.dev/v1alpha1", "userspacenodestates", false),
    (&["usu"], "apis/usnet.dev/v1alpha1", "userspaceuplinks", false),
    (&["usna"], "apis/usnet.dev/v1alpha1", "userspaceattachments", true),
    (&["ucn", "compilednetwork"], "apis/usnet.dev/v1alpha1", "compilednetworks", false),
    (&["net-attach-def"], "apis/k8s.cni.cncf.io/v1", "network-attachment-definitions", true),
    (&["pod", "pods"], "api/v1", "pods", true),
    (&["events"], "api/v1", "events", true),
    (&["node"], "api/v1", "nodes", false),
    (&["namespace"], "api/v1", "namespaces", false),
    (&["deployment"], "apis/apps/v1", "deployments", true),
    (&["resourceclaim"], "apis/resource.k8s.io/v1", "resourceclaims", true),
    (&["resourceslices"], "apis/resource.k8s.io/v1", "resourceslices", false),
    (&["deviceclass"], "apis/resource.k8s.io/v1", "deviceclasses", false),
];
/// A connection that was open when the API server was started again breaks with its next request.
const ATTEMPTS: usize = 3;

/// The path of what `kubectl get` with these arguments reads; none if only `kubectl` knows.
pub(super) fn path(arguments: &[&str]) -> Option<String> {
    let (mut names, mut namespace, mut query) = (Vec::new(), "default", Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "-n" => namespace = rest.next()?,
            "-l" => query.push(("labelSelector", *rest.next()?)),
            "--field-selector" => query.push(("fieldSelector", *rest.next()?)),
            option if option.starts_with('-') => return None,
            name => names.push(name),
        }
    }
    let (kind, name) = match names[..] {
        [kind] => (kind, None),
        [kind, name] => (kind, Some(name)),
        _ => return None,
    };
    let (_, api, plural, has_namespaces) = KINDS.iter().find(|(kinds, ..)| kinds.contains(&kind))?;
    let mut path = format!("/{api}");
    if *has_namespaces {
        path += &format!("/namespaces/{namespace}");
    }
    path += &format!("/{plural}");
    path.extend(name.map(|name| format!("/{name}")));
    let mut separator = '?';
    for (key, value) in query {
        path += &format!("{separator}{key}={}", encoded(value));
        separator = '&';
    }
    Some(path)
}

fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}

/// What is there; none if there is no such object, or nothing in the list.
#[track_caller]
pub(super) fn read(path: &str) -> Option<Value> {
    static API_SERVER: LazyLock<(Runtime, Client)> = LazyLock::new(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(async { Client::try_from(Config::infer().await.unwrap()).unwrap() });
        (runtime, client)
    });
    let (runtime, client) = &*API_SERVER;
    let mut failed = None;
    for _ in 0..ATTEMPTS {
        let request = Request::get(path).body(Vec::new()).unwrap();
        match runtime.block_on(client.request::<Value>(request)) {
            Ok(list) if list["items"].as_array().is_some_and(Vec::is_empty) => return None,
            Ok(found) => return Some(found),
            Err(kube::Error::Api(status)) if status.code == 404 => return None,
            Err(error @ kube::Error::Api(_)) => panic!("GET {path}: {error}"),
            Err(error) => failed = Some(error),
        }
        sleep(Duration::from_millis(50));
    }
    panic!("GET {path}: {failed:?}");
}

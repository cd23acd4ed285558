//! `kubectl annotate` and `kubectl label` of one object.

use super::kinds::Kind;
use super::send;
use hyper::Request;
use serde_json::{Value, json};

/// Sets or removes the annotations or labels of an object, whatever it had; `None` if `kubectl` has
/// to do it, or to report why it cannot.
pub(super) fn overwrite(field: &str, arguments: &[&str]) -> Option<String> {
    let (mut names, mut namespace, mut is_overwritten) = (Vec::new(), "default", false);
    let mut values = serde_json::Map::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.split_once('=') {
            _ if *argument == "-n" => namespace = rest.next()?,
            _ if *argument == "--overwrite" => is_overwritten = true,
            _ if argument.starts_with('-') => return None,
            Some((key, value)) => drop(values.insert(key.to_owned(), value.into())),
            None if names.len() < 2 => names.push(*argument),
            None => drop(values.insert(argument.strip_suffix('-')?.to_owned(), Value::Null)),
        }
    }
    let ([kind, name], true) = (&names[..], is_overwritten) else { return None };
    let path = format!("{}/{name}?fieldManager=kubectl-{}", Kind::named(kind)?.path(namespace), manager(field));
    let patch = json!({"metadata": {field: values}}).to_string();
    let request = Request::patch(path).header("Content-Type", "application/merge-patch+json");
    send(request.body(patch.into_bytes()).ok()?).ok()?;
    Some(format!("{kind}/{name} changed\n"))
}

/// The last part of the name by which `kubectl` owns these fields.
fn manager(field: &str) -> &'static str {
    if field == "labels" { "label" } else { "annotate" }
}

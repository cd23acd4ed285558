//! `kubectl apply`, `delete`, `wait`, `logs`, `annotate` and `label` as requests.
//!
//! Options that are not known here, and manifests that the API server refuses, are left to
//! `kubectl`.

use super::kinds::Kind;
use super::{get, is_in_task, logs, metadata, send};
use hyper::Request;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often an object is read until it has the condition.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time limit without `--timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Where `kubectl apply` looks for what it has applied before.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Executes a command of `kubectl`, and returns an output or an error like those of `kubectl`.
///
/// `None` if `kubectl` has to run. It can also continue a deletion that was interrupted here.
pub(in super::super) fn perform(arguments: &[&str]) -> Option<Result<String, String>> {
    if is_in_task() {
        return None;
    }
    match arguments.split_first()? {
        (&"delete", rest) => Options::parse(rest).and_then(|options| options.delete()),
        (&"wait", rest) => Options::parse(rest).and_then(|options| options.wait()),
        (&"logs", rest) => logs::of_pod(rest).map(Ok),
        (&"annotate", rest) => metadata::overwrite("annotations", rest).map(Ok),
        (&"label", rest) => metadata::overwrite("labels", rest).map(Ok),
        _ => None,
    }
}

/// Applies an object on the server's side, and returns it; `None` if `kubectl` has to do it, or to
/// report why it is refused.
pub(in super::super) fn apply(manifest: &Value) -> Option<Value> {
    if is_in_task() {
        return None;
    }
    let mut manifest = manifest.clone();
    let text = |pointer| manifest.pointer(pointer).and_then(Value::as_str);
    let (version, kind, name) = (text("/apiVersion")?, text("/kind")?, text("/metadata/name")?);
    if manifest["metadata"].get("managedFields").is_some() {
        return None;
    }
    let path = Kind::of(version, kind)?.path(text("/metadata/namespace").unwrap_or("default"));
    let path = format!("{path}/{name}?fieldManager=kubectl&force=true&fieldValidation=Strict");
    remove_nulls(&mut manifest);
    // Otherwise kubectl would not know that it may change or prune the object.
    manifest["metadata"]["annotations"][LAST_APPLIED] = manifest.to_string().into();
    let request = Request::patch(path).header("Content-Type", "application/apply-patch+yaml");
    send(request.body(manifest.to_string().into_bytes()).ok()?).ok()
}

/// `kubectl` does not send fields without a value.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => (),
    }
}

/// The objects of a command, and its options.
struct Options<'a> {
    kind: &'static Kind,
    names: Vec<&'a str>,
    namespace: &'a str,
    has_all: bool,
    /// Whether objects that do not exist are no error.
    is_ignored: bool,
    is_waited_for: bool,
    grace_period: Option<u64>,
    timeout: Duration,
    condition: Option<&'a str>,
}

impl<'a> Options<'a> {
    fn parse(arguments: &[&'a str]) -> Option<Self> {
        let mut names = Vec::new();
        let (mut namespace, mut condition, mut grace_period, mut timeout) = ("default", None, None, DEFAULT_TIMEOUT);
        let (mut has_all, mut is_ignored, mut is_waited_for) = (false, false, true);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.split_once('=') {
                _ if *argument == "-n" => namespace = rest.next()?,
                _ if *argument == "--all" => has_all = true,
                _ if *argument == "--ignore-not-found" => is_ignored = true,
                Some(("--wait", "false")) => is_waited_for = false,
                Some(("--grace-period", seconds)) => {
                    grace_period = Some(seconds.parse().ok().filter(|&seconds| seconds > 0)?);
                }
                Some(("--timeout", limit)) => timeout = Duration::from_secs(limit.strip_suffix('s')?.parse().ok()?),
                Some(("--for", awaited)) => condition = Some(awaited),
                None if !argument.starts_with('-') => names.push(*argument),
                _ => return None,
            }
        }
        let kind = match names.first()?.split_once('/') {
            // KIND/NAME is that of one object here.
            Some((kind, name)) if names.len() == 1 => {
                names = vec![name];
                kind
            }
            Some(_) => return None,
            None => names.remove(0),
        };
        let kind = Kind::named(kind)?;
        let is_name = |name: &&str| !name.is_empty() && !name.contains('/');
        (has_all == names.is_empty() && names.iter().all(is_name)).then_some(())?;
        Some(Self { kind, names, namespace, has_all, is_ignored, is_waited_for, grace_period, timeout, condition })
    }

    fn object(&self, name: &str) -> String {
        format!("{}/{name}", self.kind.path(self.namespace))
    }

    fn delete(self) -> Option<Result<String, String>> {
        let listed = if self.has_all { get(&self.kind.path(self.namespace)).ok()? } else { None };
        let items = listed.as_ref().and_then(|list| list["items"].as_array()).into_iter().flatten();
        let all = items.filter_map(|item| item["metadata"]["name"].as_str());
        let names: Vec<&str> = self.names.iter().copied().chain(all).collect();
        let mut body = json!({"propagationPolicy": "Background"});
        if let Some(seconds) = self.grace_period {
            body["gracePeriodSeconds"] = seconds.into();
        }
        let (mut deleted, mut errors) = (Vec::new(), String::new());
        for name in names {
            let request = Request::delete(self.object(name)).header("Content-Type", "application/json");
            match send(request.body(body.to_string().into_bytes()).ok()?) {
                Ok(response) => {
                    let uid = response.pointer("/metadata/uid").or_else(|| response.pointer("/details/uid"));
                    deleted.push((name, uid.and_then(Value::as_str).unwrap_or_default().to_owned()));
                }
                Err(kube::Error::Api(status)) if status.code == 404 && (self.is_ignored || self.has_all) => (),
                Err(kube::Error::Api(status)) => {
                    errors += &format!("Error from server ({}): {}\n", status.reason, status.message);
                }
                // The API server did not respond.
                Err(_) => return None,
            }
        }
        let end = Instant::now() + self.timeout;
        for (name, uid) in deleted.iter().filter(|_| self.is_waited_for) {
            let is_gone = |found: Option<&Value>| found.is_none_or(|found| found["metadata"]["uid"] != uid.as_str());
            if !self.poll(name, end, is_gone) {
                errors += &format!("error: timed out waiting for the condition on {name}\n");
            }
        }
        let printed: Vec<String> = deleted.iter().map(|(name, _)| format!("\"{name}\" deleted\n")).collect();
        Some(if errors.is_empty() { Ok(printed.concat()) } else { Err(errors) })
    }

    fn wait(self) -> Option<Result<String, String>> {
        let ([name], Some(condition)) = (&self.names[..], self.condition) else { return None };
        let end = Instant::now() + self.timeout;
        let is_met = if condition == "delete" {
            self.poll(name, end, |found| found.is_none())
        } else {
            let (wanted, status) =
                condition.strip_prefix("condition=").map(|it| it.split_once('=').unwrap_or((it, "True")))?;
            // If the object does not exist, kubectl reports it.
            get(&self.object(name)).ok()??;
            self.poll(name, end, |found| found.is_some_and(|found| has_condition(found, wanted, status)))
        };
        Some(if is_met {
            Ok(format!("{name} condition met\n"))
        } else {
            Err(format!("error: timed out waiting for the condition on {name}"))
        })
    }

    /// Reads an object until this holds, or the time limit is reached.
    fn poll(&self, name: &str, end: Instant, holds: impl Fn(Option<&Value>) -> bool) -> bool {
        loop {
            if let Ok(found) = get(&self.object(name))
                && holds(found.as_ref())
            {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
            sleep(POLL_INTERVAL);
        }
    }
}

/// Whether a condition has this status, and is that of the newest generation.
fn has_condition(object: &Value, wanted: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let generation = object["metadata"]["generation"].as_i64();
    conditions.filter(|condition| condition["type"] == wanted).any(|condition| {
        let observed =
            condition["observedGeneration"].as_i64().or_else(|| object["status"]["observedGeneration"].as_i64());
        let is_new = observed.is_none_or(|observed| generation.is_none_or(|generation| observed >= generation));
        condition["status"] == status && is_new
    })
}

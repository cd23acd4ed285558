//! `usnet node history`.

use super::output::{Error, Output, document_text};
use crate::history_file::{Cause, Change, Outcome, read};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_common::display::OneLine;
use usnet_common::display::table;
use usnet_crds::NetworkName;
use usnet_dataplane::call_log::{self, Call, Verb};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;

/// Lists the recorded changes, the calls of the CNI plugin and the collected garbage, of all
/// networks or of one.
pub(super) fn render(paths: &NodePaths, output: Output, network: Option<&NetworkName>) -> Result<String, Error> {
    let read = |path: PathBuf| read(&path).map_err(|source| Error::History { path, source });
    let calls = call_log::read(paths).map_err(|source| Error::History { path: paths.calls_file(), source })?;
    let mut changes = read(paths.history_file())?;
    changes.extend(read(paths.garbage_file())?);
    let names = interfaces(paths, &calls);
    changes.iter_mut().for_each(|change| name_interface(change, &names));
    changes.extend(calls.iter().map(of_call));
    changes.sort_by_key(|change| change.time.0);
    if let Some(network) = network {
        changes.retain(|change| change.network.as_deref() == Some(network.as_str()));
    }
    document_text(&changes, output).unwrap_or_else(|| Ok(text(&changes)))
}

/// Returns texts for the interfaces of pods, by attachment.
fn interfaces(paths: &NodePaths, calls: &[Call]) -> BTreeMap<String, String> {
    let called = calls.iter().filter(|call| !call.pod.is_empty());
    let called = called.map(|call| (attachment(call), format!("{} of pod {}", call.interface, call.pod)));
    // Opening the journal would create it.
    let journal = paths.attachments().exists().then(|| Journal::open(paths).and_then(|journal| journal.records()));
    let records = journal.and_then(Result::ok).map(|all| all.records).unwrap_or_default().into_iter();
    let attached = records.map(|it| (it.id.to_string(), format!("{} of pod {}", it.id.interface, it.pod)));
    called.chain(attached).collect()
}

/// Names the interface and pod in an operation, instead of the container that the agent recorded.
fn name_interface(change: &mut Change, names: &BTreeMap<String, String>) {
    if let Some(attachment) = &change.attachment
        && let Some(name) = names.get(attachment)
    {
        change.operation = change.operation.replace(attachment, name);
    }
}

fn attachment(call: &Call) -> String {
    format!("{}.{}", call.container, call.interface)
}

fn of_call(call: &Call) -> Change {
    let verb = match call.verb {
        Verb::Add => "ADD",
        Verb::Del => "DEL",
        Verb::Gc => "GC",
    };
    let of_pod = if call.pod.is_empty() { String::new() } else { format!(" of pod {}", call.pod) };
    let time = i64::try_from(call.time).ok().and_then(|time| Timestamp::from_millisecond(time).ok());
    Change {
        time: MicroTime(time.unwrap_or_default()),
        engine: None,
        network: call.network.clone(),
        attachment: Some(attachment(call)),
        operation: format!("{verb} {}{of_pod}", call.interface),
        cause: Cause::Runtime,
        generation: None,
        milliseconds: call.milliseconds,
        outcome: match &call.error {
            None => Outcome::Done,
            Some(message) => Outcome::Failed { message: message.clone() },
        },
    }
}

/// Formats changes as a table.
pub(super) fn text(changes: &[Change]) -> String {
    let rows: Vec<_> = changes.iter().map(row).collect();
    table(["TIME", "ENGINE", "NETWORK", "OPERATION", "WHY", "GENERATION", "TOOK", "RESULT"], &rows)
}

fn row(change: &Change) -> [String; 8] {
    [
        change.time.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        change.engine.map(|engine| engine.to_string()).unwrap_or_default(),
        change.network.clone().unwrap_or_default(),
        OneLine(&change.operation).to_string(),
        change.cause.to_string(),
        change.generation.map(|generation| generation.to_string()).unwrap_or_default(),
        format!("{} ms", change.milliseconds),
        OneLine(change.outcome.to_string()).to_string(),
    ]
}

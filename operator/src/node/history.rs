//! `usnet node history`.

use super::history_file::{Change, read};
use super::output::{Error, Output, document_text, table};
use std::path::PathBuf;
use usnet_crds::NetworkName;
use usnet_dataplane::paths::NodePaths;

/// The recorded changes with the garbage that was collected, or those of one network.
///
/// # Errors
/// When they cannot be read.
pub(super) fn render(paths: &NodePaths, output: Output, network: Option<&NetworkName>) -> Result<String, Error> {
    let read = |path: PathBuf| read(&path).map_err(|source| Error::History { path, source });
    let mut changes = read(paths.history_file())?;
    changes.extend(read(paths.garbage_file())?);
    changes.sort_by_key(|change| change.time.0);
    if let Some(network) = network {
        changes.retain(|change| change.network.as_deref() == Some(network.as_str()));
    }
    document_text(&changes, output).unwrap_or_else(|| Ok(text(&changes)))
}

/// For users.
pub(super) fn text(changes: &[Change]) -> String {
    let rows: Vec<_> = changes.iter().map(row).collect();
    table(["TIME", "ENGINE", "NETWORK", "OPERATION", "WHY", "GENERATION", "TOOK", "RESULT"], &rows)
}

fn row(change: &Change) -> [String; 8] {
    [
        change.time.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        change.engine.map(|engine| engine.to_string()).unwrap_or_default(),
        change.network.clone().unwrap_or_default(),
        change.operation.clone(),
        change.why.to_string(),
        change.generation.map(|generation| generation.to_string()).unwrap_or_default(),
        format!("{} ms", change.milliseconds),
        change.outcome.to_string(),
    ]
}

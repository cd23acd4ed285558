//! `usnet node attachments`.

use super::output::{Error, Output, document_text};
use usnet_common::display::OneLine;
use usnet_common::display::table;
use usnet_crds::NetworkName;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;

/// Lists the attached interfaces of pods, or of one network. Secrets of memifs and configurations
/// of IPAM plugins, which may have credentials, are omitted.
pub(super) fn render(paths: &NodePaths, output: Output, network: Option<&NetworkName>) -> Result<String, Error> {
    let folder = paths.attachments();
    // Opening the journal would create it.
    let records = match folder.exists() {
        true => {
            Journal::open(paths)
                .and_then(|journal| journal.records())
                .map_err(|source| Error::Attachments { path: folder, source: Box::new(source) })?
                .records
        }
        false => Vec::new(),
    };
    let is_requested = |record: &Record| network.is_none_or(|network| record.network == *network);
    let mut records: Vec<Record> = records.into_iter().filter(is_requested).map(public).collect();
    records.sort_by(|one, other| (&one.pod, &one.id).cmp(&(&other.pod, &other.id)));
    document_text(&records, output).unwrap_or_else(|| Ok(text(&records)))
}

fn public(mut record: Record) -> Record {
    (record.port.secret, record.ipam, record.configuration_data) = (None, None, None);
    record
}

fn text(records: &[Record]) -> String {
    let row = |record: &Record| {
        let progress = match record.progress {
            Progress::Attaching => "attaching",
            Progress::Attached => "attached",
            Progress::Detaching => "detaching",
            Progress::Detached => "detached",
        };
        let addresses = record.addresses.iter().map(|address| format!("{}/{}", address.ip, address.prefix));
        [
            OneLine(record.pod.to_string()).to_string(),
            record.id.interface.to_string(),
            record.network.to_string(),
            record.engine.to_string(),
            record.port.name.to_string(),
            progress.to_owned(),
            record.mac.clone(),
            addresses.collect::<Vec<_>>().join(","),
        ]
    };
    let rows: Vec<_> = records.iter().map(row).collect();
    table(["POD", "INTERFACE", "NETWORK", "ENGINE", "PORT", "STATE", "MAC", "ADDRESSES"], &rows)
}

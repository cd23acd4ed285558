//! Finds the record of the interface to capture (IO).

use super::Error;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;

/// Finds the attached interface of a pod.
pub(super) fn find(paths: &NodePaths, pod: &str, interface: &str) -> Result<Record, Error> {
    let folder = paths.attachments();
    let failed = |source| Error::Attachments { path: folder.clone(), source: Box::new(source) };
    // Opening the journal would create it.
    let records = match folder.exists() {
        true => Journal::open(paths).and_then(|journal| journal.records()).map_err(failed)?.records,
        false => Vec::new(),
    };
    choose(records, pod, interface)
}

fn choose(records: Vec<Record>, pod: &str, interface: &str) -> Result<Record, Error> {
    let attached = |record: &Record| record.progress == Progress::Attached && record.pod.to_string() == pod;
    let mut of_pod: Vec<Record> = records.into_iter().filter(attached).collect();
    let names: Vec<String> = of_pod.iter().map(|record| record.id.interface.to_string()).collect();
    let found = of_pod.iter().position(|record| record.id.interface.to_string() == interface);
    let record = match found {
        Some(position) => of_pod.swap_remove(position),
        None if names.is_empty() => return Err(Error::NoPod { pod: pod.to_owned() }),
        None => return Err(Error::NoInterface { pod: pod.to_owned(), interface: interface.to_owned(), names }),
    };
    if record.port.backend.is_routed() {
        return Err(Error::NoFrames { pod: pod.to_owned(), interface: interface.to_owned() });
    }
    Ok(record)
}

/// Whether the interface is still attached.
pub(super) fn is_attached(journal: &Journal, record: &Record) -> bool {
    let found = journal.find(usnet_dataplane::journal::Key::Pod(&record.pod.uid));
    // A record that cannot be read may be attached.
    found.map_or(true, |found| {
        !found.unreadable.is_empty()
            || found.records.iter().any(|other| other.id == record.id && other.progress == Progress::Attached)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_dataplane::testing::{network, record};

    #[test]
    fn an_attached_interface_is_found_and_a_missing_one_says_which_there_are() {
        let all = || {
            let detached = Record { progress: Progress::Detached, ..record("c2", &network("blue")) };
            vec![record("c1", &network("blue")), detached]
        };
        assert_eq!(choose(all(), "default/c1", "net1").unwrap().id.to_string(), "c1.net1");
        let text = |pod, interface| choose(all(), pod, interface).unwrap_err().to_string();
        assert_eq!(text("default/c1", "net2"), "pod default/c1 has no interface net2 of usnet: it has net1");
        let none =
            "pod default/c2 has no attached interface of usnet on this node: kubectl usnet explain pod default/c2";
        assert_eq!(text("default/c2", "net1"), none);
    }
}

//! Ports of claims that the plugin attaches with the pod's sandbox. Their sockets and addresses are
//! in the attachment records. No IO.

use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::claim_records::{AttachedClaimPort, ClaimPort, ClaimRecord};
use usnet_dataplane::journal::Records;

/// Returns the record of a claim with what its ports got in the current sandbox, according to the
/// attachment records of its pod; none if the record is up to date.
pub(super) fn with_attached(record: &ClaimRecord, of_pod: &Records) -> Option<ClaimRecord> {
    let mut updated = record.clone();
    for port in updated.ports.iter_mut().filter(|port| port.is_with_sandbox) {
        let of_port = of_pod.records.iter().find(|attachment| is_of(attachment, port));
        if let Some(attached) = of_port.and_then(|attachment| AttachedClaimPort::of(attachment).ok()) {
            port.attached = Some(attached);
        } else if !has_record(of_pod, port) {
            // The sandbox is gone, as after a reboot: the next one may get another port.
            port.attached = None;
        }
    }
    let is_new = updated != *record;
    // The metadata file has the generation: readers see that its content is new.
    updated.generation += 1;
    updated.is_reported = false;
    is_new.then_some(updated)
}

fn is_of(attachment: &Record, port: &ClaimPort) -> bool {
    attachment.id.interface == port.interface
        && attachment.network == port.network
        && attachment.progress == Progress::Attached
}

/// Whether the port has a record, even one that is unreadable or not attached yet.
fn has_record(of_pod: &Records, port: &ClaimPort) -> bool {
    let readable = of_pod.records.iter().map(|record| &record.id);
    readable.chain(of_pod.unreadable.iter().map(|record| &record.id)).any(|id| id.interface == port.interface)
}

#[cfg(test)]
mod tests {
    use super::super::metadata::tests::record;
    use super::*;
    use crate::testing::{network, record as attachment};
    use usnet_dataplane::port::{DeviceName, PortBackend};

    fn records(all: &[&Record]) -> Records {
        Records { records: all.iter().map(|record| (*record).clone()).collect(), unreadable: Vec::new() }
    }

    #[test]
    fn what_the_plugin_attached_is_in_a_new_version_of_the_record() {
        let mut prepared = record();
        let port = prepared.ports.first_mut().unwrap();
        (port.is_with_sandbox, port.attached) = (true, None);
        prepared.is_reported = true;
        let mut veth = attachment("x", &network("blue"));
        veth.id.interface = port.interface.clone();
        veth.mac = "02:00:00:00:00:09".into();
        veth.port.backend = PortBackend::Device { device: DeviceName::of(&veth.id) };
        assert_eq!(with_attached(&prepared, &records(&[])), None);
        veth.progress = Progress::Attaching;
        assert_eq!(with_attached(&prepared, &records(&[&veth])), None);
        veth.progress = Progress::Attached;
        let other = Record { network: "red".parse().unwrap(), ..veth.clone() };
        assert_eq!(with_attached(&prepared, &records(&[&other])), None, "of another network");

        let updated = with_attached(&prepared, &records(&[&veth])).unwrap();
        let attached = updated.ports.first().unwrap().attached.as_ref().unwrap();
        assert_eq!((attached.socket.as_deref(), attached.mac.to_string().as_str()), (None, "02:00:00:00:00:09"));
        assert_eq!((updated.generation, updated.is_reported), (prepared.generation + 1, false));
        assert_eq!(with_attached(&updated, &records(&[&veth])), None, "it is known");
        let detached = with_attached(&updated, &records(&[])).unwrap();
        assert_eq!(detached.ports.first().unwrap().attached, None, "between two sandboxes");
        assert!(!detached.is_reported && detached.generation > updated.generation);
        let attaching = Record { progress: Progress::Attaching, ..veth.clone() };
        assert_eq!(with_attached(&updated, &records(&[&attaching])), None, "it is known soon");
        veth.mac = "02:00:00:00:00:0a".into();
        assert!(with_attached(&updated, &records(&[&veth])).is_some(), "another sandbox");
    }

    #[test]
    fn ports_that_were_attached_before_the_sandbox_stay() {
        let mut attachment = attachment("x", &network("blue"));
        attachment.id.interface = "claim1".parse().unwrap();
        attachment.progress = Progress::Attached;
        assert_eq!(with_attached(&record(), &records(&[&attachment])), None);
        assert_eq!(with_attached(&record(), &records(&[])), None);
    }
}

//! Which records are on disk before ADD answers. No IO.

use usnet_dataplane::attachment::Record;

/// Whether something of an attachment outlives a reboot and is found by its record alone: addresses
/// of an IPAM plugin, a folder of the node, what a resource claim or a `UserspaceAttachment`
/// requested.
///
/// Of others nothing is left that needs the record: network namespaces, mounts and VPP's ports end
/// with the node, and a port of Open vSwitch whose tag names no record is removed by the agent.
pub(super) fn is_needed_after_reboot(record: &Record) -> bool {
    record.ipam.is_some()
        || record.directory_source.is_some()
        || record.id.container.claim().is_some()
        || record.object().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use usnet_dataplane::testing::{network, record};

    #[test]
    fn a_record_is_needed_where_something_else_outlives_a_reboot() {
        let plain = record("c1", &network("blue"));
        let claim = "claim-0b6e4a1c-0000-4000-8000-000000000001.net1".parse().unwrap();
        assert!(!is_needed_after_reboot(&Record { ipam: None, directory_source: None, ..plain.clone() }));
        for needed in [
            Record { ipam: Some(json!({"type": "host-local"})), ..plain.clone() },
            Record { directory_source: Some("/var/lib/cni/usrspcni/c1".into()), ..plain.clone() },
            Record { id: claim, ..plain },
        ] {
            assert!(is_needed_after_reboot(&needed), "{needed:?}");
        }
    }
}

//! Files for programs that were written for Userspace CNI. Only attachments by a legacy
//! configuration have them: the socket has the name that the legacy plugin used, and a file beside
//! it has the content of the pod's annotation. The annotation itself is written by the agent, from
//! the record.

use crate::protocol::configuration::{Configuration, Target};
use crate::protocol::result::{AssignedAddress, Assignment};
use serde_json::json;
use usnet_crds::legacy::ContainerConf;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::legacy_annotation::{AddressAndGateway, LegacyInterfaceStatus, LegacyResult};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyHandoff {
    pod_end: ContainerConf,
}

impl LegacyHandoff {
    /// The handoff, if the target is that of a legacy configuration.
    pub fn from_target(configuration: &Configuration, target: &Target) -> Option<Self> {
        match target {
            Target::Bridge(_) => Some(Self { pod_end: ContainerConf::read(configuration.keys()) }),
            Target::Network(_) => None,
        }
    }

    /// The interface's status for the record and the pod, in the legacy plugin's format.
    pub fn interface_status(&self, record: &Record, assignment: &Assignment) -> Option<LegacyInterfaceStatus> {
        let ip = |assigned: &AssignedAddress| AddressAndGateway {
            ip: assigned.address.addr(),
            prefix: assigned.address.prefix_len(),
            gateway: assigned.gateway,
        };
        let result = LegacyResult {
            pod_end: self.pod_end.clone(),
            ips: assignment.ips.iter().map(ip).collect(),
            routes: assignment.routes.iter().map(|route| json!(route)).collect(),
            dns: assignment.dns.clone(),
        };
        LegacyInterfaceStatus::new(record, &result)
    }
}

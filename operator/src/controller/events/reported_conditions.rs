//! The last reported conditions of each network, so that each transition is reported once although
//! the watch shows it later. Pure.

use super::record::{EventRecord, network_reference, transitions};
use crate::controller::cache::Network;
use crate::controller::write::Write;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::collections::BTreeMap;

/// The conditions that were reported last, by network.
#[derive(Debug, Default)]
pub struct ReportedConditions(BTreeMap<String, Last>);

#[derive(Debug)]
struct Last {
    uid: String,
    conditions: Vec<Condition>,
}

impl ReportedConditions {
    /// Called before a status is written: the current conditions were reported already, if not by
    /// this leader then by an earlier one.
    pub fn remember(&mut self, name: &str, network: &Network) {
        if self.0.get(name).is_some_and(|last| last.uid == network.uid) {
            return;
        }
        let conditions = network.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
        self.0.insert(name.to_owned(), Last { uid: network.uid.clone(), conditions });
    }

    /// Called after a successful write; returns its transitions.
    pub fn transitions(&mut self, write: &Write) -> Vec<EventRecord> {
        match write {
            Write::Finalizer { network, present: false, .. } => {
                self.0.remove(network);
                Vec::new()
            }
            Write::Status { network, uid, status } => {
                let last = Last { uid: uid.clone(), conditions: status.conditions.clone() };
                let old = self.0.insert(network.clone(), last).map(|old| old.conditions).unwrap_or_default();
                transitions(&network_reference(network, uid), &old, &status.conditions)
            }
            _ => Vec::new(),
        }
    }
}

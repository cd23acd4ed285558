//! The last reported conditions of each network and uplink, so that each transition is reported
//! once although the watch shows it later. Pure.

use super::record::{EventRecord, network_reference, transitions, uplink_reference};
use crate::cache::Cache;
use crate::write::{FinalizerChange, Target, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::collections::BTreeMap;

/// The conditions that were reported last, by the target of the status.
#[derive(Debug, Default)]
pub struct ReportedConditions(BTreeMap<Target, Last>);

#[derive(Debug)]
struct Last {
    uid: String,
    conditions: Vec<Condition>,
}

impl ReportedConditions {
    /// Called before a status is written: the current conditions were reported already, if not by
    /// this leader then by an earlier one.
    pub fn remember(&mut self, cache: &Cache, target: &Target) {
        let Some(current) = Last::of(cache, target) else { return };
        if self.0.get(target).is_none_or(|last| last.uid != current.uid) {
            self.0.insert(target.clone(), current);
        }
    }

    /// Called after a successful write; returns its transitions.
    pub fn transitions(&mut self, write: &Write) -> Vec<EventRecord> {
        let (uid, conditions, regarding) = match write {
            Write::Finalizer { network, change: FinalizerChange::Remove { .. }, .. } => {
                self.0.remove(&Target::Status(network.clone()));
                return Vec::new();
            }
            Write::UplinkFinalizer { uplink, change: FinalizerChange::Remove { .. }, .. } => {
                self.0.remove(&Target::UplinkStatus(uplink.clone()));
                return Vec::new();
            }
            Write::Status { network, uid, status } => (uid, &status.conditions, network_reference(network, uid)),
            Write::UplinkStatus { uplink, uid, status } => (uid, &status.conditions, uplink_reference(uplink, uid)),
            _ => return Vec::new(),
        };
        let last = Last { uid: uid.clone(), conditions: conditions.clone() };
        let old = self.0.insert(write.target(), last).map(|old| old.conditions).unwrap_or_default();
        transitions(&regarding, &old, conditions)
    }
}

impl Last {
    /// The conditions of the object that has this status.
    fn of(cache: &Cache, target: &Target) -> Option<Self> {
        let (uid, conditions) = match target {
            Target::Status(name) => {
                let network = cache.networks.get(name)?;
                (&network.uid, network.status.as_ref().map(|status| &status.conditions))
            }
            Target::UplinkStatus(name) => {
                let uplink = cache.uplinks.get(name)?;
                (&uplink.uid, uplink.status.as_ref().map(|status| &status.conditions))
            }
            _ => return None,
        };
        Some(Self { uid: uid.clone(), conditions: conditions.cloned().unwrap_or_default() })
    }
}

//! What was told of each network last, so that each transition is told once although the watch shows it later. Pure.

use super::diff::Write;
use super::inputs::Inputs;
use super::notice::{Notice, network_reference, transitions};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::collections::BTreeMap;

/// The conditions that were told last, by network.
#[derive(Debug, Default)]
pub struct News {
    told: BTreeMap<String, Told>,
}

#[derive(Debug)]
struct Told {
    uid: String,
    conditions: Vec<Condition>,
}

impl News {
    /// Before a write: what a network says already was told, if not by this leader then by an earlier one.
    pub fn remember(&mut self, inputs: &Inputs, writes: &[Write]) {
        for write in writes {
            let Write::Status { network: name, uid, .. } = write else { continue };
            if self.told.get(name).is_some_and(|told| told.uid == *uid) {
                continue;
            }
            let status = inputs.networks.get(name).and_then(|network| network.status.as_ref());
            let conditions = status.map(|status| status.conditions.clone()).unwrap_or_default();
            self.told.insert(name.clone(), Told { uid: uid.clone(), conditions });
        }
    }

    /// After a write that worked: what is to be told of it.
    pub fn of(&mut self, write: &Write) -> Vec<Notice> {
        let Write::Status { network, uid, status, .. } = write else { return Vec::new() };
        let told = Told { uid: uid.clone(), conditions: status.conditions.clone() };
        let old = self.told.insert(network.clone(), told).map(|old| old.conditions).unwrap_or_default();
        transitions(&network_reference(network, uid), &old, &status.conditions)
    }

    /// Forgets networks that are gone.
    pub fn keep(&mut self, exists: impl Fn(&str) -> bool) {
        self.told.retain(|network, _| exists(network));
    }
}

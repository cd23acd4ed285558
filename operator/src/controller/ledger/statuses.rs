//! The statuses of networks. Only those are compared of which something changed since they were last as they should be.

use super::super::diff::Write;
use super::super::inputs::Inputs;
use super::super::report::{Facts, report};
use super::super::tally::Tally;
use super::Ledger;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::{READY, find};

impl Ledger {
    /// Leaves the statuses of networks that have to wait out of the next passes, which would look at all of their nodes for nothing. One is compared
    /// again when something of it changes, or after [`Self::compare_status`].
    pub fn put_off_statuses(&mut self, has_to_wait: impl Fn(&str) -> bool) {
        self.pending.statuses.retain(|network| !has_to_wait(network));
    }

    /// Compares the status of this network in the next pass.
    pub fn compare_status(&mut self, network: &str) {
        self.pending.statuses.insert(network.to_owned());
    }

    /// The statuses that differ from what the networks have.
    pub(super) fn statuses(&mut self, inputs: &Inputs, now: &Time) -> Vec<Write> {
        let mut writes = Vec::new();
        for name in std::mem::take(&mut self.pending.statuses) {
            let Some(write) = self.status(inputs, &name, now) else { continue };
            writes.push(write);
            self.pending.statuses.insert(name);
        }
        writes
    }

    fn status(&self, inputs: &Inputs, name: &str, now: &Time) -> Option<Write> {
        let (network, row) = (inputs.networks.get(name)?, self.rows.get(name)?);
        let verdict = row.verdict.as_ref()?;
        let nothing = Default::default();
        let definitions = self.definitions.get(name).unwrap_or(&nothing);
        let facts = Facts {
            name,
            network,
            verdict,
            tally: Tally::of(name, row, inputs, |node| self.pending.refusal(node)),
            definitions: inputs.definitions.is_some().then_some(definitions),
            usage: row.usage(),
        };
        let status = report(&facts, now).filter(|status| network.status.as_ref() != Some(status))?;
        let is_news = readiness(network.status.as_ref()) != readiness(Some(&status));
        Some(Write::Status { network: name.to_owned(), uid: network.uid.clone(), status: Box::new(status), is_news })
    }
}

fn readiness(status: Option<&UserspaceNetworkStatus>) -> Option<(&str, &str)> {
    let ready = find(&status?.conditions, READY)?;
    Some((ready.status.as_str(), ready.reason.as_str()))
}

//! Finds and removes garbage of one node (IO).

use super::grace::Grace;
use super::report::Report;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::claim_records::ClaimRecords;
use usnet_dataplane::journal;
use usnet_dataplane::network_namespace::{Presence, presence};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::sandboxes::Sandboxes;
use usnet_plugin::attachment::detach::Detachment;
use usnet_plugin::attachment::node::Node;
use usnet_plugin::attachment::pod_directory::leftovers::{self, Leftover};
use usnet_plugin::protocol::environment::Environment;

/// The collector of one node, with the known garbage.
#[derive(Debug)]
pub struct Collector {
    node: Node,
    claims: ClaimRecords,
    /// The folders of IPAM plugins, as in `CNI_PATH`.
    plugin_folders: OsString,
    attachments: Grace<AttachmentId>,
    leftovers: Grace<Leftover>,
    report: Report,
    /// Why the last pass could not list garbage.
    problem: Option<String>,
}

impl Collector {
    /// A collector that removes what has been garbage for `grace`.
    pub fn new(paths: &NodePaths, plugin_folders: OsString, grace: Duration) -> Result<Self, journal::Error> {
        Ok(Self {
            node: Node::open(paths.clone()),
            claims: ClaimRecords::new(paths),
            plugin_folders,
            attachments: Grace::new(grace),
            leftovers: Grace::new(grace),
            report: Report::new(paths, grace),
            problem: None,
        })
    }

    /// Makes one pass. What fails is tried again in a later pass.
    pub fn pass(&mut self, now: Instant) {
        let found = self.collect_attachments(now).and_then(|()| self.collect_leftovers(now));
        let problem = found.err().map(|error| ErrorChain(&error).to_string());
        if let Some(text) = problem.as_ref().filter(|text| self.problem.as_ref() != Some(text)) {
            tracing::warn!(error = text, "cannot look for garbage; retrying");
        }
        self.problem = problem;
    }

    fn collect_attachments(&mut self, now: Instant) -> Result<(), leftovers::Error> {
        let all = self.node.journal.records()?;
        let ended: BTreeSet<_> =
            all.records.iter().filter(|record| self.is_garbage(record)).map(|it| it.id.clone()).collect();
        for id in self.attachments.due(&ended, now) {
            if let Err(error) = self.collect(&id, now) {
                tracing::warn!(attachment = %id, error = %ErrorChain(&error), "cannot read the record of garbage; retrying");
            }
            // The attachment is gone, or is tried again later.
            self.attachments.restart(&id, now);
        }
        Ok(())
    }

    /// Detaches an attachment, unless a call of the runtime is working on it or has attached it
    /// again.
    fn collect(&mut self, id: &AttachmentId, now: Instant) -> Result<(), journal::Error> {
        let started = Instant::now();
        let Some(locked) = self.node.journal.try_lock_all([id])?.locked.pop() else { return Ok(()) };
        let Some(record) = locked.read()?.filter(|record| self.is_garbage(record)) else { return Ok(()) };
        let environment = Environment::of_record(&record, &self.plugin_folders);
        let detached =
            Detachment::new(&self.node, &environment, &locked, record.clone()).for_garbage_collection().run();
        let result = match detached {
            // If this process cannot reach the engine, the agent removes the port and then the
            // record.
            Ok(_) => Ok(()),
            Err(error) => Err(ErrorChain(&error).to_string()),
        };
        self.report.attachment(&record, result, started.elapsed(), now);
        Ok(())
    }

    /// Whether an attachment is garbage. If only its port is left, the agent removes that. An
    /// attachment for a resource claim is no garbage as long as the claim is prepared.
    fn is_garbage(&self, record: &Record) -> bool {
        let is_gone = || match record.id.container.claim() {
            Some(claim) => matches!(self.claims.contains(&claim), Ok(false)),
            None => presence(record) == Presence::Gone,
        };
        record.progress != Progress::Detached && is_gone()
    }

    fn collect_leftovers(&mut self, now: Instant) -> Result<(), leftovers::Error> {
        Sandboxes::new(&self.node.paths).remove_gone()?;
        let found = leftovers::find(&self.node)?;
        for leftover in self.leftovers.due(&found, now) {
            let started = Instant::now();
            let result = match leftovers::remove(&self.node, &leftover) {
                Ok(false) => continue,
                Ok(true) => Ok(()),
                Err(error) => Err(ErrorChain(&error).to_string()),
            };
            self.report.leftover(&leftover, result, started.elapsed(), now);
            self.leftovers.restart(&leftover, now);
        }
        Ok(())
    }
}

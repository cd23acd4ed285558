//! Prepares and unprepares claims. As for attachments, the record of a claim is written before its
//! first port is created, and removed last: a claim without a record has no ports.

use super::attacher::Attacher;
use super::busy::{Busy, WAIT_LIMIT};
use super::claim::{self, Allocation};
use super::plan::{self, Networks, Node, is_of, plan};
use super::reader::{self, Claims};
use super::{api, cdi, files};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender};
use usnet_crds::InvalidMac;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::{AttachmentId, ClaimUid, InterfaceName, InvalidIdentifier, Pod, Progress, Record};
use usnet_dataplane::claim_records::{AttachedClaimPort, ClaimPort, ClaimRecord, ClaimRecords, port_folder};
use usnet_dataplane::journal::{self, Journal, Key};
use usnet_dataplane::paths::NodePaths;
use usnet_node::attach;

/// Why a claim is not prepared, or still prepared.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the uid of the claim is not valid")]
    Uid(#[source] InvalidIdentifier),
    #[error("an earlier call for this claim has not ended after {} s", WAIT_LIMIT.as_secs())]
    Busy,
    #[error(transparent)]
    Read(#[from] reader::Error),
    #[error(transparent)]
    Claim(#[from] claim::Error),
    #[error(transparent)]
    Plan(#[from] plan::Error),
    #[error("the records of claims cannot be used")]
    Records(#[from] atomic_file::Error),
    #[error("the attachment records cannot be used")]
    Journal(#[from] journal::Error),
    #[error("interface {interface} of network {network} cannot be attached")]
    Attach { interface: InterfaceName, network: String, source: attach::Error },
    #[error("interface {interface} cannot be detached")]
    Detach { interface: InterfaceName, source: attach::Error },
    #[error("interface {0} has no record although it was attached")]
    NoRecord(InterfaceName),
    #[error("the MAC address of interface {0} is not valid")]
    Mac(InterfaceName, #[source] InvalidMac),
    #[error(transparent)]
    Files(#[from] files::Error),
}

/// Prepares the claims of one node.
pub(super) struct Preparer {
    pub(super) node: String,
    pub(super) paths: NodePaths,
    pub(super) records: ClaimRecords,
    pub(super) journal: Journal,
    /// The networks of the node; none before its first spec.
    pub(super) networks: Receiver<Option<Arc<Networks>>>,
    pub(super) claims: Arc<dyn Claims>,
    pub(super) attacher: Arc<dyn Attacher>,
    pub(super) busy: Busy,
    /// Wakes the reporter.
    pub(super) reports: Sender<()>,
}

impl Preparer {
    /// Attaches the ports of a claim, and writes the files for its containers. May be repeated.
    pub(super) async fn prepare(&self, claim: &api::Claim) -> Result<Vec<api::Device>, Error> {
        let uid: ClaimUid = claim.uid.parse().map_err(Error::Uid)?;
        let _entered = self.busy.enter_after_others(&uid).await.ok_or(Error::Busy)?;
        let found = self.claims.get(&claim.namespace, &claim.name).await?;
        let allocation = Allocation::of(&found, &uid, &self.node)?;
        let mut record = match self.records.read(&uid)? {
            Some(record) if is_of(&record, &allocation) => record,
            Some(_) => {
                self.release(&uid).await?;
                self.new_record(&allocation)?
            }
            None => self.new_record(&allocation)?,
        };
        self.records.write(&record)?;
        let before = record.ports.clone();
        self.attach(&mut record).await?;
        record.is_reported &= record.ports == before;
        self.records.write(&record)?;
        files::write(&self.paths, &record)?;
        self.reports.send_replace(());
        tracing::info!(claim = %format_args!("{}/{}", record.namespace, record.name), pod = %record.pod, ports = record.ports.len(), "prepared a resource claim");
        Ok(devices(&record))
    }

    /// Detaches the ports of a claim, which the API server may not have any more. May be repeated.
    pub(super) async fn unprepare(&self, claim: &api::Claim) -> Result<(), Error> {
        let uid: ClaimUid = claim.uid.parse().map_err(Error::Uid)?;
        let _entered = self.busy.enter_after_others(&uid).await.ok_or(Error::Busy)?;
        self.release(&uid).await?;
        tracing::info!(claim = %format_args!("{}/{}", claim.namespace, claim.name), "unprepared a resource claim");
        Ok(())
    }

    fn new_record(&self, allocation: &Allocation) -> Result<ClaimRecord, Error> {
        let node = Node {
            networks: self.networks.borrow().clone().unwrap_or_default(),
            taken: self.interfaces(&allocation.pod, &allocation.uid)?,
            // The plugin writes a sandbox's file when a runtime calls it for the pod itself. Where
            // one does, at least the agent's own pod has such a file, unless the agent uses the
            // host network.
            is_called_for_sandboxes: fs::read_dir(self.paths.sandboxes()).is_ok_and(|all| all.count() > 0),
        };
        Ok(plan(allocation, node)?)
    }

    /// The interfaces that a pod has besides those of this claim.
    fn interfaces(&self, pod: &Pod, claim: &ClaimUid) -> Result<BTreeSet<InterfaceName>, Error> {
        let attached = self.journal.find(Key::Pod(&pod.uid))?.records;
        let attached = attached.into_iter().filter(|record| record.id.container.claim().as_ref() != Some(claim));
        let (claims, _unreadable) = self.records.all()?;
        let claimed = claims.into_iter().filter(|other| other.pod.uid == pod.uid && other.uid != *claim);
        let claimed = claimed.flat_map(|other| other.ports).map(|port| port.interface);
        Ok(attached.map(|record| record.id.interface).chain(claimed).collect())
    }

    async fn attach(&self, record: &mut ClaimRecord) -> Result<(), Error> {
        let pod = record.pod.clone();
        let recorded = self.attachments(&record.uid)?;
        for index in 0..record.ports.len() {
            let Some(port) = record.ports.get(index).filter(|port| !port.is_with_sandbox) else { continue };
            let id = record.attachment(port);
            let known = match recorded.iter().find(|other| other.id == id) {
                // The record survives a reboot, and the folder does not.
                Some(found) if found.progress == Progress::Attached && self.folder_exists(record, port) => {
                    Some(found.clone())
                }
                Some(_) => {
                    self.detach(&pod, &id).await?;
                    None
                }
                None => None,
            };
            let attachment = match known {
                Some(found) => found,
                None => self.attach_port(&pod, &id, port).await?,
            };
            let attached = AttachedClaimPort::of(&attachment);
            let attached = attached.map_err(|error| Error::Mac(id.interface.clone(), error))?;
            if let Some(port) = record.ports.get_mut(index) {
                port.attached = Some(attached);
            }
        }
        Ok(())
    }

    fn folder_exists(&self, record: &ClaimRecord, port: &ClaimPort) -> bool {
        port_folder(&self.paths, &record.uid, &port.interface).exists()
    }

    /// Attaches a port and returns what the plugin recorded. The record is read without its lock: a
    /// reconciler that holds the lock may wait for this thread.
    async fn attach_port(&self, pod: &Pod, id: &AttachmentId, port: &ClaimPort) -> Result<Record, Error> {
        let attached = self.attacher.attach(pod, id, port).await;
        attached.map_err(|source| Error::Attach {
            interface: port.interface.clone(),
            network: port.network.to_string(),
            source,
        })?;
        let found = self.journal.find(Key::Pod(&pod.uid))?;
        if let Some(unreadable) = found.unreadable.into_iter().find(|unreadable| unreadable.id == *id) {
            return Err(journal::Error::from(unreadable).into());
        }
        let mut records = found.records.into_iter();
        records.find(|record| record.id == *id).ok_or_else(|| Error::NoRecord(id.interface.clone()))
    }

    /// The attachments of a claim in the journal.
    fn attachments(&self, claim: &ClaimUid) -> Result<Vec<Record>, Error> {
        let all = self.journal.records()?.records;
        Ok(all.into_iter().filter(|record| record.id.container.claim().as_ref() == Some(claim)).collect())
    }

    /// Removes everything of a claim. It goes by the records alone: the claim may be deleted, and
    /// its network too.
    async fn release(&self, uid: &ClaimUid) -> Result<(), Error> {
        for attached in self.attachments(uid)? {
            // Of a detached attachment only the port is left, which the agent itself removes once
            // the engine is back.
            if attached.progress != Progress::Detached {
                self.detach(&attached.pod, &attached.id).await?;
            }
        }
        files::remove(&self.paths, uid)?;
        Ok(self.records.remove(uid)?)
    }

    async fn detach(&self, pod: &Pod, id: &AttachmentId) -> Result<(), Error> {
        let detached = self.attacher.detach(pod, id).await;
        detached.map_err(|source| Error::Detach { interface: id.interface.clone(), source })
    }
}

/// The devices of a claim, for kubelet.
fn devices(record: &ClaimRecord) -> Vec<api::Device> {
    let device = |port: &ClaimPort| api::Device {
        request_names: vec![port.request.clone()],
        pool_name: port.pool.clone(),
        device_name: port.device.clone(),
        cdi_device_ids: vec![cdi::device_id(record, port)],
        share_id: port.share_id.clone(),
    };
    record.ports.iter().map(device).collect()
}

#[cfg(test)]
pub(super) mod fake_node;
#[cfg(test)]
mod tests;

//! The plan of one reconcile, with the attachments that it changes locked (IO).

use super::{attachments_to_lock, planned, without_contended};
use crate::reconcile::journal::{AttachmentLocks, JournalSnapshot};
use crate::reconcile::links::PreparedUplinks;
use crate::reconcile::steps::{Error, Planned};
use std::collections::BTreeSet;
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::owner::NetworkDevice;
use usnet_dataplane::plan::PlanContext;

/// The input of the desired state of an engine, except the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DesiredState<'a> {
    pub(crate) networks: &'a [Arc<NodeNetwork>],
    /// The devices that networks have as ports.
    pub(crate) devices: &'a [NetworkDevice],
    /// The uplinks, and what connects networks to them.
    pub(crate) uplinks: &'a PreparedUplinks,
    /// The networks whose gateways are held down.
    pub(crate) held_gateways: &'a BTreeSet<NetworkName>,
    /// What the planner needs to tell causes apart.
    pub(crate) context: &'a PlanContext,
}

impl DesiredState<'_> {
    /// Plans twice: once to determine which attachments to lock, and again with their records as
    /// they are under the locks.
    pub(crate) fn plan(
        self,
        observed: &Observed,
        snapshot: &mut JournalSnapshot,
        journal: &Journal,
    ) -> Result<Planned, Error> {
        let plan = |snapshot: &JournalSnapshot| {
            let desired = Desired::of_shared(self.networks.iter().cloned(), &snapshot.records);
            let desired = desired.with_devices(self.devices);
            let PreparedUplinks { uplinks, patches, tunnels, .. } = self.uplinks;
            let desired = desired.with_uplinks(uplinks.iter().cloned()).with_ports(patches.iter().cloned());
            let desired = desired.with_tunnels(tunnels.iter().cloned());
            let desired = desired.with_held_gateways(self.held_gateways.clone());
            let operations = planned(&desired, observed, &snapshot.unreadable, self.context);
            (desired, operations)
        };
        let (desired, draft) = plan(snapshot);
        let to_lock = attachments_to_lock(&draft, &snapshot.records);
        if to_lock.is_empty() {
            return Ok(Planned { desired, operations: draft, locks: AttachmentLocks::default() });
        }
        let locks = AttachmentLocks::acquire(journal, &to_lock)?;
        locks.reread(snapshot);
        let (desired, operations) = plan(snapshot);
        Ok(Planned { desired, operations: without_contended(operations, locks.contended()), locks })
    }
}

//! Decides on reservations, and what their statuses are. Pure.

use super::evaluator::Evaluator;
use super::outbox::Outbox;
use crate::cache::attachments::ObjectName;
use crate::cache::dirty::Dirty;
use crate::cache::reservations::{Decision, Verdict};
use crate::cache::{Cache, reserving};
use crate::status;
use crate::write::queue::Class;
use crate::write::{Target, Write};
use std::collections::BTreeSet;
use std::mem::take;
use usnet_crds::FixedAttachment;

impl Evaluator {
    /// Whether something is left for [`Self::decide_reservations`].
    pub fn has_undecided_reservations(&self) -> bool {
        !self.dirty.reserved.is_empty()
    }

    /// Decides on networks whose reservations changed. Each decision may be a write of a compiled
    /// network, which all nodes read, and any tenant can change reservations all the time: the
    /// caller limits the rate.
    pub fn decide_reservations(&mut self, cache: &mut Cache) {
        let networks = take(&mut self.dirty.reserved);
        self.decide(cache, networks);
    }

    /// Decides on networks that changed themselves, before they are compiled.
    pub(super) fn decide_changed_networks(&mut self, cache: &mut Cache) {
        let networks = take(&mut self.dirty.undecided);
        self.decide(cache, networks);
    }

    fn decide(&mut self, cache: &mut Cache, networks: BTreeSet<String>) {
        for network in networks {
            let decision = reserving::decide(cache, &network);
            let before = cache.reservations.decided.remove(&network).unwrap_or_default();
            if decision != before {
                self.dirty.reservations.extend(before.keys().chain(decision.keys()).cloned());
            }
            if fixed(&decision) != fixed(&before) {
                let networks = BTreeSet::from([network.clone()]);
                self.mark(Dirty { statuses: networks.clone(), networks, ..Dirty::default() });
            }
            if !decision.is_empty() {
                cache.reservations.decided.insert(network, decision);
            }
        }
    }

    pub(super) fn evaluate_reservations(&mut self, cache: &Cache, outbox: &mut Outbox<'_>) {
        for name in take(&mut self.dirty.reservations) {
            let write = status_write(cache, &name, outbox);
            outbox.put_now(&Target::ReservationStatus(name), write, Class::Attachment);
        }
    }
}

fn fixed(decision: &Decision) -> Vec<&FixedAttachment> {
    decision.values().filter_map(Verdict::fixed).collect()
}

/// None for a reservation that is gone, or whose status is as it should be.
fn status_write(cache: &Cache, name: &ObjectName, outbox: &Outbox<'_>) -> Option<Write> {
    let reservation = cache.reservations.objects.get(name)?;
    let status = status::reservation::evaluate(cache, name, reservation, &outbox.now.time)?;
    (reservation.status.as_ref() != Some(&status)).then(|| Write::ReservationStatus {
        name: name.clone(),
        uid: reservation.uid.clone(),
        status: Box::new(status),
    })
}

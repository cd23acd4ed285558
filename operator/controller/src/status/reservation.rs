//! The status of a reservation: what is decided on it, and whether it is compiled. Pure.

use crate::cache::Cache;
use crate::cache::attachments::ObjectName;
use crate::cache::reservations::{Reservation, Verdict};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use usnet_crds::conditions::message::reservation as message;
use usnet_crds::conditions::reason::{INVALID, RESERVED, RESERVING};
use usnet_crds::conditions::{ConditionUpdate, READY, Status, find, merge};
use usnet_crds::{FixedAttachment, UserspaceReservationStatus};

/// The desired status; none while nothing is known.
pub fn evaluate(
    cache: &Cache,
    name: &ObjectName,
    reservation: &Reservation,
    now: &Time,
) -> Option<UserspaceReservationStatus> {
    let ready = ready(cache, name, reservation).filter(|_| !reservation.is_deleting)?;
    let generation = Some(reservation.generation);
    let old = reservation.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    Some(UserspaceReservationStatus {
        observed_generation: generation,
        conditions: merge(old, vec![ready], generation, now),
    })
}

fn ready(cache: &Cache, name: &ObjectName, reservation: &Reservation) -> Option<ConditionUpdate> {
    let update = |status, reason: &str, message: String| Some(ConditionUpdate::new(READY, status, reason, message));
    let valid = match &reservation.spec {
        Ok(valid) => valid,
        Err(problem) => return update(Status::False, INVALID, problem.clone()),
    };
    let network = valid.network.as_str();
    match cache.reservations.decided.get(network)?.get(name)? {
        Verdict::Refused { reason, message } => update(Status::False, reason, message.clone()),
        Verdict::Fixed(fixed) if is_compiled(cache, network, fixed) => {
            update(Status::True, RESERVED, message::RESERVED.to_owned())
        }
        // Nodes keep what was compiled last.
        Verdict::Unknown if was_ready(reservation) => None,
        Verdict::Fixed(_) | Verdict::Unknown => update(Status::Unknown, RESERVING, message::reserving(&valid.network)),
    }
}

/// Whether exactly these settings are compiled.
fn is_compiled(cache: &Cache, network: &str, fixed: &FixedAttachment) -> bool {
    cache.compiled.get(network).is_some_and(|compiled| compiled.attachments.contains(fixed))
}

fn was_ready(reservation: &Reservation) -> bool {
    let Some(status) = &reservation.status else { return false };
    let is_ready = find(&status.conditions, READY).is_some_and(|ready| ready.status == Status::True.as_str());
    is_ready && status.observed_generation == Some(reservation.generation)
}

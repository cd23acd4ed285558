//! A reservation compared with what its network allows ([`Allowed::fixed`]).

use super::allowed::{Allowed, ReservedMacs};
use super::problem::ReservationProblem;
use super::validate::ValidReservation;
use crate::network::validate::validate;
use crate::network::{AttachmentSpec, UserspaceNetwork, UserspaceNetworkSpec};
use crate::problem::{InvalidSpec, Problems};
use crate::{FixedAttachment, InterfaceAddress, KilobitsPerSecond, MacAddress};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::net::IpAddr;

impl Allowed {
    /// What the reservation of this namespace fixes, as an entry of `attachments` of the network.
    ///
    /// # Errors
    /// The network does not allow it, or it breaks a rule of these entries.
    pub fn fixed(&self, namespace: &str, reservation: &ValidReservation) -> Result<FixedAttachment, InvalidSpec> {
        let mut problems = Problems::default();
        self.addresses(&mut problems, reservation);
        self.settings(&mut problems, reservation);
        let (name, rules) = &*self.network;
        let attachments = vec![AttachmentSpec { namespace: namespace.to_owned(), ..reservation.attachment.clone() }];
        let network = UserspaceNetwork {
            metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
            spec: UserspaceNetworkSpec { attachments, ..rules.clone() },
            status: None,
        };
        let fixed = validate(&network).map(|valid| valid.attachments.into_iter().next());
        for invalid in fixed.as_ref().err().into_iter().flat_map(|invalid| &invalid.problems) {
            let field = invalid.field.replace("spec.attachments[0]", "spec").replace("spec.attachments", "spec");
            problems.add(field, invalid.problem.clone());
        }
        match fixed {
            Ok(Some(fixed)) if problems.count() == 0 => Ok(fixed),
            _ => Err(problems.into_invalid()),
        }
    }

    fn addresses(&self, problems: &mut Problems, reservation: &ValidReservation) {
        let last_place = reservation.pods.last_place();
        for (place, text) in reservation.attachment.ips.iter().enumerate() {
            let Ok(first) = text.parse::<InterfaceAddress>() else { continue };
            let field = format!("spec.ips[{place}]");
            if self.subnets.is_empty() {
                problems.add(field, ReservationProblem::NoAddresses.into());
                continue;
            }
            // A subnet has no gaps: it has a range if it has both ends.
            let ends = [first.ip(), first.after(last_place).unwrap_or(first).ip()];
            if !self.subnets.iter().any(|subnet| ends.iter().all(|ip| subnet.contains(ip))) {
                let is_outside = |ip: &&IpAddr| !self.subnets.iter().any(|subnet| subnet.contains(*ip));
                let address = ends.iter().find(is_outside).copied().unwrap_or(first.ip());
                problems.add(field, ReservationProblem::Address { address, subnets: self.subnets.clone() }.into());
            }
        }
    }

    fn settings(&self, problems: &mut Problems, reservation: &ValidReservation) {
        let AttachmentSpec { mac, vlan, rate_limit: rate, .. } = &reservation.attachment;
        if let Some(mac) = mac.as_ref().and_then(|mac| mac.parse::<MacAddress>().ok()) {
            match self.macs {
                ReservedMacs::None => problems.add("spec.mac", ReservationProblem::NoMac.into()),
                ReservedMacs::LocallyAdministered if !mac.is_locally_administered() => {
                    problems.add("spec.mac", ReservationProblem::GlobalMac(mac).into());
                }
                ReservedMacs::LocallyAdministered | ReservedMacs::Any => {}
            }
        }
        if let Some(vlan) = vlan {
            problems.add_if(self.vlans.is_empty(), "spec.vlan", ReservationProblem::NoVlan.into());
            let tags = vlan.tag.iter().chain(&vlan.trunks).filter_map(|tag| (*tag).try_into().ok());
            if let Some(vlan) = tags.into_iter().find(|tag| !self.vlans.is_empty() && !self.vlans.contains(*tag)) {
                problems.add("spec.vlan", ReservationProblem::Vlan { vlan, vlans: self.vlans.clone() }.into());
            }
        }
        if let Some(rate) = rate {
            self.rate(problems, "ingressKbps", rate.ingress_kbps, self.rate.ingress_kbps);
            self.rate(problems, "egressKbps", rate.egress_kbps, self.rate.egress_kbps);
        }
    }

    /// No limit is more than any.
    fn rate(&self, problems: &mut Problems, field: &str, kbps: i64, most: Option<KilobitsPerSecond>) {
        if let Some(most) = most.filter(|most| kbps == 0 || kbps > i64::from(*most)) {
            problems.add(format!("spec.rateLimit.{field}"), ReservationProblem::Rate(most).into());
        }
    }
}

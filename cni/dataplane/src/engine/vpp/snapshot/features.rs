//! The L2 features of ports that have a VLAN or limits, and of NICs: one request for each. VPP
//! reports them since 26.06.

use super::interface::Interface;
use super::vpp_snapshot::VppSnapshot;
use crate::engine::error::EngineError;
use crate::engine::vpp::qos::Policed;
use crate::model::owner::Owner;
use crate::model::port::PortName;
use crate::model::tagging::Tagging;
use std::collections::BTreeMap;
use usnet_vpp::messages::{L2FlagsGet, L2FlagsGetReply, L2InputFeatures, L2OutputFeatures};
use usnet_vpp::{Answers, Api, Batch, Ticket};

/// What is done to the frames of a member of a bridge domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Features {
    /// Whether it gets only the frames of its VLAN.
    pub(in crate::engine::vpp) is_filtered: bool,
    pub(in crate::engine::vpp) policed: Policed,
}

impl From<L2FlagsGetReply> for Features {
    fn from(reply: L2FlagsGetReply) -> Self {
        let (input, output) = (reply.input_feature_bitmap, reply.output_feature_bitmap);
        let ingress = Some(output.contains(L2OutputFeatures::POLICER));
        let egress = Some(input.contains(L2InputFeatures::POLICER));
        let is_filtered = output.contains(L2OutputFeatures::EFP_FILTER);
        Self { is_filtered, policed: Policed { ingress, egress } }
    }
}

/// Where the answers about some interfaces are.
#[derive(Debug)]
pub(in crate::engine::vpp) struct FeatureTickets(Vec<(u32, Ticket<L2FlagsGet>)>);

impl FeatureTickets {
    /// Requests the features of these interfaces, if this VPP reports them.
    pub(in crate::engine::vpp) fn request(
        batch: &mut Batch,
        api: &impl Api,
        indexes: impl IntoIterator<Item = u32>,
    ) -> Self {
        let indexes = indexes.into_iter().filter(|_| api.supports::<L2FlagsGet>());
        Self(indexes.map(|sw_if_index| (sw_if_index, batch.request(L2FlagsGet { sw_if_index }))).collect())
    }

    /// The features by interface index. A rejected request is left out: the interface was deleted,
    /// or removed from its bridge domain.
    pub(in crate::engine::vpp) fn read(self, answers: &Answers) -> BTreeMap<u32, Features> {
        let answer = |(index, ticket): (u32, Ticket<L2FlagsGet>)| Some((index, answers.reply(ticket).ok()?.into()));
        self.0.into_iter().filter_map(answer).collect()
    }
}

/// Adds it to what was read before.
pub(super) async fn read(api: &mut impl Api, snapshot: &mut VppSnapshot) -> Result<(), EngineError> {
    let has_features = |(index, interface): (&u32, &Interface)| {
        let owner = interface.owner.as_ref()?;
        let is_tagged =
            matches!(interface.tagging, Tagging::Vlan(_)) || matches!(owner, Owner::Nic(_) | Owner::Patch(_));
        let has_any = is_tagged || snapshot.policers.of(&PortName::of_owner(owner)).next().is_some();
        (has_any && interface.domain.is_some()).then_some(*index)
    };
    let indexes: Vec<u32> = snapshot.interfaces.iter().filter_map(has_features).collect();
    let mut batch = Batch::new();
    let tickets = FeatureTickets::request(&mut batch, api, indexes);
    if batch.is_empty() {
        return Ok(());
    }
    let features = tickets.read(&api.send(&batch).await?);
    for (index, Features { is_filtered, policed }) in features {
        if let Some(interface) = snapshot.interfaces.get_mut(&index) {
            (interface.policed, interface.is_filtered) = (policed, Some(is_filtered));
            if !is_filtered && matches!(interface.tagging, Tagging::Vlan(_)) {
                interface.tagging = Tagging::Other;
            }
        }
    }
    Ok(())
}

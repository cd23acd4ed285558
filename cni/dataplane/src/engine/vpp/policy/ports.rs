//! The ports of pods in bridge domains of networks (IO).

use crate::engine::error::EngineError;
use crate::engine::vpp::snapshot::{BridgeDomainTickets, read_marks};
use crate::engine::vpp::tags;
use crate::model::attachment::AttachmentId;
use crate::model::owner::Owner;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::NetworkName;
use usnet_vpp::messages::{NO_BRIDGE_DOMAIN, NO_INTERFACE, SwInterfaceDump};
use usnet_vpp::{Api, Batch};

/// A port of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgedPort {
    pub attachment: AttachmentId,
    /// The network that owns its bridge domain.
    pub network: NetworkName,
}

/// The ports of pods, by the indexes of their interfaces.
pub type BridgedPorts = BTreeMap<u32, BridgedPort>;

/// Reads the ports of pods.
///
/// # Errors
/// VPP does not answer.
pub async fn read(api: &mut impl Api) -> Result<BridgedPorts, EngineError> {
    let mut batch = Batch::new();
    let interfaces = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
    let domains = BridgeDomainTickets::request(&mut batch, &BTreeSet::from([NO_BRIDGE_DOMAIN]));
    let answers = api.send(&batch).await?;
    let mut domains = domains.read(&answers)?;
    read_marks(api, &mut domains).await?;
    let networks: BTreeMap<u32, &NetworkName> = domains
        .values()
        .filter_map(|domain| Some((domain, domain.owner.as_ref()?)))
        .flat_map(|(domain, network)| domain.members.keys().map(move |index| (*index, network)))
        .collect();
    let interfaces = answers.details(interfaces)?;
    let port = |details: &usnet_vpp::messages::SwInterfaceDetails| {
        let index = details.sw_if_index;
        let Some(Owner::Attachment(attachment)) = tags::owner(details.tag.as_str(), details.l2_address) else {
            return None;
        };
        let network = NetworkName::clone(networks.get(&index)?);
        Some((index, BridgedPort { attachment, network }))
    };
    Ok(interfaces.iter().filter_map(port).collect())
}

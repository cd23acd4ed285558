//! Reading the addresses of NICs and of sub-interfaces for them: a batch of their own.

use super::interface::Interface;
use super::vpp_snapshot::VppSnapshot;
use crate::engine::error::EngineError;
use crate::model::owner::Owner;
use usnet_vpp::messages::IpAddressDump;
use usnet_vpp::{Api, Batch};

/// Adds them to what was read before.
pub(super) async fn read(api: &mut impl Api, snapshot: &mut VppSnapshot) -> Result<(), EngineError> {
    let may_have_any =
        |interface: &Interface| matches!(interface.owner, Some(Owner::Nic(_))) || interface.underlay_of.is_some();
    let indexes = snapshot.interfaces.iter().filter(|(_, found)| may_have_any(found)).map(|(index, _)| *index);
    let mut batch = Batch::new();
    let tickets: Vec<_> = indexes
        .map(|sw_if_index| {
            let of = |is_ipv6| IpAddressDump { sw_if_index, is_ipv6 };
            (sw_if_index, [false, true].map(of).map(|dump| batch.dump(dump)))
        })
        .collect();
    if batch.is_empty() {
        return Ok(());
    }
    let answers = api.send(&batch).await?;
    for (index, tickets) in tickets {
        for ticket in tickets {
            let details = answers.details(ticket)?;
            let addresses = details.iter().filter_map(|found| Some((found.prefix.ip()?, found.prefix.length)));
            if let Some(interface) = snapshot.interfaces.get_mut(&index) {
                interface.addresses.extend(addresses);
            }
        }
    }
    Ok(())
}

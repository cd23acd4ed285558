//! Keeping the node out of the networks: the chains of its devices, and their settings.

use super::observe::{has_net_admin, name};
use super::{KernelLinks, failed, namespace};
use crate::isolation::{Frames, Guard, GuardOp, ObservedGuard, TABLE, diff, settings};
use crate::links::LinkError;
use crate::links::guarded::{LentDevices, NodeDevice, NodeDeviceKind};
use crate::model::attachment::AttachmentId;
use crate::netlink::NetlinkError;
use crate::nftables::{Batch, Nftables, NftablesError, NftablesMonitor, ObservedChain};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage};
use std::collections::BTreeSet;
use std::path::Path;

const BATCH_MAX: usize = 64;

/// What was found of the devices that belong to engines, and what was done.
#[derive(Debug, Default)]
pub struct Kept {
    /// What was repaired or made, in words.
    pub changes: Vec<String>,
    /// What could not be done; the next call tries again.
    pub failures: Vec<LinkError>,
}

impl KernelLinks {
    /// Isolates all devices of the node that belong to engines, and sets up the node's ends of
    /// pods' interfaces. None if this process may not.
    ///
    /// # Errors
    /// The devices cannot be read. Nothing was changed.
    pub fn keep_isolated(&mut self, lent: &LentDevices) -> Result<Option<Kept>, LinkError> {
        if !has_net_admin()? {
            return Ok(None);
        }
        // Chains first: one whose device is not among those that are read then has lost it.
        let chains = self.chains()?;
        let devices = self.devices().map_err(failed("list the devices of the node"))?;
        let mut kept = Kept::default();
        let present: BTreeSet<String> = devices.iter().map(|device| device.name.clone()).collect();
        let operations = diff(&lent.guards(&devices), &chains, &present, &lent.engines.keys().copied().collect());
        for operations in operations.chunks(BATCH_MAX) {
            self.apply_guards(operations, &mut kept);
        }
        let are_isolated = kept.failures.is_empty();
        for device in devices.iter().filter(|device| device.is_port() && are_isolated) {
            let result = self.configure_port(device, &mut kept);
            kept.failures.extend(result.map_err(failed(&format!("configure device {}", device.name))).err());
        }
        Ok(Some(kept))
    }

    /// The attachments whose device is on the node; none if this process may not change devices.
    pub fn attachments(&mut self) -> Result<Option<BTreeSet<AttachmentId>>, LinkError> {
        if !has_net_admin()? {
            return Ok(None);
        }
        let devices = self.devices().map_err(failed("list the devices of the node"))?;
        Ok(Some(devices.iter().filter_map(NodeDevice::attachment).collect()))
    }

    /// Waits for changes of rules in a network namespace; none is that of this process.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the kernel has no nftables.
    pub fn watch_rules(network_namespace: Option<&Path>) -> Result<NftablesMonitor, LinkError> {
        namespace::within(network_namespace, || NftablesMonitor::open().map_err(of_nftables))
    }

    /// Gives devices their chains. They may have them already.
    pub(super) fn isolate(&mut self, guards: impl IntoIterator<Item = Guard>) -> Result<(), LinkError> {
        let operations: Vec<_> = guards.into_iter().map(GuardOp::Create).collect();
        self.commit(&operations)
    }

    fn chains(&mut self) -> Result<Vec<ObservedGuard>, LinkError> {
        let nftables = self.nftables()?;
        let chains = nftables.chains(TABLE).map_err(of_nftables)?;
        let guard = |chain: ObservedChain| {
            let rules = if chain.uses == 0 { Vec::new() } else { nftables.rules(TABLE, &chain.name)? };
            Ok(ObservedGuard { frames: Frames::of(&rules, chain.drops), chain })
        };
        chains.into_iter().map(guard).collect::<Result<_, _>>().map_err(of_nftables)
    }

    /// A device that disappears meanwhile must not keep the others from being isolated.
    fn apply_guards(&mut self, operations: &[GuardOp], kept: &mut Kept) {
        if self.commit(operations).is_ok() {
            kept.changes.extend(operations.iter().map(ToString::to_string));
            return;
        }
        for operation in operations {
            match self.commit(std::slice::from_ref(operation)) {
                Ok(()) => kept.changes.push(operation.to_string()),
                Err(LinkError::Isolation(NftablesError::Missing(_))) => {}
                Err(error) => kept.failures.push(error),
            }
        }
    }

    fn commit(&mut self, operations: &[GuardOp]) -> Result<(), LinkError> {
        let mut batch = Batch::default();
        batch.add_table(TABLE);
        operations.iter().for_each(|operation| operation.add_to(&mut batch));
        self.nftables()?.commit(batch).map_err(of_nftables)
    }

    fn configure_port(&mut self, device: &NodeDevice, kept: &mut Kept) -> Result<(), NetlinkError> {
        if !device.has_settings {
            self.set_isolated(device.index);
            kept.changes.push(format!("restore the settings of device {}", device.name));
        }
        if !device.is_up && device.attachment().is_some() {
            self.set_up(device.index, true)?;
            kept.changes.push(format!("set up device {}", device.name));
        }
        Ok(())
    }

    fn devices(&mut self) -> Result<Vec<NodeDevice>, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
        let answers = self.dump(&RouteNetlinkMessage::GetLink(message))?;
        let device = |answer: RouteNetlinkMessage| match answer {
            RouteNetlinkMessage::NewLink(link) => device(&link),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(device).collect())
    }

    fn nftables(&mut self) -> Result<&mut Nftables, LinkError> {
        if self.nftables.is_none() {
            let open = || Nftables::open().map_err(of_nftables);
            self.nftables = Some(namespace::within(self.network_namespace.as_deref(), open)?);
        }
        self.nftables.as_mut().ok_or(LinkError::NotPermitted)
    }
}

fn of_nftables(error: NftablesError) -> LinkError {
    match error {
        NftablesError::NotPermitted => LinkError::NotPermitted,
        other => LinkError::Isolation(other),
    }
}

fn device(link: &LinkMessage) -> Option<NodeDevice> {
    let mut device = NodeDevice {
        index: link.header.index,
        name: name(link)?.to_owned(),
        kind: NodeDeviceKind::Other,
        alias: None,
        is_up: link.header.flags.contains(LinkFlags::Up),
        has_settings: settings::are_set(&link.attributes),
    };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfAlias(alias) => device.alias = Some(alias.clone()),
            LinkAttribute::LinkInfo(info) => device.kind = kind(info),
            _ => {}
        }
    }
    Some(device)
}

fn kind(info: &[LinkInfo]) -> NodeDeviceKind {
    let kind = info.iter().find_map(|info| match info {
        LinkInfo::Kind(kind) => Some(kind),
        _ => None,
    });
    match kind {
        Some(InfoKind::Veth) => NodeDeviceKind::Veth,
        Some(InfoKind::Vxlan) => NodeDeviceKind::Vxlan,
        _ => NodeDeviceKind::Other,
    }
}

//! A snapshot of VPP's objects, read without the driver under test.

use std::collections::{BTreeMap, BTreeSet};
use usnet_test_vpp::Vpp;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    BridgeDomainDetails, BridgeDomainDump, MemifDetails, MemifDump, MemifSocketFilenameDump, NO_BRIDGE_DOMAIN,
    NO_INTERFACE, SwInterfaceDetails, SwInterfaceDump, SwInterfaceVhostUserDump,
};
use usnet_vpp::{Api, Batch, Dump};

#[derive(Debug)]
pub(crate) struct VppSnapshot {
    pub(crate) interfaces: BTreeMap<u32, SwInterfaceDetails>,
    pub(crate) domains: BTreeMap<u32, BridgeDomainDetails>,
    pub(crate) memifs: BTreeMap<u32, MemifDetails>,
    /// The names of memif sockets by their ids, without VPP's own, 0.
    pub(crate) socket_ids: BTreeMap<u32, String>,
    vhost_sockets: BTreeMap<u32, String>,
}

impl VppSnapshot {
    pub(crate) fn of(vpp: &Vpp) -> Self {
        let mut client = vpp.client().unwrap();
        let interfaces = dump(&mut client, SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
        let domains = dump(&mut client, BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
        let memifs = dump(&mut client, MemifDump {});
        let sockets = dump(&mut client, MemifSocketFilenameDump {});
        let sockets = sockets.into_iter().filter(|socket| socket.socket_id != 0);
        let vhosts = dump(&mut client, SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE });
        Self {
            interfaces: by(interfaces, |interface| interface.sw_if_index),
            domains: by(domains, |domain| domain.bd_id),
            memifs: by(memifs, |memif| memif.sw_if_index),
            socket_ids: sockets.map(|socket| (socket.socket_id, socket.socket_filename.to_string())).collect(),
            vhost_sockets: vhosts
                .into_iter()
                .map(|vhost| (vhost.sw_if_index, vhost.sock_filename.to_string()))
                .collect(),
        }
    }

    /// The members of a bridge domain: their tags or, for members without a tag, VPP's names, which
    /// it reuses.
    pub(crate) fn ports(&self, domain: &str) -> Vec<String> {
        let members = self.domains.get(&domain.parse().unwrap()).map(|domain| &domain.sw_if_details);
        members.into_iter().flatten().map(|member| name(&self.interfaces[&member.sw_if_index])).collect()
    }

    /// The interface of a port.
    pub(crate) fn interface(&self, port: &str) -> &SwInterfaceDetails {
        self.interfaces.values().find(|interface| name(interface) == port).unwrap()
    }

    /// The socket of a port.
    pub(crate) fn socket(&self, port: &str) -> String {
        let index = self.interface(port).sw_if_index;
        match self.memifs.get(&index) {
            Some(memif) => self.socket_ids[&memif.socket_id].clone(),
            None => self.vhost_sockets[&index].clone(),
        }
    }

    /// Asserts that every interface is in a bridge domain, and every socket id in use.
    #[track_caller]
    pub(crate) fn assert_no_leftovers(&self) {
        let members = self.domains.values().flat_map(|domain| &domain.sw_if_details);
        let members: BTreeSet<u32> = members.map(|member| member.sw_if_index).collect();
        let unbridged = self.interfaces.values().filter(|interface| !members.contains(&interface.sw_if_index));
        assert_eq!(unbridged.map(name).collect::<Vec<_>>(), ["local0"]);
        let used: BTreeSet<u32> = self.memifs.values().map(|memif| memif.socket_id).collect();
        let unused: Vec<_> = self.socket_ids.iter().filter(|(id, _)| !used.contains(*id)).collect();
        assert!(unused.is_empty(), "socket ids without a memif: {unused:?}");
    }
}

fn name(interface: &SwInterfaceDetails) -> String {
    let tag = interface.tag.as_str();
    if tag.is_empty() { interface.interface_name.to_string() } else { tag.to_owned() }
}

fn by<T>(details: Vec<T>, index: impl Fn(&T) -> u32) -> BTreeMap<u32, T> {
    details.into_iter().map(|observed| (index(&observed), observed)).collect()
}

/// Requests a dump; it is empty when the message belongs to a plugin that is not loaded.
fn dump<D: Dump>(client: &mut Client, dump: D) -> Vec<D::Details> {
    if !client.supports::<D>() {
        return Vec::new();
    }
    let mut batch = Batch::new();
    let ticket = batch.dump(dump);
    client.send(&batch).unwrap().details(ticket).unwrap()
}

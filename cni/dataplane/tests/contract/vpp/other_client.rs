//! Changes of VPP by others, through a client of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use usnet_dataplane::owner::NetworkDeviceRole;
use usnet_dataplane::port::PortName;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    AfPacketCreateV3, AfPacketDelete, AfPacketDetails, AfPacketDump, AfPacketMode, BridgeDomainAddDelV2,
    BridgeDomainDetails, BridgeDomainDump, CreateLoopbackInstance, DeleteLoopback, DeleteVhostUserIf, IpAddressDump,
    IpTableDetails, IpTableDump, L2PortType, MemifCreateV2, MemifDelete, MemifDetails, MemifDump,
    MemifSocketFilenameAddDelV2, MemifSocketFilenameDump, NO_BRIDGE_DOMAIN, NO_INTERFACE, PolicerDump, Prefix,
    SwInterfaceAddDelAddress, SwInterfaceDetails, SwInterfaceDump, SwInterfaceSetL2Bridge, SwInterfaceTagAddDel,
    SwInterfaceTapV2Details, SwInterfaceTapV2Dump, SwInterfaceVhostUserDetails, SwInterfaceVhostUserDump, TapDeleteV2,
};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Api, Batch, Dump, Request};

const AMPLE: Duration = Duration::from_secs(30);

/// Another client of VPP. It is used for all changes and reconnects after VPP was restarted.
#[derive(Debug)]
pub(crate) struct OtherClient {
    socket: PathBuf,
    client: Option<Client>,
}

pub(crate) fn text<const N: usize>(text: &str) -> FixedText<N> {
    FixedText::new(text).expect("a short text")
}

impl OtherClient {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket, client: None }
    }

    fn client(&mut self) -> &mut Client {
        self.client.get_or_insert_with(|| Client::connect(&self.socket, AMPLE).expect("VPP"))
    }

    /// VPP was away: this client must not be the one who finds out.
    pub(crate) fn drop_connection(&mut self) {
        self.client = None;
    }

    pub(crate) fn request<R: Request>(&mut self, request: R) -> R::Reply {
        let mut batch = Batch::new();
        let ticket = batch.request(request);
        self.client().send(&batch).expect("VPP").reply(ticket).expect("a request of others")
    }

    /// All in one batch.
    pub(crate) fn request_all<R: Request>(&mut self, requests: impl IntoIterator<Item = R>) {
        let mut batch = Batch::new();
        let tickets: Vec<_> = requests.into_iter().map(|request| batch.request(request)).collect();
        let answers = self.client().send(&batch).expect("VPP");
        for ticket in tickets {
            answers.reply(ticket).expect("a request of others");
        }
    }

    pub(crate) fn dump<D: Dump>(&mut self, dump: D) -> Vec<D::Details> {
        let mut batch = Batch::new();
        let ticket = batch.dump(dump);
        self.client().send(&batch).expect("VPP").details(ticket).expect("details")
    }

    pub(crate) fn domains(&mut self) -> BTreeMap<u32, BridgeDomainDetails> {
        let all = BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE };
        self.dump(all).into_iter().map(|domain| (domain.bd_id, domain)).collect()
    }

    pub(crate) fn interfaces(&mut self) -> Vec<SwInterfaceDetails> {
        self.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() })
    }

    pub(crate) fn memifs(&mut self) -> Vec<MemifDetails> {
        self.dump(MemifDump {})
    }

    /// None with a VPP that lacks the plugin.
    pub(crate) fn on_devices(&mut self) -> Vec<AfPacketDetails> {
        if self.client().supports::<AfPacketDump>() { self.dump(AfPacketDump {}) } else { Vec::new() }
    }

    /// None with a VPP that lacks the plugin.
    pub(crate) fn taps(&mut self) -> Vec<SwInterfaceTapV2Details> {
        let all = SwInterfaceTapV2Dump { sw_if_index: NO_INTERFACE };
        if self.client().supports::<SwInterfaceTapV2Dump>() { self.dump(all) } else { Vec::new() }
    }

    pub(crate) fn vhost_users(&mut self) -> Vec<SwInterfaceVhostUserDetails> {
        self.dump(SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE })
    }

    /// The number of interfaces of the kinds that ports have.
    pub(crate) fn ports(&mut self) -> usize {
        self.memifs().len() + self.vhost_users().len() + self.on_devices().len() + self.taps().len()
    }

    /// The names of memif sockets by their ids.
    pub(crate) fn sockets(&mut self) -> BTreeMap<u32, String> {
        let all = self.dump(MemifSocketFilenameDump {});
        all.into_iter().map(|socket| (socket.socket_id, socket.socket_filename.to_string())).collect()
    }

    /// The interface of a port, which is found by its tag if that is not packed.
    pub(crate) fn find(&mut self, port: &PortName) -> Option<SwInterfaceDetails> {
        self.interfaces().into_iter().find(|interface| {
            let tagged =
                interface.tag.as_str().strip_prefix("usn=").and_then(|text| Some(PortName::of(&text.parse().ok()?)));
            let roles = [("usnet:", NetworkDeviceRole::Overlay), ("usnna:", NetworkDeviceRole::NodeAccess)];
            let of_network = || {
                let network = |prefix| interface.tag.as_str().strip_prefix(prefix)?.parse().ok();
                roles.into_iter().find_map(|(prefix, role)| Some(PortName::of_device(&network(prefix)?, role)))
            };
            tagged.or_else(of_network).unwrap_or_else(|| PortName::observed(interface.interface_name.as_str())) == *port
        })
    }

    pub(crate) fn interface(&mut self, port: &PortName) -> SwInterfaceDetails {
        self.find(port).expect("a port of VPP")
    }

    pub(crate) fn add_domain(&mut self, bd_id: u32, tag: &str) {
        self.request(BridgeDomainAddDelV2 {
            bd_id,
            flood: true,
            uu_flood: true,
            forward: true,
            learn: true,
            bd_tag: text(tag),
            is_add: true,
            ..BridgeDomainAddDelV2::default()
        });
    }

    /// Its ports stay and are in none then.
    pub(crate) fn remove_domain(&mut self, bd_id: u32) {
        let members = self.domains().remove(&bd_id).expect("a bridge domain").sw_if_details;
        for member in members {
            self.take_out(member.sw_if_index, bd_id);
        }
        self.request(BridgeDomainAddDelV2 { bd_id, is_add: false, ..BridgeDomainAddDelV2::default() });
    }

    pub(crate) fn put_into(&mut self, sw_if_index: u32, bd_id: u32) {
        self.set_domain(sw_if_index, bd_id, true);
    }

    pub(crate) fn take_out(&mut self, sw_if_index: u32, bd_id: u32) {
        self.set_domain(sw_if_index, bd_id, false);
    }

    fn set_domain(&mut self, rx_sw_if_index: u32, bd_id: u32, enable: bool) {
        let port_type = L2PortType::Normal;
        self.request(SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, shg: 0, enable });
    }

    pub(crate) fn add_loopback(&mut self) -> u32 {
        self.request(CreateLoopbackInstance::default()).sw_if_index
    }

    /// Makes it the BVI.
    pub(crate) fn put_into_as_bvi(&mut self, rx_sw_if_index: u32, bd_id: u32) {
        let port_type = L2PortType::Bvi;
        self.request(SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, shg: 0, enable: true });
    }

    /// The interface with this tag.
    pub(crate) fn tagged(&mut self, tag: &str) -> SwInterfaceDetails {
        self.interfaces().into_iter().find(|interface| interface.tag.as_str() == tag).expect("an interface")
    }

    /// With the lengths of their prefixes.
    pub(crate) fn addresses(&mut self, sw_if_index: u32) -> Vec<String> {
        let of = |is_ipv6| IpAddressDump { sw_if_index, is_ipv6 };
        let all = [false, true].map(|is_ipv6| self.dump(of(is_ipv6)));
        let text = |prefix: &Prefix| format!("{}/{}", prefix.ip().expect("an address"), prefix.length);
        all.iter().flatten().map(|details| text(&details.prefix)).collect()
    }

    pub(crate) fn set_address(&mut self, sw_if_index: u32, (ip, length): (&str, u8), is_add: bool) {
        let prefix = Prefix::new(ip.parse().expect("an address"), length);
        self.request(SwInterfaceAddDelAddress { sw_if_index, is_add, del_all: false, prefix });
    }

    /// The routing tables but those that are always there.
    pub(crate) fn tables(&mut self) -> Vec<IpTableDetails> {
        let all = self.dump(IpTableDump {});
        all.into_iter().filter(|table| table.table_id != 0).collect()
    }

    /// An interface on a device of the kernel.
    pub(crate) fn add_on_device(&mut self, device: &str) -> u32 {
        let (mode, host_if_name) = (AfPacketMode::Ethernet, text(device));
        let created = AfPacketCreateV3 { mode, host_if_name, use_random_hw_addr: true, ..AfPacketCreateV3::default() };
        self.request(created).sw_if_index
    }

    pub(crate) fn set_tag(&mut self, sw_if_index: u32, tag: &str) {
        // VPP does not replace a tag.
        self.request(SwInterfaceTagAddDel { is_add: false, sw_if_index, tag: text("") });
        if !tag.is_empty() {
            self.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: text(tag) });
        }
    }

    pub(crate) fn add_socket(&mut self, socket_id: u32, name: &str) {
        let socket_filename = name.into();
        self.request(MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename });
    }

    /// A memif of an interrupted ADD: untagged, admin down, and in no bridge domain.
    pub(crate) fn add_memif(&mut self, socket_id: u32) -> u32 {
        self.request(MemifCreateV2 { socket_id, ..MemifCreateV2::default() }).sw_if_index
    }

    /// Deletes an interface of any kind.
    pub(crate) fn remove_interface(&mut self, sw_if_index: u32) {
        if self.memifs().iter().any(|memif| memif.sw_if_index == sw_if_index) {
            self.request(MemifDelete { sw_if_index });
        } else if self.vhost_users().iter().any(|vhost_user| vhost_user.sw_if_index == sw_if_index) {
            self.request(DeleteVhostUserIf { sw_if_index });
        } else if let Some(on) = self.on_devices().into_iter().find(|on| on.sw_if_index == sw_if_index) {
            self.request(AfPacketDelete { host_if_name: on.host_if_name });
        } else if self.taps().iter().any(|tap| tap.sw_if_index == sw_if_index) {
            self.request(TapDeleteV2 { sw_if_index });
        } else {
            self.request(DeleteLoopback { sw_if_index });
        }
    }

    /// The names of all policers; empty if VPP does not support them.
    pub(crate) fn policers(&mut self) -> Vec<String> {
        if !self.client().supports::<PolicerDump>() {
            return Vec::new();
        }
        self.dump(PolicerDump::default()).into_iter().map(|policer| policer.name.into_string()).collect()
    }

    /// All that is configured.
    pub(crate) fn dump_all(&mut self) -> String {
        let mut domains = self.domains();
        // VPP does not keep the order of members.
        domains.values_mut().for_each(|domain| domain.sw_if_details.sort_by_key(|member| member.sw_if_index));
        let interfaces = (self.interfaces(), self.memifs(), self.vhost_users(), self.sockets(), self.policers());
        let indexes = interfaces.0.iter().map(|interface| interface.sw_if_index).collect::<Vec<_>>();
        let addresses: Vec<_> = indexes.into_iter().map(|index| (index, self.addresses(index))).collect();
        format!("{domains:#?}\n{interfaces:#?}\n{addresses:#?}\n{:#?}", self.tables())
    }
}

//! VPP: its binary API, and the texts of its command line.

use super::{EngineText, LearnedMac, PortKind, TIMEOUT, unavailable};
use crate::engine::EngineError;
use crate::engine::vpp::{is_of_network, port_of_pod};
use std::path::Path;
use usnet_crds::EngineKind;
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    BridgeDomainDump, CliInband, L2FibTableDetails, L2FibTableDump, NO_BRIDGE_DOMAIN, NO_INTERFACE, SwInterfaceDetails,
    SwInterfaceDump,
};
use usnet_vpp::wire::Text;

/// Commands that only show, none of which shows secrets of memifs.
const COMMANDS: [&str; 12] = [
    "show version",
    "show interface",
    "show interface address",
    "show mode",
    "show memif",
    "show vhost-user",
    "show vxlan tunnel",
    "show l2fib all",
    "show errors",
    "show logging",
    "show threads",
    "show ip fib summary",
];

pub(super) fn learned_macs(socket: &Path, bridge: &str) -> Result<Vec<LearnedMac>, EngineError> {
    let no_number = |source: std::num::ParseIntError| unavailable(EngineKind::Vpp, source);
    let bd_id = bridge.parse().map_err(no_number)?;
    let mut client = Client::connect(socket, TIMEOUT)?;
    let mut batch = Batch::new();
    let table = batch.dump(L2FibTableDump { bd_id });
    let interfaces = SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() };
    let interfaces = batch.dump(interfaces);
    let answers = client.send(&batch)?;
    Ok(macs(&answers.details(table)?, &answers.details(interfaces)?))
}

/// The interface of an address by its tag.
pub(super) fn macs(table: &[L2FibTableDetails], interfaces: &[SwInterfaceDetails]) -> Vec<LearnedMac> {
    let row = |entry: &L2FibTableDetails| {
        let interface = interfaces.iter().find(|it| it.sw_if_index == entry.sw_if_index);
        let (port, kind) = match interface {
            None => (format!("interface {}", entry.sw_if_index), PortKind::Other),
            Some(interface) => match port_of_pod(interface) {
                Some(port) => (port.to_string(), PortKind::Pod),
                None if is_of_network(interface) => (interface.interface_name.as_str().to_owned(), PortKind::Nodes),
                None => (interface.interface_name.as_str().to_owned(), PortKind::Other),
            },
        };
        let mac = entry.mac.map(|byte| format!("{byte:02x}")).join(":");
        LearnedMac { mac, vlan: None, port, kind, age_seconds: None }
    };
    table.iter().filter(|entry| !entry.bvi_mac && !entry.filter_mac).map(row).collect()
}

pub(super) fn texts(socket: &Path) -> Vec<EngineText> {
    let mut commands: Vec<String> = COMMANDS.map(str::to_owned).into();
    commands
        .extend(bridge_domains(socket).unwrap_or_default().iter().map(|id| format!("show bridge-domain {id} detail")));
    let text = |command: String| EngineText { name: command.replace(' ', "-"), text: run(socket, &command) };
    let mut texts = Vec::new();
    for command in commands {
        let answer = text(command);
        let is_gone = answer.text.is_err();
        texts.push(answer);
        // One that does not answer would take its time limit for each command.
        if is_gone {
            break;
        }
    }
    texts
}

fn bridge_domains(socket: &Path) -> Result<Vec<u32>, EngineError> {
    let mut batch = Batch::new();
    let all = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
    let answers = Client::connect(socket, TIMEOUT)?.send(&batch)?;
    Ok(answers.details(all)?.iter().map(|domain| domain.bd_id).collect())
}

fn run(socket: &Path, command: &str) -> Result<String, EngineError> {
    let mut batch = Batch::new();
    let request = batch.request(CliInband { cmd: Text::from(command) });
    let answers = Client::connect(socket, TIMEOUT)?.send(&batch)?;
    Ok(answers.reply(request)?.reply.as_str().to_owned())
}

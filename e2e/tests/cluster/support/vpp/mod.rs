//! Requests to VPP of a node over its API: the ports of a network, and their counters.

pub(crate) mod requests;

use crate::support::cluster::{TIMEOUT, check, eventually};
use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    BridgeDomainAddDelV2, BridgeDomainDump, ClassifyTableByInterface, ClassifyTableIds, ClassifyTableInfo, CliInband,
    MemifDelete, NO_BRIDGE_DOMAIN, NO_INTERFACE, NO_TABLE, SwInterfaceDump, SwInterfaceSetL2Bridge,
};
use usnet_vpp::wire::Text;
use usnet_vpp::{Batch, Error, Request};

const LIMIT: Duration = Duration::from_secs(10);

/// Whether the test bed's VPP forwards packets. If not, this prints the skipped part of the test,
/// and the number of skipped parts.
pub(crate) fn moves_packets(what: &str) -> bool {
    static LEFT_OUT: AtomicU32 = AtomicU32::new(0);
    let real = is_real();
    if !real {
        let count = LEFT_OUT.fetch_add(1, Ordering::Relaxed) + 1;
        println!("left out ({count} so far): {what}: the simulator of VPP forwards no packets");
    }
    real
}

/// Whether the test bed has a real VPP.
pub(crate) fn is_real() -> bool {
    match std::env::var("USNET_WORLD_VPP").as_deref() {
        Ok("real") => true,
        Ok(_) => false,
        Err(_) => panic!("this test bed has no VPP: start it with --engine both"),
    }
}

#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) sw_if_index: u32,
    pub(crate) name: String,
    pub(crate) tag: String,
}

/// Returns the ports of a network's bridge domain; `None` if it does not exist.
pub(crate) fn ports(node: &str, network: &str) -> Option<Vec<Port>> {
    try_ports(node, network).unwrap_or_else(|error| panic!("VPP on {node}: {error}"))
}

/// Like [`ports`], for a VPP that may not be running.
pub(crate) fn try_ports(node: &str, network: &str) -> Result<Option<Vec<Port>>, Error> {
    Ok(domain(node, network)?.map(|(_, ports)| ports))
}

/// Returns the id and the ports of a network's bridge domain.
fn domain(node: &str, network: &str) -> Result<Option<(u32, Vec<Port>)>, Error> {
    let mut batch = Batch::new();
    let domains = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
    let interfaces = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
    let answers = connect(node)?.send(&batch)?;
    let mark = format!("usnet:{network}");
    let domains = answers.details(domains).unwrap();
    let Some(domain) = domains.into_iter().find(|domain| domain.bd_tag.as_str() == mark) else { return Ok(None) };
    let members: BTreeSet<u32> = domain.sw_if_details.iter().map(|member| member.sw_if_index).collect();
    let interfaces = answers.details(interfaces).unwrap().into_iter();
    let ports = interfaces.filter(|interface| members.contains(&interface.sw_if_index)).map(|interface| Port {
        sw_if_index: interface.sw_if_index,
        name: interface.interface_name.into_string(),
        tag: interface.tag.into_string(),
    });
    Ok(Some((domain.bd_id, ports.collect())))
}

/// Connects to VPP of a node.
pub(crate) fn connect(node: &str) -> Result<Client, Error> {
    Client::connect(socket(node), LIMIT)
}

/// Deletes the memif of a port, as an administrator could.
pub(crate) fn delete_memif(node: &str, port: &Port) {
    request(node, MemifDelete { sw_if_index: port.sw_if_index }).unwrap();
}

/// Sends one request, which VPP may reject.
pub(crate) fn request(node: &str, request: impl Request) -> Result<(), String> {
    let mut batch = Batch::new();
    let ticket = batch.request(request);
    let answers = connect(node).and_then(|mut client| client.send(&batch)).map_err(|error| error.to_string())?;
    answers.reply(ticket).map(drop).map_err(|error| error.to_string())
}

/// Returns the classifier tables of what a port receives from its pod, in their order.
pub(crate) fn tables(node: &str, port: &Port) -> Vec<u32> {
    let mut client = connect(node).unwrap();
    let mut batch = Batch::new();
    let set = batch.request(ClassifyTableByInterface { sw_if_index: port.sw_if_index });
    let first = client.send(&batch).unwrap().reply(set).map_or(NO_TABLE, |set| set.l2_table_id);
    let next = |table_id: &u32| {
        let mut batch = Batch::new();
        let info = batch.request(ClassifyTableInfo { table_id: *table_id });
        client.send(&batch).unwrap().reply(info).ok().map(|info| info.next_table_index)
    };
    std::iter::successors(Some(first), next).take_while(|table| *table != NO_TABLE).collect()
}

/// Returns all classifier tables, whether they are used or not.
pub(crate) fn all_tables(node: &str) -> Vec<u32> {
    let mut batch = Batch::new();
    let ids = batch.request(ClassifyTableIds {});
    connect(node).unwrap().send(&batch).unwrap().reply(ids).unwrap().ids
}

/// Returns all tags of bridge domains and interfaces.
pub(crate) fn tags(node: &str) -> Vec<String> {
    let mut batch = Batch::new();
    let domains = batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE });
    let interfaces = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() });
    let answers = connect(node).unwrap().send(&batch).unwrap();
    let domains = answers.details(domains).unwrap().into_iter().map(|domain| domain.bd_tag.into_string());
    let interfaces = answers.details(interfaces).unwrap().into_iter().map(|interface| interface.tag.into_string());
    domains.chain(interfaces).collect()
}

/// Deletes the bridge domain of a network after its ports are removed from it, as VPP requires.
pub(crate) fn delete_bridge_domain(node: &str, network: &str, ports: &[Port]) {
    let (bd_id, _) = domain(node, network).unwrap().expect("no bridge domain");
    let mut batch = Batch::new();
    for port in ports {
        batch.request(SwInterfaceSetL2Bridge {
            rx_sw_if_index: port.sw_if_index,
            bd_id,
            ..SwInterfaceSetL2Bridge::default()
        });
    }
    let deleted = batch.request(BridgeDomainAddDelV2 { bd_id, is_add: false, ..BridgeDomainAddDelV2::default() });
    connect(node).unwrap().send(&batch).unwrap().reply(deleted).unwrap();
}

/// Waits until a network has this number of ports.
pub(crate) fn await_ports(node: &str, network: &str, count: usize) -> Vec<Port> {
    eventually(&format!("{count} ports of {network} on {node}"), || {
        let found = try_ports(node, network).map_err(|error| error.to_string())?.ok_or("no bridge domain")?;
        check(found.len() == count, format!("{found:?}"))?;
        Ok(found)
    })
}

/// Waits until VPP accepts connections, and returns the time.
pub(crate) fn await_socket(node: &str) -> Instant {
    poll_each_millisecond("VPP's socket", || UnixStream::connect(socket(node)).is_ok())
}

/// Polls each millisecond until a condition holds, and returns the time.
pub(crate) fn poll_each_millisecond(what: &str, mut condition: impl FnMut() -> bool) -> Instant {
    let end = Instant::now() + usnet_e2e::host::wait::scaled(TIMEOUT);
    while !condition() {
        assert!(Instant::now() < end, "{what}: not within {TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    Instant::now()
}

/// Returns the packets that VPP has sent to each of these interfaces since its start. Only a real
/// VPP counts.
pub(crate) fn sent(node: &str, interfaces: &[Port]) -> Result<Vec<u64>, Error> {
    let mut batch = Batch::new();
    let commands: Vec<_> = interfaces
        .iter()
        .map(|port| batch.request(CliInband { cmd: Text::from(format!("show interface {}", port.name)) }))
        .collect();
    let answers = connect(node)?.send(&batch)?;
    Ok(commands.into_iter().map(|command| sent_in(answers.reply(command).unwrap().reply.as_str())).collect())
}

/// Returns the count in the output of `show interface`, which omits a count of 0.
fn sent_in(observed: &str) -> u64 {
    let line = observed.lines().find_map(|line| line.split_once("tx packets"));
    line.map_or(0, |(_, count)| count.trim().parse().unwrap())
}

/// Returns VPP's socket on a node, as seen from outside.
fn socket(node: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/root/run/vpp/api.sock", process(node)))
}

/// Returns the process that holds a node's namespaces.
pub(crate) fn process(node: &str) -> String {
    let testbed = std::env::var("USNET_WORLD").expect("these tests run in a test bed: e2e/world -- cargo test …");
    std::fs::read_to_string(format!("{testbed}/nodes/{node}/pid")).unwrap().trim().to_owned()
}

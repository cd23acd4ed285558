//! Open vSwitch: the database, and the control socket of its switch.

use super::{EngineText, LearnedMac, PortKind, TIMEOUT, unavailable};
use crate::engine::EngineError;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write};
use std::path::Path;
use usnet_crds::EngineKind;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::control::{self, ControlError, Question};
use usnet_ovsdb::{Bridge, Interface, OpenVswitch, Port, Transaction};

/// The prefixes of ports that usnet creates between nodes, and for pods.
const BETWEEN_NODES: [&str; 4] = ["usn-", "use-", "usv-", "ust-"];
const OF_POD: &str = "vhu";

/// What the database says of bridges.
pub(super) struct Tables {
    pub(super) switch: Vec<OpenVswitch>,
    pub(super) bridges: Vec<Bridge>,
    pub(super) ports: Vec<Port>,
    pub(super) interfaces: Vec<Interface>,
}

pub(super) fn learned_macs(socket: &Path, bridge: &str) -> Result<Vec<LearnedMac>, EngineError> {
    let text = ask(socket, Question::MacTable(bridge))?;
    Ok(parse(&text, &port_names(&read(socket)?, bridge)))
}

pub(super) fn texts(socket: &Path) -> Vec<EngineText> {
    let tables = read(socket);
    let bridges: Vec<String> = tables.iter().flat_map(|tables| &tables.bridges).map(|it| it.name.clone()).collect();
    let questions = [("datapath", Question::Datapath), ("queues", Question::Queues), ("coverage", Question::Coverage)];
    let questions = questions.map(|(name, question)| (name.to_owned(), question));
    let of_bridges = bridges.iter().map(|name| (format!("macs-{name}"), Question::MacTable(name)));
    let mut texts = vec![EngineText { name: "show".to_owned(), text: tables.map(|tables| show(&tables)) }];
    for (name, question) in questions.into_iter().chain(of_bridges) {
        let text = ask(socket, question);
        let is_gone = matches!(&text, Err(error) if !is_refusal(error));
        texts.push(EngineText { name, text });
        // A switch that does not answer would take its time limit for each question.
        if is_gone {
            break;
        }
    }
    texts
}

/// Whether the switch answered that it has no such bridge.
fn is_refusal(error: &EngineError) -> bool {
    let EngineError::Unavailable { source, .. } = error else { return false };
    matches!(source.downcast_ref(), Some(ControlError::Refused { .. }))
}

fn ask(socket: &Path, question: Question<'_>) -> Result<String, EngineError> {
    let folder = socket.parent().unwrap_or(Path::new("/"));
    control::ask(folder, question, TIMEOUT).map_err(|error| unavailable(EngineKind::OpenVswitch, error))
}

fn read(socket: &Path) -> Result<Tables, EngineError> {
    let mut transaction = Transaction::new();
    let switch = transaction.select_rows::<OpenVswitch>(Vec::new());
    let bridges = transaction.select_rows::<Bridge>(Vec::new());
    let ports = transaction.select_rows::<Port>(Vec::new());
    let interfaces = transaction.select_rows::<Interface>(Vec::new());
    let reply = Client::connect(socket, TIMEOUT)?.transact(&transaction)?;
    let invalid = |source: usnet_ovsdb::ReplyError| unavailable(EngineKind::OpenVswitch, source);
    Ok(Tables {
        switch: reply.rows(switch).map_err(invalid)?,
        bridges: reply.rows(bridges).map_err(invalid)?,
        ports: reply.rows(ports).map_err(invalid)?,
        interfaces: reply.rows(interfaces).map_err(invalid)?,
    })
}

/// The ports of a bridge by their numbers in it.
pub(super) fn port_names(tables: &Tables, bridge: &str) -> BTreeMap<String, String> {
    let interfaces: BTreeMap<_, _> = tables.interfaces.iter().map(|interface| (&interface.uuid, interface)).collect();
    let bridge = tables.bridges.iter().find(|row| row.name == bridge);
    let of_bridge = |port: &&Port| bridge.is_some_and(|bridge| bridge.ports.contains(&port.uuid));
    let mut names = BTreeMap::new();
    for port in tables.ports.iter().filter(of_bridge) {
        for interface in port.interfaces.iter().filter_map(|uuid| interfaces.get(uuid)) {
            names.extend(interface.ofport.map(|number| (number.to_string(), port.name.clone())));
        }
    }
    names
}

/// `fdb/show`: a line of heads, and one for each address with port, VLAN, address and age.
pub(super) fn parse(text: &str, names: &BTreeMap<String, String>) -> Vec<LearnedMac> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (port, vlan, mac, age) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let vlan = vlan.parse().ok()?;
        let port = names.get(port).cloned().unwrap_or_else(|| port.to_owned());
        Some(LearnedMac {
            mac: mac.to_ascii_lowercase(),
            vlan: Some(vlan),
            kind: kind(&port),
            port,
            age_seconds: age.parse().ok(),
        })
    };
    text.lines().filter_map(row).collect()
}

fn kind(port: &str) -> PortKind {
    match port {
        _ if port.starts_with(OF_POD) => PortKind::Pod,
        _ if BETWEEN_NODES.iter().any(|prefix| port.starts_with(prefix)) => PortKind::Nodes,
        _ => PortKind::Other,
    }
}

/// The rows of the database, a line for each interface, with values as `ovs-vsctl` prints them.
pub(super) fn show(tables: &Tables) -> String {
    let mut text = String::new();
    for row in &tables.switch {
        let _infallible = writeln!(
            text,
            "Open vSwitch {}  next_cfg {}  cur_cfg {}  dpdk {}",
            row.ovs_version.as_deref().unwrap_or("?"),
            row.next_cfg,
            row.cur_cfg,
            row.dpdk_initialized
        );
    }
    for row in &tables.bridges {
        let Bridge { name, datapath_type, datapath_id, external_ids, flood_vlans, other_config, .. } = row;
        let _infallible = writeln!(
            text,
            "bridge {name}  {}  id {}  flood_vlans {}  other_config {}  external_ids {}",
            if datapath_type.is_empty() { "system" } else { datapath_type },
            optional(datapath_id),
            set(flood_vlans),
            map(other_config),
            map(external_ids)
        );
        for port in tables.ports.iter().filter(|port| row.ports.contains(&port.uuid)) {
            show_port(&mut text, tables, port);
        }
    }
    text
}

fn show_port(text: &mut String, tables: &Tables, port: &Port) {
    let Port { name, tag, trunks, vlan_mode, qos, external_ids, interfaces, .. } = port;
    let _infallible = writeln!(
        text,
        "  port {name}  tag {}  trunks {}  mode {}  qos {}  external_ids {}",
        optional(tag),
        set(trunks),
        optional(vlan_mode),
        qos.is_some(),
        map(external_ids)
    );
    for interface in tables.interfaces.iter().filter(|it| interfaces.contains(&it.uuid)) {
        // Options of others may be credentials, as those of an IPsec tunnel.
        let paths = interface.options.iter().filter(|(key, _)| key.as_str() == "vhost-server-path");
        let _infallible = writeln!(
            text,
            "    interface {}  type {}  ofport {}  mtu {} of {}  link {}  error {}  status {}  options {}",
            interface.name,
            if interface.interface_type.is_empty() { "system" } else { &interface.interface_type },
            optional(&interface.ofport),
            optional(&interface.mtu),
            optional(&interface.mtu_request),
            optional(&interface.link_state),
            optional(&interface.error),
            map(&interface.status),
            map(paths)
        );
    }
}

fn optional(value: &Option<impl Display>) -> String {
    value.as_ref().map_or_else(|| "[]".to_owned(), ToString::to_string)
}

fn set<T: Display>(values: &BTreeSet<T>) -> String {
    format!("[{}]", values.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

fn map<'a>(values: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let values = values.into_iter().map(|(key, value)| format!("{key}={value}"));
    format!("{{{}}}", values.collect::<Vec<_>>().join(", "))
}

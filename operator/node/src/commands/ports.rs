//! `usnet node ports`.

use super::output::{Error, Output, document_text};
use crate::ports::reader::PortReader;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_common::display::OneLine;
use usnet_common::display::table;
use usnet_crds::NetworkName;
use usnet_dataplane::counters::{PortCounters, Traffic};
use usnet_dataplane::paths::NodePaths;
use usnet_node_output::ports::{Port, Reading};

/// Lists the traffic of the interfaces of all networks or of one: totals, or averages per second.
/// Also returns whether all engines answered.
pub(super) fn render(
    paths: &NodePaths,
    output: Output,
    network: Option<&NetworkName>,
    interval: Option<Duration>,
) -> Result<(String, bool), Error> {
    let mut reader = PortReader::new(paths.clone());
    let mut read = || -> Result<Reading, Error> {
        let unreadable = |source| Error::Attachments { path: paths.attachments(), source: Box::new(source) };
        let mut reading = reader.read().map_err(unreadable)?;
        reading.ports.retain(|port| network.is_none_or(|network| port.network == network.as_str()));
        Ok(reading)
    };
    let mut reading = read()?;
    if let Some(interval) = interval {
        let start = Instant::now();
        sleep(interval);
        let later = read()?;
        reading = rates(&reading, later, start.elapsed());
    }
    let is_complete = reading.failures.is_empty();
    let text = document_text(&reading, output).unwrap_or_else(|| Ok(text(&reading, interval.is_some())))?;
    Ok((text, is_complete))
}

/// Converts counters into rates per second. The rates of a new port, and of one whose counters
/// restarted, are unknown.
pub(super) fn rates(before: &Reading, after: Reading, between: Duration) -> Reading {
    let key = |port: &Port| [port.namespace.clone(), port.pod.clone(), port.interface.clone()];
    let before: BTreeMap<_, _> = before.ports.iter().map(|port| (key(port), &port.counters)).collect();
    let rate = |before: Option<u64>, after: Option<u64>| {
        let added = after?.checked_sub(before?)?;
        let milliseconds = between.as_millis().max(1);
        u64::try_from(u128::from(added) * 1000 / milliseconds).ok()
    };
    let traffic = |before: &Traffic, after: &Traffic| Traffic {
        packets: rate(before.packets, after.packets),
        bytes: rate(before.bytes, after.bytes),
        dropped: rate(before.dropped, after.dropped),
        errors: rate(before.errors, after.errors),
    };
    let ports = after.ports.into_iter().map(|mut port| {
        let unknown = PortCounters::default();
        let before = before.get(&key(&port)).copied().unwrap_or(&unknown);
        let counters = &mut port.counters;
        counters.receive = traffic(&before.receive, &counters.receive);
        counters.transmit = traffic(&before.transmit, &counters.transmit);
        for (cause, count) in &mut counters.drop_causes {
            let earlier = before.drop_causes.get(cause).copied().unwrap_or_default();
            *count = rate(Some(earlier), Some(*count)).unwrap_or_default();
        }
        counters.drop_causes.retain(|_, count| *count > 0);
        port
    });
    Reading { ports: ports.collect(), failures: after.failures }
}

/// Formats the traffic as a table.
pub(super) fn text(reading: &Reading, are_rates: bool) -> String {
    let rows: Vec<_> = reading.ports.iter().map(row).collect();
    let heads = ["POD", "INTERFACE", "NETWORK", "ENGINE", "TYPE", "CONNECTED"];
    let totals = ["RECEIVED", "BYTES", "DROPPED", "SENT", "BYTES", "DROPPED", "ERRORS"];
    let rates = ["RECEIVED/s", "BYTES/s", "DROPPED/s", "SENT/s", "BYTES/s", "DROPPED/s", "ERRORS/s"];
    let counters = if are_rates { rates } else { totals };
    let mut all = heads.into_iter().chain(counters);
    let mut text = table(std::array::from_fn::<_, 13, _>(|_| all.next().unwrap_or_default()), &rows);
    for failure in &reading.failures {
        let _infallible = writeln!(text, "Problem: {}: {}", failure.engine, OneLine(&failure.message));
    }
    text
}

/// The row of a port, with a hyphen for what the engine does not count.
fn row(port: &Port) -> [String; 13] {
    let PortCounters { connected, receive, transmit, .. } = &port.counters;
    let number = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let errors = receive.errors.into_iter().chain(transmit.errors).reduce(u64::saturating_add);
    [
        OneLine(format!("{}/{}", port.namespace, port.pod)).to_string(),
        port.interface.clone(),
        port.network.clone(),
        port.engine.traits().api_name.to_owned(),
        port.port_type.clone(),
        if *connected { "yes" } else { "no" }.to_owned(),
        number(receive.packets),
        number(receive.bytes),
        number(receive.dropped),
        number(transmit.packets),
        number(transmit.bytes),
        number(transmit.dropped),
        number(errors),
    ]
}

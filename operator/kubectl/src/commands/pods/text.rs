//! The pods of a network as text.

use super::report::{Attached, Program, Report, Waiting, interface_text};
use crate::commands::shared::{age_at, unread_text};
use crate::output::{count, line, table};
use std::fmt::Write;

pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    if report.interfaces.is_empty() {
        let _ = writeln!(text, "No pod has an interface on network {}.", report.network);
    } else if report.interfaces.iter().any(|attached| attached.port.is_some()) {
        let row = |attached: &Attached| {
            let [pod, interface, node, program, addresses, mac, since] = row(report, attached);
            let port = attached.port.clone().unwrap_or_default();
            let socket = attached.socket.clone().unwrap_or_else(|| "-".to_owned());
            [pod, interface, node, program, addresses, mac, port, socket, since]
        };
        let rows: Vec<_> = report.interfaces.iter().map(row).collect();
        let heads = ["POD", "INTERFACE", "NODE", "PROGRAM", "ADDRESSES", "MAC", "PORT", "SOCKET", "SINCE"];
        text.push_str(&table(heads, &rows));
    } else {
        let rows: Vec<_> = report.interfaces.iter().map(|attached| row(report, attached)).collect();
        text.push_str(&table(["POD", "INTERFACE", "NODE", "PROGRAM", "ADDRESSES", "MAC", "SINCE"], &rows));
    }
    if report.unnamed > 0 {
        let _ = writeln!(text, "not listed: {}", interfaces(report.unnamed));
    }
    waiting(&mut text, &report.waiting);
    text + &unread_text(&report.not_read)
}

fn interfaces(number: i64) -> String {
    count(usize::try_from(number).unwrap_or_default(), "interface")
}

fn row(report: &Report, attached: &Attached) -> [String; 7] {
    let program = match attached.program {
        Program::Connected => "connected",
        Program::NotConnected => "not connected",
        Program::Failed => "failed",
        Program::NotNeeded => "-",
        Program::Unknown => "unknown",
    };
    [
        line(&attached.pod),
        line(&interface_text(&attached.interface, attached.source.as_deref())),
        line(&attached.node),
        program.to_owned(),
        line(&attached.addresses.join(",")),
        line(&attached.mac),
        age_at(report.now, attached.since),
    ]
}

fn waiting(text: &mut String, waiting: &[Waiting]) {
    let Some(first) = waiting.first() else { return };
    let row = |waiting: &Waiting| {
        let node = waiting.node.as_deref().unwrap_or("-");
        let interface = interface_text(&waiting.interface, waiting.source.as_deref());
        [&waiting.pod, &interface, node, &waiting.state].map(line)
    };
    let rows: Vec<_> = waiting.iter().map(row).collect();
    let _ = write!(text, "\nWAITING FOR THE NETWORK\n{}", table(["POD", "INTERFACE", "NODE", "STATE"], &rows));
    let _ = writeln!(text, "Why: kubectl usnet explain pod {}", line(&first.pod));
}

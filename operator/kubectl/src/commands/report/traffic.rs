//! The part of the page with the counters of ports, which a user can sort.

use crate::commands::top::{NodePort, Report};
use crate::html::{Section, escape};
use crate::output::{count, units};
use std::fmt::Write;
use usnet_node_output::ports::Port;
use usnet_planner::model::port_counters::{PortCounters, Traffic};

/// The maximum number of ports on the page, the busiest: a browser shows no longer table quickly.
const PORTS_MAX: usize = 5000;

pub(super) fn section(report: &Report) -> Section {
    let note = match report.interval_seconds {
        Some(seconds) => format!("{}, per second over {seconds} s", count(report.ports.len(), "interface")),
        None => format!("{}, totals since each port was created", count(report.ports.len(), "interface")),
    };
    if report.ports.is_empty() {
        let html = "<p class=\"soft\">No interface was read.</p>\n".to_owned();
        return Section { title: "Traffic", note, html };
    }
    let mut html = "<div class=\"scroll\"><table class=\"searched\" id=\"ports\">\n<thead><tr>".to_owned();
    let unit = if report.interval_seconds.is_some() { "/s" } else { "" };
    html.push_str(
        "<td colspan=\"5\"></td><th colspan=\"3\" class=\"group\">Received by the pod</th>\
         <th colspan=\"3\" class=\"group\">Sent by the pod</th></tr>\n<tr>",
    );
    for head in ["Pod", "Interface", "Network", "Node", "Connected"] {
        let _ = write!(html, "<th><button type=\"button\">{head}</button></th>");
    }
    for head in ["Packets", "Bytes", "Dropped", "Packets", "Bytes", "Dropped"] {
        let _ = write!(html, "<th class=\"number\"><button type=\"button\">{head}{unit}</button></th>");
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for port in report.ports.iter().take(PORTS_MAX) {
        row(&mut html, port);
    }
    html.push_str("</tbody></table></div>\n");
    if report.ports.len() > PORTS_MAX {
        let _ = writeln!(html, "<p class=\"soft\">The {PORTS_MAX} with the most packets; all: kubectl usnet top</p>");
    }
    html.push_str(
        "<p class=\"soft\">A hyphen is what the engine does not count. A click on a head sorts the table.</p>\n",
    );
    Section { title: "Traffic", note, html }
}

fn row(html: &mut String, NodePort { node, port }: &NodePort) {
    let Port { namespace, pod, interface, network, counters, .. } = port;
    let PortCounters { connected, receive, transmit, .. } = counters;
    let connected = if *connected { "<td>yes</td>" } else { "<td class=\"bad-text\">no</td>" };
    let _ = write!(
        html,
        "<tr><td class=\"name\">{}/{}</td><td class=\"name\">{}</td><td class=\"name\">{}</td>\
         <td class=\"name\">{}</td>{connected}",
        escape(namespace),
        escape(pod),
        escape(interface),
        escape(network),
        escape(node)
    );
    for Traffic { packets, bytes, dropped, .. } in [receive, transmit] {
        number(html, *packets, false);
        number(html, *bytes, false);
        number(html, *dropped, true);
    }
    html.push_str("</tr>\n");
}

fn number(html: &mut String, value: Option<u64>, is_problem: bool) {
    let Some(value) = value else {
        html.push_str("<td class=\"number soft\">-</td>");
        return;
    };
    let class = if is_problem && value > 0 { "number bad-text" } else { "number" };
    let _ = write!(html, "<td class=\"{class}\" data-v=\"{value}\">{}</td>", units::counted(value));
}

//! The versions as text.

use super::report::{Program, Report};
use crate::commands::shared::{join_first, unread_text};
use crate::output::{count, line, table};

const UNKNOWN: &str = "unknown";
/// The maximum number of nodes that are named; JSON has all.
const NODES_MAX: usize = 5;

pub(super) fn text(report: &Report) -> String {
    let program = |name: &str, found: &Program| {
        let version = found.build.as_ref().map_or_else(|| UNKNOWN.to_owned(), ToString::to_string);
        let nodes = join_first(&found.nodes, NODES_MAX);
        [name.to_owned(), line(&version), count(found.pods, "pod"), nodes, line(&found.image)]
    };
    let of_nodes = |name: String, version: &str, nodes: &[String]| {
        [name, line(version), count(nodes.len(), "node"), join_first(nodes, NODES_MAX), String::new()]
    };
    let alone = |name: &str, version: String| [name.to_owned(), version, String::new(), String::new(), String::new()];
    let kubernetes = &report.kubernetes;
    let mut rows = vec![alone("client", report.client.to_string())];
    rows.extend(report.controllers.iter().map(|found| program("controller", found)));
    rows.extend(report.agents.iter().map(|found| program("agent", found)));
    let engines = report.engines.iter();
    rows.extend(engines.map(|found| of_nodes(found.engine.to_string(), &found.version, &found.nodes)));
    rows.push(alone("Kubernetes", line(kubernetes.api_server.as_deref().unwrap_or(UNKNOWN))));
    let kubelets = kubernetes.kubelets.iter();
    rows.extend(kubelets.map(|(version, nodes)| of_nodes("kubelet".to_owned(), version, nodes)));
    let mut text = table(["PROGRAM", "VERSION", "NUMBER", "NODES", "IMAGE"], &rows);
    for (index, skew) in report.skew.iter().enumerate() {
        text.push_str(if index == 0 { "\nThe versions differ\n  " } else { "  " });
        text.push_str(&line(skew));
        text.push('\n');
    }
    text + &unread_text(&report.not_read)
}

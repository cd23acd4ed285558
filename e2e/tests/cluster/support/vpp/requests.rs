//! The requests that VPP received, by its trace of the API or the log of the simulator.

use crate::support::cluster::{on_node, try_run};
use crate::support::vpp::is_real;

/// The requests that VPP of a node receives from the start of the observation on.
pub(crate) struct Requests {
    node: &'static str,
    /// The number of lines that the simulator's log had at the start.
    before: usize,
}

/// The messages of the API that change nothing, besides dumps.
const READING: [&str; 6] =
    ["cli_inband", "control_ping", "show_version", "sockclnt_create", "sockclnt_delete", "want_interface_events"];

impl Requests {
    /// Starts the observation.
    pub(crate) fn watch(node: &'static str) -> Self {
        if is_real() {
            on_node(node, &["vppctl", "api", "trace", "on"]);
        }
        Self { node, before: if is_real() { 0 } else { simulator_log(node).lines().count() } }
    }

    /// Returns the names of all requests, and of those that change something.
    pub(crate) fn all_and_changing(&self) -> (Vec<String>, Vec<String>) {
        if is_real() {
            let observed = on_node(self.node, &["vppctl", "api", "trace", "dump"]);
            let names = observed.lines().filter_map(|line| line.trim().strip_prefix("vl_api_")?.split_once("_t:"));
            let names: Vec<String> = names.map(|(name, _)| name.to_owned()).collect();
            let changing = names.iter().filter(|name| !READING.contains(&name.as_str()) && !name.ends_with("_dump"));
            let changing = changing.cloned().collect();
            return (names, changing);
        }
        let log = simulator_log(self.node);
        let lines: Vec<String> = log.lines().skip(self.before).map(ToOwned::to_owned).collect();
        let changing = lines.iter().filter(|line| line.starts_with("changes ")).cloned().collect();
        (lines, changing)
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if is_real() {
            let _failed = try_run("on-node", &[self.node, "vppctl", "api", "trace", "off"], "");
        }
    }
}

fn simulator_log(node: &str) -> String {
    on_node(node, &["cat", "/run/vpp/messages.log"])
}

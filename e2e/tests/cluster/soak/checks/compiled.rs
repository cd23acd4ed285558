//! Checks in the engines of a node that they have what its agent selected.

use crate::support::cluster::{check, on_node};
use crate::support::node_file::NodeFile;
use crate::support::vpp::process;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::BlockingDriver as _;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::plan::diff;
use usnet_dataplane::vpp::Vpp;

const LIMIT: Duration = Duration::from_secs(10);

/// The engines of a node have what its agent selected, as the plan sees it: nothing is left to do.
pub(crate) fn engines_have_what_was_selected(node: &str, file: &NodeFile) -> Result<(), String> {
    let networks = &file.networks;
    let records = records(node)?;
    for engine in EngineKind::ALL {
        let observed = observe(node, engine)?;
        let of_engine = networks.iter().filter(|network| network.engine == engine).cloned();
        let of_records = records.iter().filter(|record| record.engine == engine);
        let left = diff(&Desired::new(of_engine, of_records), &observed);
        check(left.is_empty(), format!("{engine} on {node}: left to do: {left:?}"))?;
    }
    let files = on_node(node, &["ls", "/run/usnet/networks"]);
    let files: BTreeSet<&str> = files.split_whitespace().filter_map(|file| file.strip_suffix(".json")).collect();
    let selected: BTreeSet<&str> = networks.iter().map(|network| network.name.as_str()).collect();
    // For a network whose bridge another one has there may be a file that says so.
    let known: BTreeSet<&str> = file.names().collect();
    let is_right = files.is_superset(&selected) && files.is_subset(&known);
    check(is_right, format!("{node} has files of {files:?}, selected {selected:?}, and knows {known:?}"))
}

fn observe(node: &str, engine: EngineKind) -> Result<Observed, String> {
    let socket = roots(node).engine_socket(engine);
    let observed = match engine {
        EngineKind::OpenVswitch => {
            let client = usnet_ovsdb::blocking::Client::connect(socket, LIMIT).map_err(text)?;
            OpenVswitch::new(client).observe()
        }
        EngineKind::Vpp => {
            let client = usnet_vpp::blocking::Client::connect(socket, LIMIT).map_err(text)?;
            Vpp::new(client, MemifSocketIds::default()).observe()
        }
    };
    observed.map_err(text)
}

/// The attachments of a node.
pub(crate) fn records(node: &str) -> Result<Vec<Record>, String> {
    let all = Journal::open(&roots(node)).and_then(|journal| journal.records()).map_err(text)?;
    check(all.unreadable.is_empty(), format!("{:?}", all.unreadable))?;
    Ok(all.records)
}

/// Returns the path of a node's files as seen from outside.
fn roots(node: &str) -> NodePaths {
    NodePaths::below(&PathBuf::from(format!("/proc/{}/root", process(node))))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

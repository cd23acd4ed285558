//! What host-local adds to ADD and DEL: the plugin calls it as a program of its own.

use super::calls::{Taken, turn};
use super::rounds;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::node::Node;
use crate::host::programs::{Programs, timed, tool};
use crate::report::table;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::NamedTempFile;

pub(crate) fn run(programs: &Programs, node: &Node, kind: &PortKind) {
    let Some(host_local) = tool("host-local") else {
        return eprintln!("no host-local in USNET_TOOLS: the table of addresses is left out");
    };
    eprintln!("{}: addresses", node.name);
    let ipam = json!({"type": "host-local", "dataDir": node.roots.state.join("addresses"),
                      "ranges": [[{"subnet": "10.56.0.0/16"}]]});
    let plugin = Plugin::new(programs, node, None);
    let file = NamedTempFile::new().expect("a file");
    let text = json!({"cniVersion": "1.1.0", "name": "alone", "type": "userspace", "ipam": ipam});
    fs::write(file.path(), text.to_string()).expect("the configuration");
    let (mut with, mut without, mut alone) = (Taken::default(), Taken::default(), Taken::default());
    for round in 0..=rounds(1) {
        node.program_with(&kind.port, Some(ipam.clone()));
        let one = turn(node, &plugin, 1);
        node.program(&kind.port);
        let other = turn(node, &plugin, 1);
        let add = call(&host_local, "ADD", &file);
        let program = Taken { add: vec![add], del: vec![call(&host_local, "DEL", &file)] };
        // The first round fills caches.
        if round > 0 {
            with.extend(one);
            without.extend(other);
            alone.extend(program);
        }
    }
    plugin.print_failures(&node.name);
    let row = |verb: &str, with: &[Duration], without: &[Duration], alone: &[Duration]| {
        vec![verb.to_owned(), table::p50(with), table::p50(without), table::p50(alone)]
    };
    let rows = [row("ADD", &with.add, &without.add, &alone.add), row("DEL", &with.del, &without.del, &alone.del)];
    let heading = format!("{}: {} with host-local, p50 in ms", node.name, kind.name);
    table::print(&heading, &["call", "with host-local", "without IPAM", "host-local alone"], &rows);
}

fn call(program: &Path, verb: &str, configuration: &NamedTempFile) -> Duration {
    let mut command = Command::new(program);
    command.env("CNI_COMMAND", verb).env("CNI_CONTAINERID", "alone").env("CNI_IFNAME", "net1");
    command.env("CNI_NETNS", "/nonexistent").env("CNI_PATH", "/nonexistent");
    timed(command.stdin(configuration.reopen().expect("the configuration"))).0
}

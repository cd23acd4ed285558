//! VPP on a node: the real program without huge pages and devices, or the simulator of its binary
//! API.

use std::env;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use usnet_test_vpp::{PROGRAM_VARIABLE, Simulator, plugin_folder};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::ShowVersion;
use usnet_vpp::{Batch, ReplyError};

use crate::engines::vpp_program::VppProgram;
use crate::host::component::{Component, ComponentName};
use crate::nodes::node::{Node, NodeError};
use crate::testbed::folder::TestbedFolder;

/// The hidden subcommand of [`simulate`].
pub const SIMULATOR_ROLE: &str = "internal-vpp-simulator";

/// The folder in which `vppctl`, the agent and the plugin expect the sockets.
const FOLDER: &str = "/run/vpp";
const SOCKET: &str = "/run/vpp/api.sock";
const CONFIGURATION: &str = "/etc/vpp/startup.conf";
const LOGS: &str = "/var/log/vpp";

/// The sleep between two iterations of the main loop, in microseconds. An idle VPP then uses a
/// twelfth of a CPU; without it, a VPP with a port would use a whole CPU.
const SLEEP_US: u32 = 200;

/// The time limit of one request.
const LIMIT: Duration = Duration::from_secs(2);

/// Why VPP could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum VppError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("cannot find the simulator")]
    ThisProgram(#[source] std::io::Error),
    #[error(transparent)]
    Api(#[from] usnet_vpp::Error),
    #[error("VPP on {node} does not report its version")]
    Version {
        node: String,
        #[source]
        source: ReplyError,
    },
}

/// Describes the VPP of a node for the user.
pub fn describe(program: &VppProgram, node: &Node) -> Result<String, VppError> {
    Ok(match program {
        VppProgram::Real(_) => format!("VPP: real, vpp {}", version(node)?),
        VppProgram::Simulator => format!("VPP: simulator (no vpp by {PROGRAM_VARIABLE} or on PATH)"),
    })
}

/// Writes the configuration of VPP and describes the program.
pub fn prepare(folder: &TestbedFolder, node: &Node, program: &VppProgram) -> Result<Arc<Component>, VppError> {
    for path in [FOLDER, LOGS] {
        fs::create_dir_all(node.path(path)).map_err(|source| node.not_written(path, source))?;
    }
    let (program, arguments) = match program {
        VppProgram::Real(program) => {
            node.write(CONFIGURATION, &configuration(program))?;
            (program.clone(), ["-c", CONFIGURATION])
        }
        VppProgram::Simulator => (env::current_exe().map_err(VppError::ThisProgram)?, [SIMULATOR_ROLE, FOLDER]),
    };
    let launch = node.launcher(&program.to_string_lossy(), arguments.map(str::to_owned).to_vec());
    let socket = node.path(SOCKET);
    let is_ready = move || Client::connect(&socket, LIMIT).is_ok();
    Ok(Arc::new(Component::new(ComponentName::on(node.name(), "vpp"), &folder.logs(), launch, is_ready)))
}

/// Runs the simulator until the process is killed.
pub fn simulate(folder: &Path) -> Result<u8, usnet_test_vpp::Error> {
    Simulator::start(folder, &[])?.wait();
    Ok(1)
}

fn version(node: &Node) -> Result<String, VppError> {
    let mut batch = Batch::new();
    let version = batch.request(ShowVersion {});
    let replies = Client::connect(node.path(SOCKET), LIMIT)?.send(&batch)?;
    let reply = replies.reply(version).map_err(|source| VppError::Version { node: node.name().to_owned(), source })?;
    Ok(reply.version.into_string())
}

/// Returns a configuration with pages of 4 KiB, with which VPP neither needs huge pages nor raises
/// their number on the machine.
#[must_use]
pub fn configuration(program: &Path) -> String {
    let plugins = plugin_folder(program).map(|path| format!("path {} ", path.display())).unwrap_or_default();
    format!(
        "unix {{\n  \
           nodaemon nosyslog nobanner nocolor\n  \
           runtime-dir {FOLDER} cli-listen {FOLDER}/cli.sock log {LOGS}/cli.log poll-sleep-usec {SLEEP_US}\n\
         }}\n\
         memory {{ main-heap-size 256M main-heap-page-size 4k }}\n\
         buffers {{ page-size 4k buffers-per-numa 16384 }}\n\
         socksvr {{ socket-name {SOCKET} }}\n\
         statseg {{ socket-name {FOLDER}/stats.sock size 32M page-size 4k per-node-counters off }}\n\
         plugins {{ {plugins}plugin default {{ disable }} plugin memif_plugin.so {{ enable }} \
         plugin vhost_plugin.so {{ enable }} plugin af_packet_plugin.so {{ enable }} \
         plugin vxlan_plugin.so {{ enable }} plugin tap_plugin.so {{ enable }} \
         plugin policer_plugin.so {{ enable }} plugin acl_plugin.so {{ enable }} \
          plugin ping_plugin.so {{ enable }} }}\n"
    )
}

//! `usnet agent` on nodes without machines: each has folders of its own and a simulated VPP, which
//! is a thread of this process.

use crate::api_server::ApiServer;
use crate::cluster::controllers::program;
use crate::cluster::kubeconfig::write_kubeconfig;
use kube::api::ListParams;
use kube::{Api, Client};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use usnet_crds::UserspaceNodeState;
use usnet_crds::node_selection::resource_version;
use usnet_test_vpp::Simulator;

const POLL: Duration = Duration::from_millis(200);
const LIMIT: Duration = Duration::from_secs(300);

/// The folders of a node that the agent would not share with another, by the variable that names
/// them.
const FOLDERS: [(&str, &str); 5] = [
    ("USNET_RUN_DIR", "run"),
    ("USNET_STATE_DIR", "state"),
    ("USNET_KUBELET_DIR", "kubelet"),
    ("USNET_DEVICE_INFO_DIR", "devinfo"),
    ("USNET_OLDER_PLUGIN_ROOT", "root"),
];

/// Running agents; dropping them ends them.
pub(crate) struct RealAgents {
    children: Vec<Child>,
    // They outlive the agents.
    _engines: Vec<Simulator>,
}

impl RealAgents {
    /// Starts an agent and a VPP for each of these nodes.
    pub(crate) fn start(server: &ApiServer, tokens: &[(String, String)]) -> Self {
        let (children, engines) = tokens.iter().map(|(node, token)| start(server, node, token)).unzip();
        Self { children, _engines: engines }
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    /// Waits until every agent has reported this resourceVersion; says whether it came to that.
    pub(crate) async fn wait_for(&self, version: u64, admin: &Client) -> bool {
        let api: Api<UserspaceNodeState> = Api::all(admin.clone());
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            let states = api.list(&ListParams::default()).await.expect("node states are listed").items;
            let reported = |state: &UserspaceNodeState| {
                let status = state.status.as_ref().and_then(|status| status.programmed_through.as_deref());
                resource_version(status) >= version
            };
            if states.iter().all(reported) {
                return true;
            }
            tokio::time::sleep(POLL).await;
        }
        false
    }
}

impl Drop for RealAgents {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start(server: &ApiServer, node: &str, token: &str) -> (Child, Simulator) {
    let root = server.folder.path().join(node);
    let vpp = root.join("vpp");
    fs::create_dir_all(&vpp).expect("a folder");
    let engine = Simulator::start(&vpp, &[]).expect("a simulated VPP");
    let mut command = Command::new(program());
    command.arg("agent").env("NODE_NAME", node).env("KUBECONFIG", write_kubeconfig(server, node, token));
    for (variable, folder) in FOLDERS {
        command.env(variable, folder_in(&root, folder));
    }
    command.env("USNET_OVS_SOCKET", root.join("no-open-vswitch.sock")).env("USNET_VPP_SOCKET", engine.socket());
    let log = File::create(root.join("agent.log")).expect("a log");
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
    (command.spawn().expect("the agent starts"), engine)
}

fn folder_in(root: &Path, name: &str) -> std::path::PathBuf {
    let folder = root.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

//! The agent, told by us what the API server would tell it.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;
use usnet_agent::Agent;
use usnet_agent::model::spec::NodeSpec;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;
use usnet_test_vpp::Vpp;

const PATIENCE: Duration = Duration::from_secs(120);

/// An agent on a thread of its own. It ends with this program.
pub(crate) struct RunningAgent {
    pub(crate) roots: NodePaths,
    specs: watch::Sender<Option<Arc<NodeSpec>>>,
    revision: u64,
    _folders: [TempDir; 2],
}

/// The folders of a node with this VPP.
pub(crate) fn roots(vpp: &Vpp) -> ([TempDir; 2], NodePaths) {
    let (folders, roots) = folders();
    (folders, roots.with_socket(EngineKind::Vpp, vpp.socket()))
}

/// The folders of a node. As on a node, only what has to outlive a reboot is on a disk.
pub(crate) fn folders() -> ([TempDir; 2], NodePaths) {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let roots = NodePaths { run: memory.path().join("run"), ..NodePaths::below(folder.path()) };
    ([folder, memory], roots)
}

impl RunningAgent {
    pub(crate) fn start((folders, roots): ([TempDir; 2], NodePaths)) -> Self {
        let (specs, specs_of_agent) = watch::channel(None);
        let (reports, _) = watch::channel(None);
        let roots_of_agent = roots.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let ids = MemifSocketIds::default();
                let agent = Agent::new(&roots_of_agent, ids, specs_of_agent, reports).expect("an agent");
                agent.run().await.expect("the agent runs")
            })
        });
        Self { roots, specs, revision: 0, _folders: folders }
    }

    /// As the agent's own watch: what it was told before is shared and not copied. Returns when it
    /// was told.
    pub(crate) fn tell(&mut self, networks: &[NodeNetwork]) -> Instant {
        self.revision += 1;
        let last = self.specs.borrow().clone().unwrap_or_default();
        let share = |network: &NodeNetwork| match last.network(&network.name) {
            Some(known) if **known == *network => Arc::clone(known),
            _ => Arc::new(network.clone()),
        };
        let mut networks: Vec<_> = networks.iter().map(share).collect();
        networks.sort_by(|one, two| one.name.cmp(&two.name));
        let version = |network: &NodeNetwork| last.versions.get(&network.name).copied().unwrap_or(self.revision);
        let versions = networks.iter().map(|network| (network.name.clone(), version(network))).collect();
        let (revision, through, refused) = (self.revision, self.revision, Vec::new());
        let uplinks = last.uplinks.clone();
        let spec = NodeSpec { revision, generation: 1, through, networks, uplinks, versions, refused };
        let told = Instant::now();
        self.specs.send_replace(Some(Arc::new(spec)));
        told
    }

    /// Waits until pods may attach to all of these, or may not, and returns when the last one was
    /// waited for: reading a thousand files takes milliseconds, and is not the agent's time. It
    /// mostly writes the last one in alphabetical order last.
    pub(crate) fn wait(&self, networks: &[NodeNetwork], are_programmed: bool) -> Instant {
        let mut names: Vec<_> = networks.iter().map(|network| &network.name).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        let mut done = Instant::now();
        let end = done + PATIENCE;
        for name in names {
            let path = self.roots.networks().join(format!("{name}.json"));
            let is_programmed = || fs::read(&path).is_ok_and(|text| contains(&text, b"\"Programmed\""));
            while is_programmed() != are_programmed {
                assert!(Instant::now() < end, "{name} is not as it should be");
                thread::sleep(Duration::from_micros(200));
                done = Instant::now();
            }
        }
        done
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

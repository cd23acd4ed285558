//! Has pods leave checksums and the splitting of packets to Open vSwitch where that finishes them
//! (IO): between two kernel pods TCP is then several times as fast.
//!
//! A veth pair is created with both ends completing what they send. In each pass
//!
//! 1. the network files say which attachments may leave it to the switch: the agent allows it where
//!    the switch is configured for it and all ports of the bridge can;
//! 2. the kernel says of which devices the running switch takes unfinished packets: it reads its
//!    configuration only when it starts;
//! 3. [`follow_checksums`] sets the offload of both ends by that.
//!
//! What no longer may be left to the switch is taken back as soon as the agent has written so,
//! before the switch starts without it: until then the kernels of the receiving pods would drop
//! what has no checksum. A process that is not in the node's network sees no devices, and sets
//! nothing.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, NetworkName};
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::netlink::{NetlinkError, PacketSockets};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::network_namespace::{Presence, presence};
use usnet_dataplane::paths::NodePaths;
use usnet_plugin::attachment::interface::{Permission, follow_checksums};
use usnet_plugin::attachment::node::Node;

/// How often the folders of networks and attachments are looked at. A look takes microseconds; it
/// is what TCP of a new pod waits for to be fast.
const LOOK: Duration = Duration::from_millis(200);
/// After what time there is a pass if neither changed: a switch may have started again.
const INTERVAL: Duration = Duration::from_secs(5);

/// What was seen of one node.
#[derive(Debug)]
pub struct Follower {
    node: Node,
    folders: [PathBuf; 2],
    /// Whether a pass is needed although no network allows anything: something may be left.
    is_in_use: bool,
    /// Whether an attachment is being made, whose record is then changed in place.
    is_unsettled: bool,
    /// Why attachments could not be set, to say it once.
    problems: BTreeMap<AttachmentId, String>,
}

impl Follower {
    /// Nothing is read yet.
    pub fn new(paths: &NodePaths) -> Self {
        let folders = [paths.networks(), paths.attachments()];
        let (node, problems) = (Node::open(paths.clone()), BTreeMap::new());
        Self { node, folders, is_in_use: true, is_unsettled: false, problems }
    }

    /// When networks or attachments were last written; none for a folder that does not exist.
    fn changed(&self) -> [Option<SystemTime>; 2] {
        self.folders.each_ref().map(|folder| fs::metadata(folder).and_then(|found| found.modified()).ok())
    }

    /// Makes one pass. What fails is tried again in a later one.
    pub fn pass(&mut self) {
        let permissions = self.permissions();
        let is_granted = permissions.values().any(|permission| *permission == Permission::Granted);
        if !is_granted && !self.is_in_use {
            return;
        }
        // A kernel without this list never says that a switch takes unfinished packets.
        let sockets = PacketSockets::read();
        if matches!(sockets, Err(NetlinkError::Interrupted)) {
            return;
        }
        let sockets = sockets.unwrap_or_default();
        let Ok(records) = self.node.journal.records() else { return };
        let of_switch = records.records.iter().filter(|record| record.engine == EngineKind::OpenVswitch);
        self.is_unsettled = of_switch.clone().any(|record| record.progress == Progress::Attaching);
        let mut problems = BTreeMap::new();
        for record in of_switch.filter(|record| record.progress == Progress::Attached) {
            let permission = permissions.get(&record.network).copied().unwrap_or(Permission::Unknown);
            self.follow(record, permission, &sockets, &mut problems);
        }
        let is_unknown = permissions.values().any(|permission| *permission == Permission::Unknown);
        self.is_in_use = is_granted || !problems.is_empty() || (self.is_in_use && is_unknown);
        self.problems = problems;
    }

    fn follow(
        &self,
        record: &Record,
        permission: Permission,
        sockets: &PacketSockets,
        problems: &mut BTreeMap<AttachmentId, String>,
    ) {
        let id = &record.id;
        match follow_checksums(record, permission, sockets) {
            Ok(None) => {}
            Ok(Some(is_left)) => {
                let whose = if is_left { "the switch" } else { "the pod" };
                tracing::info!(attachment = %id, network = %record.network, "checksums are completed by {whose}");
            }
            Err(_) if presence(record) == Presence::Gone => {}
            Err(error) => {
                let text = ErrorChain(&error).to_string();
                if self.problems.get(id) != Some(&text) {
                    tracing::warn!(attachment = %id, error = text, "cannot set who completes checksums; retrying");
                }
                problems.insert(id.clone(), text);
            }
        }
    }

    /// What the networks of the node allow. One that is not programmed now says nothing.
    fn permissions(&self) -> BTreeMap<NetworkName, Permission> {
        let names = self.node.networks.list().unwrap_or_default();
        let permission = |name: &NetworkName| match self.node.networks.read(name) {
            Ok(Some(NetworkFile::Programmed(network))) if network.checksum_offload => Permission::Granted,
            Ok(Some(NetworkFile::Programmed(_))) => Permission::Refused,
            _ => Permission::Unknown,
        };
        names.into_iter().map(|name| (name.clone(), permission(&name))).collect()
    }
}

/// Makes a pass whenever networks or attachments were written, and periodically, indefinitely.
///
/// # Errors
/// A pass panicked.
pub async fn run(mut follower: Follower) -> Result<Infallible, JoinError> {
    loop {
        let seen = follower.changed();
        let pass = move || {
            follower.pass();
            follower
        };
        follower = spawn_blocking(pass).await?;
        let passed = Instant::now();
        let interval = if follower.is_unsettled { LOOK } else { INTERVAL };
        while follower.changed() == seen && passed.elapsed() < interval {
            sleep(LOOK).await;
        }
        // What is written together is one change.
        sleep(LOOK / 4).await;
    }
}

//! The process of `usnet collect-garbage`.

use super::collector::Collector;
use super::device_mounts;
use crate::checksums::{self, Follower};
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;
use usnet_dataplane::journal;
use usnet_dataplane::paths::NodePaths;

/// Delay between two passes. It adds to the grace period; a pass reads all records of the node,
/// which takes milliseconds.
const INTERVAL: Duration = Duration::from_secs(5);

/// Options of `usnet collect-garbage`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many seconds to keep what belongs to no living pod. The runtime calls DEL within a few
    /// seconds after it has removed the network namespace of a sandbox.
    #[arg(
        long,
        env = "USNET_GARBAGE_GRACE_SECONDS",
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u32).range(1..=86_400)
    )]
    pub grace_seconds: u32,
    /// The folders of IPAM plugins, separated by colons.
    #[arg(long, env = "CNI_PATH", value_name = "FOLDERS", default_value = "/opt/cni/bin")]
    pub plugin_folders: OsString,
}

/// Why the garbage collection ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the folder of attachment records cannot be used: is the node's state folder mounted, and writable?")]
    Journal(#[from] journal::Error),
    #[error("the run folder of usnet cannot be used: is it mounted, and writable?")]
    RunFolder(#[source] io::Error),
    /// A bug in this program.
    #[error("a pass over the records of the node failed; this is a defect of usnet, please report it")]
    Pass(#[from] JoinError),
}

/// Collects garbage, and mounts file systems of devices, until it is dropped.
pub async fn run(options: Options) -> Result<Infallible, Error> {
    let paths = NodePaths::from_environment();
    let grace = Duration::from_secs(options.grace_seconds.into());
    let collector = Collector::new(&paths, options.plugin_folders, grace)?;
    let listener = device_mounts::listen(&paths).map_err(Error::RunFolder)?;
    tracing::info!(grace_seconds = options.grace_seconds, "collecting garbage");
    let follower = Follower::new(&paths);
    let checksums = async { Ok(checksums::run(follower).await?) };
    let mounts = async { Ok(device_mounts::serve(listener, paths).await) };
    tokio::try_join!(collect(collector), mounts, checksums).map(|(never, ..)| never)
}

async fn collect(mut collector: Collector) -> Result<Infallible, Error> {
    loop {
        // A pass runs on a thread of its own: an IPAM plugin may take half a minute.
        let pass = move || {
            collector.pass(Instant::now());
            collector
        };
        collector = spawn_blocking(pass).await?;
        sleep(INTERVAL).await;
    }
}

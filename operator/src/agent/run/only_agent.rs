//! Only one agent works on a node. Two would undo each other's work where their options or releases
//! differ, and both would report the node.

use super::error::Error;
use crate::node::state_file::AgentLock;
use crate::telemetry::access::reviewer::Reviewer;
use crate::telemetry::{ListenOptions, Telemetry};
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use usnet_dataplane::paths::NodePaths;

/// How often the lock is tried: until it is taken, no agent takes care of the node.
const RETRY: Duration = Duration::from_millis(100);

/// How often the only agent tries to listen: an agent that ends releases the lock before its
/// sockets.
const ATTEMPTS: u32 = 20;

/// Serves probes and metrics. In the network of the node the address may be the other agent's as
/// long as that runs, and then it answers the probes.
pub(super) async fn serve(
    telemetry: &Arc<Telemetry>,
    options: ListenOptions,
    reviewer: Option<Arc<dyn Reviewer>>,
    is_only: &Cell<bool>,
) -> Result<Infallible, Error> {
    let mut attempts = 0;
    loop {
        let result = Arc::clone(telemetry).serve(options.clone(), reviewer.clone()).await;
        attempts += u32::from(is_only.get());
        if result.is_ok() || attempts > ATTEMPTS {
            return Ok(result?);
        }
        sleep(RETRY).await;
    }
}

/// Waits until no other agent runs on the node, and says so while it does.
pub(super) async fn wait(paths: &NodePaths, telemetry: &Telemetry) -> Result<AgentLock, Error> {
    let mut waits = false;
    loop {
        if let Some(lock) = AgentLock::acquire(paths).map_err(Error::RunFolder)? {
            if waits {
                tracing::info!("the other agent has ended");
                telemetry.set_problems(Vec::new());
            }
            return Ok(lock);
        }
        if !waits {
            waits = true;
            let problem = "another agent runs on this node; this one waits until it ends. Stop one of the two";
            tracing::warn!("{problem}");
            telemetry.set_problems(vec![problem.to_owned()]);
        }
        sleep(RETRY).await;
    }
}

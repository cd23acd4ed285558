//! Ensures that only one agent works on a node (IO). Two would undo each other's work where their
//! options or releases differ, and both would report the node.

use super::error::Error;
use std::time::Duration;
use tokio::time::sleep;
use usnet_common::telemetry::Telemetry;
use usnet_dataplane::paths::NodePaths;
use usnet_node::state_file::AgentLock;

/// Delay between attempts to take the lock. Until it is taken, no agent works on the node.
const RETRY: Duration = Duration::from_millis(100);

/// Waits until no other agent runs on the node, and reports while it waits.
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

//! The interface between the agent and the function that follows a folder of manifests.

use crate::model::input::Input;
use crate::model::report::Report;
use crate::model::spec::NodeSpec;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender};
use usnet_node::problem::Problem;

/// A folder of manifests for one node, and the channels to and from its agent.
#[derive(Debug)]
pub struct Manifests {
    pub folder: PathBuf,
    pub node: String,
    /// The spec of an earlier agent.
    pub held: Option<Arc<NodeSpec>>,
    /// To the agent: the input of its selection.
    pub inputs: Sender<Option<Input>>,
    /// From the agent: the report of the node.
    pub reports: Receiver<Option<Report>>,
    /// To the state file: the problems of the folder; none before it was read.
    pub problems: Sender<Option<Vec<Problem>>>,
}

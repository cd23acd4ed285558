//! The verbs of the CNI specification, except VERSION, which [`call`](crate::call) answers itself.
//!
//! ADD and DEL run the steps of [`attachment`](crate::attachment). GC detaches what the runtime no
//! longer lists; CHECK and STATUS change nothing. All of them perform IO. [`multi_network`] has the
//! same verbs for several networks in one call, and [`Verbs`] selects between the two.

pub mod add;
pub mod check;
pub mod del;
pub mod gc;
pub(crate) mod history;
mod ipam;
pub mod multi_network;
pub mod status;

use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::Environment;
use crate::verbs::add::AddRequest;
use serde_json::Value;

/// A problem that does not make a call fail, for the runtime's log.
pub type Note = String;

/// The verbs that differ between a configuration that names one network and one by which the pod's
/// annotation selects the networks.
#[derive(Debug, Clone, Copy)]
pub struct Verbs {
    /// ADD opens the node itself: one network's parameters are validated before.
    pub add: fn(&Environment, &Configuration) -> Result<Value, Error>,
    pub del: fn(&Node, &Environment, &Configuration) -> Result<Option<Note>, Error>,
    pub check: fn(&Node, &Environment, &Configuration) -> Result<(), Error>,
    pub status: fn(&Node, &Environment, &Configuration) -> Result<(), Error>,
}

impl Verbs {
    const ONE_NETWORK: Self = Self {
        add: |environment, configuration| AddRequest::parse(environment, configuration)?.run(&Node::from_environment()),
        del: del::del,
        check: check::check,
        status: status::status,
    };
    const SELECTED_NETWORKS: Self = Self {
        add: |environment, configuration| multi_network::add(&Node::from_environment(), environment, configuration),
        del: multi_network::del,
        check: multi_network::check,
        status: |node, _, configuration| multi_network::status(node, configuration),
    };

    /// The verbs for the networks of a configuration.
    pub fn of(configuration: &Configuration) -> Self {
        if configuration.uses_pod_annotations() { Self::SELECTED_NETWORKS } else { Self::ONE_NETWORK }
    }
}

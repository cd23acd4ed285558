//! The node itself in the networks of one engine (IO): a pair of devices for each, which is created
//! before it becomes a port of the engine, and deleted when it is no port any more; and the rules
//! that keep pods from the node, which are there before.

use super::context::LinkContext;
use super::health::LinkHealth;
use super::kernel::{on_thread, with_kernel};
use crate::model::health::NetworkHealth;
use crate::model::spec::EngineSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::message::node_access as message;
use usnet_crds::conditions::reason::{NODE_ACCESS_FAILED, SUBNET_ROUTED};
use usnet_crds::{EngineKind, NetworkName};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::filter::FilterError;
use usnet_dataplane::links::node_access::{
    DesiredNodeAccess, KernelNodeAccess, NodeAccessBlocker, NodeAccessOp, NodeAccesses, ObservedNodeAccess, blockers,
    diff, joinable,
};
use usnet_dataplane::owner::{NetworkDevice, NetworkDeviceRole};
use usnet_dataplane::port::DeviceName;

type Failures = BTreeMap<NetworkName, LinkError>;

#[derive(Debug)]
pub(super) struct EngineNodeAccess {
    engine: EngineKind,
    network_namespace: Option<PathBuf>,
    /// The networks of all engines.
    desired: NodeAccesses,
    /// The last observation; none before the first.
    last: Option<ObservedNodeAccess>,
    /// Why the rules could not be written.
    problem: Option<String>,
}

/// The node's devices after missing ones were created.
#[derive(Debug, Default)]
pub(super) struct PreparedNodeAccess {
    /// The devices that can be ports.
    pub(super) devices: Vec<NetworkDevice>,
    pub(super) health: LinkHealth,
    /// Whether something remains to be done that a later attempt may achieve.
    pub(super) retry: bool,
    /// Deletions, which wait until these devices are no ports of the engine any more.
    deletions: Vec<NodeAccessOp>,
}

impl EngineNodeAccess {
    pub(super) const fn new(engine: EngineKind, network_namespace: Option<PathBuf>) -> Self {
        Self { engine, network_namespace, desired: NodeAccesses::new(), last: None, problem: None }
    }

    /// Whether devices, routes or rules differ from the last observation. Nothing is read where no
    /// network has the node in it.
    pub(super) async fn have_changed(&self) -> bool {
        let Some(last) = self.last.as_ref().filter(|_| self.is_in_use()) else { return false };
        let is_same = self.observe().await.is_ok_and(|observed| observed == *last);
        let is_needed = self.needs_rules(last);
        !is_same || self.problem.is_none() && !self.on_rules(move |kernel| kernel.is(is_needed)).await.unwrap_or(true)
    }

    fn is_in_use(&self) -> bool {
        let is_own = |last: &ObservedNodeAccess| last.ends.values().any(|end| end.owner.engine == self.engine);
        self.desired.values().any(|access| access.engine == self.engine) || self.last.as_ref().is_none_or(is_own)
    }

    fn needs_rules(&self, observed: &ObservedNodeAccess) -> bool {
        !self.desired.is_empty() || !observed.ends.is_empty()
    }

    /// Observes the devices, and creates and changes those of networks. Fails if they cannot be
    /// read and a network needs one.
    pub(super) async fn prepare(
        &mut self,
        spec: &EngineSpec,
        context: LinkContext<'_>,
    ) -> Result<PreparedNodeAccess, LinkError> {
        let of_others = spec.node.networks.iter().filter(|network| network.engine != self.engine);
        let all = of_others.chain(&spec.networks);
        self.desired =
            all.filter_map(|network| Some((network.name.clone(), DesiredNodeAccess::of(network)?))).collect();
        if !self.is_in_use() {
            return Ok(PreparedNodeAccess::default());
        }
        let observed = match self.observe().await {
            Ok(observed) => observed,
            Err(error) if self.desired.is_empty() => {
                tracing::debug!(%error, "cannot look for the node's devices in networks; no network needs one");
                return Ok(PreparedNodeAccess::default());
            }
            Err(error) => return Err(error),
        };
        self.ensure_rules(&observed, context).await;
        let (deletions, changes): (Vec<_>, Vec<_>) =
            diff(self.engine, &self.desired, &observed).into_iter().partition(NodeAccessOp::is_deletion);
        if changes.is_empty() || self.problem.is_some() {
            return Ok(self.conclude(observed, deletions, &Failures::new()));
        }
        let failures = self.apply(changes, context).await?;
        let observed = self.observe().await?;
        Ok(self.conclude(observed, deletions, &failures))
    }

    /// Before a device is set up.
    async fn ensure_rules(&mut self, observed: &ObservedNodeAccess, context: LinkContext<'_>) {
        let is_needed = self.needs_rules(observed);
        let had_rules = self.last.as_ref().is_some_and(|last| self.needs_rules(last) && self.problem.is_none());
        let result = self.on_rules(move |kernel| kernel.ensure(is_needed)).await;
        self.problem = result.as_ref().err().filter(|_| is_needed).map(|error| ErrorChain(error).to_string());
        if result.is_ok_and(|is_changed| is_changed) && is_needed && had_rules {
            tracing::info!("repaired the packet rules that keep pods from connections to this node");
            context.metrics.repair(self.engine);
        }
    }

    fn conclude(
        &mut self,
        observed: ObservedNodeAccess,
        deletions: Vec<NodeAccessOp>,
        failures: &Failures,
    ) -> PreparedNodeAccess {
        let joinable = joinable(self.engine, &self.desired, &observed);
        let blockers = blockers(self.engine, &self.desired, &observed);
        let health = self.health(&joinable, &blockers, failures);
        let retry = !health.is_empty();
        self.last = Some(observed);
        let device = |(network, index)| NetworkDevice { network, role: NetworkDeviceRole::NodeAccess, index };
        PreparedNodeAccess { devices: joinable.into_iter().map(device).collect(), health, retry, deletions }
    }

    fn health(
        &self,
        joinable: &BTreeMap<NetworkName, u32>,
        blockers: &BTreeMap<NetworkName, NodeAccessBlocker>,
        failures: &Failures,
    ) -> LinkHealth {
        let of_engine = self.desired.iter().filter(|(_, access)| access.engine == self.engine);
        let health = |network: &NetworkName| {
            let attachable = joinable.contains_key(network);
            Some(match (blockers.get(network), failures.get(network), &self.problem) {
                (Some(blocker), ..) => of_blocker(blocker),
                (None, Some(error), _) => {
                    let message = message::failed(&DeviceName::of_node_end(network), &ErrorChain(error));
                    NetworkHealth::failed(NODE_ACCESS_FAILED, message)
                }
                (None, None, Some(problem)) => {
                    let failed = NetworkHealth::failed(NODE_ACCESS_FAILED, message::unprotected(problem));
                    NetworkHealth { attachable, ..failed }
                }
                (None, None, None) if attachable => return None,
                (None, None, None) => NetworkHealth::pending(message::PENDING.to_owned()),
            })
        };
        of_engine.filter_map(|(network, _)| Some((network.clone(), health(network)?))).collect()
    }

    /// Deletes the devices that are no ports of the engine any more; `joined` are the indexes of
    /// those that are.
    pub(super) async fn finish(
        &mut self,
        deletions: Vec<NodeAccessOp>,
        joined: &BTreeSet<u32>,
        context: LinkContext<'_>,
    ) -> Result<(), LinkError> {
        let is_free = |operation: &NodeAccessOp| match operation {
            NodeAccessOp::Delete { index, .. } => !joined.contains(index),
            NodeAccessOp::Ensure { .. } => true,
        };
        let due: Vec<_> = deletions.into_iter().filter(is_free).collect();
        if due.is_empty() {
            return Ok(());
        }
        self.apply(due, context).await?;
        let observed = self.observe().await?;
        self.ensure_rules(&observed, context).await;
        self.last = Some(observed);
        Ok(())
    }

    /// Applies operations; returns the failures by network.
    async fn apply(&self, operations: Vec<NodeAccessOp>, context: LinkContext<'_>) -> Result<Failures, LinkError> {
        let results = with_kernel(self.network_namespace.clone(), move |kernel| {
            let result = |operation: NodeAccessOp| (kernel.apply_node_access(&operation), operation);
            Ok(operations.into_iter().map(result).collect::<Vec<_>>())
        });
        let mut failures = Failures::new();
        for (result, operation) in results.await? {
            let network = operation.network();
            match result {
                Ok(()) => {
                    let cause = context.plan.cause_for(network);
                    tracing::info!(%network, op = %operation, %cause, "done");
                }
                Err(error) => drop(failures.insert(network.clone(), error)),
            }
        }
        Ok(failures)
    }

    async fn observe(&self) -> Result<ObservedNodeAccess, LinkError> {
        let desired = self.desired.clone();
        with_kernel(self.network_namespace.clone(), move |kernel| kernel.observe_node_access(&desired)).await
    }

    async fn on_rules<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut KernelNodeAccess) -> Result<T, FilterError> + Send + 'static,
    ) -> Result<T, FilterError> {
        let network_namespace = self.network_namespace.clone();
        let run = move || request(&mut KernelNodeAccess::open(network_namespace.as_deref())?);
        on_thread(run).await.unwrap_or_else(|error| Err(error.into()))
    }
}

impl PreparedNodeAccess {
    /// Takes what waits for the engine.
    pub(super) fn take_deletions(&mut self) -> Vec<NodeAccessOp> {
        std::mem::take(&mut self.deletions)
    }
}

fn of_blocker(blocker: &NodeAccessBlocker) -> NetworkHealth {
    let (reason, message) = match blocker {
        NodeAccessBlocker::MissingPrivilege => (NODE_ACCESS_FAILED, message::MISSING_PRIVILEGE.to_owned()),
        NodeAccessBlocker::SubnetRouted { subnet, route } => {
            (SUBNET_ROUTED, message::subnet_routed(subnet, &route.destination, &route.device))
        }
        NodeAccessBlocker::SubnetOfNetwork { subnet, network } => {
            (SUBNET_ROUTED, message::subnet_of_network(subnet, network))
        }
    };
    NetworkHealth::failed(reason, message)
}

//! Executes the steps. A step that is not possible, because its object exists already or its server
//! is down, is counted and skipped.

use crate::soak::actions::nads::Definitions;
use crate::soak::actions::pods::{Call, Pods};
use crate::soak::actions::{fault_injection, manifests, manual_edits, parts};
use crate::soak::foreign::Foreign;
use crate::soak::steps::names;
use crate::soak::steps::{FIRST_OLD, Step};
use crate::soak::trace::Trace;
use crate::support::cluster::{check, try_apply, try_run};
use std::collections::BTreeMap;
use std::time::Duration;

/// The test bed as far as the steps change it.
pub(crate) struct SoakRun<'scope> {
    pub(crate) pods: Pods<'scope>,
    pub(crate) foreign: Foreign,
    pub(crate) definitions: Definitions,
    /// The number of steps of each kind, and of those that were not possible.
    pub(crate) taken: BTreeMap<&'static str, (usize, usize)>,
    trace: &'scope Trace,
}

impl<'scope> SoakRun<'scope> {
    pub(crate) fn new(pods: Pods<'scope>, trace: &'scope Trace) -> Self {
        let (foreign, definitions, taken) = (Foreign::default(), Definitions::default(), BTreeMap::new());
        Self { pods, foreign, definitions, taken, trace }
    }

    pub(crate) fn take(&mut self, step: Step) {
        let result = self.api_server(step);
        let (taken, impossible) = self.taken.entry(kind(step)).or_default();
        *taken += 1;
        *impossible += usize::from(result.is_err());
        if let Err(error) = result {
            self.trace.note(format!("      not possible: {}", error.lines().last().unwrap_or_default()));
        }
    }

    /// Executes a step of users at the API server.
    fn api_server(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::ApplyNetwork { network, requested } => try_apply(&manifests::network(network, requested)).map(drop),
            Step::DeleteNetwork { network } => delete("usn", &names::network(network)),
            Step::ApplyNamespace { namespace, team } => try_apply(&manifests::namespace(namespace, team)).map(drop),
            Step::DeleteNamespace { namespace } => {
                self.definitions.forget(namespace);
                delete("namespace", &names::namespace(namespace))
            }
            Step::LabelNode { node, zone } => {
                let label = zone.map_or_else(|| "zone-".to_owned(), |zone| format!("zone={zone}"));
                try_run("kubectl", &["label", "node", names::node(node), "--overwrite", &label], "").map(drop)
            }
            Step::AddGhost { ghost, zone } => try_apply(&manifests::ghost(ghost, zone)).map(drop),
            Step::RemoveGhost { ghost } => delete("node", &names::ghost(ghost)),
            Step::AddDefinition(by_hand) => self.definitions.add(by_hand),
            Step::RemoveDefinition(by_hand) => self.definitions.remove(by_hand.namespace, &names::by_hand(by_hand)),
            Step::EditGenerated { namespace, network } => self.definitions.edit_generated(namespace, network),
            Step::DeleteGenerated { namespace, network } => self.definitions.delete_generated(namespace, network),
            Step::DeleteCompiled { network } => manual_edits::delete_compiled(network),
            Step::EditCompiled { network, setting } => manual_edits::edit_compiled(network, setting),
            Step::DeleteState { node } => manual_edits::delete_state(node),
            Step::EditState { node } => manual_edits::edit_state(node),
            Step::ApplyOld { old, is_other } => self.definitions.apply_old(old, is_other),
            Step::DeleteOld { old } => self.definitions.remove(old.namespace, &names::old(old)),
            _ => self.nodes(step),
        }
    }

    /// Executes a step that concerns pods or parts.
    fn nodes(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Attach { pod, namespace, network } => {
                self.add(pod, namespace, network, None);
                Ok(())
            }
            Step::KilledAttach { pod, namespace, network, after } => {
                self.add(pod, namespace, network, Some(Duration::from_millis(after)));
                Ok(())
            }
            Step::Detach { pod } => {
                self.pods.call(pod, Call::Delete);
                Ok(())
            }
            Step::KillAgent { node } => parts::kill_agent(node),
            Step::KillControllers => parts::kill_controllers(),
            Step::KillLeader => parts::kill_leader(),
            Step::DeleteNode { node } => parts::delete_node(node),
            Step::ReturnNode { node } => must(parts::return_node(node)),
            Step::StopEngine { node, part } => {
                self.foreign.forget(node, part);
                must(parts::stop_engine(node, part))
            }
            Step::StartEngine { node, part } => must(parts::start_engine(node, part)),
            Step::StopApiServer => must(parts::api_server("stop")),
            Step::StartApiServer => must(parts::api_server("start")),
            _ => self.engines(step),
        }
    }

    /// Executes a step of the other client in the engines.
    fn engines(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::AddForeignBridge { node, place } => self.foreign.add_bridge(node, place),
            Step::RemoveForeignBridge { node, place } => self.foreign.remove_bridge(node, place),
            Step::AddForeignPort { node, network } => self.foreign.add_port(node, network),
            Step::RemoveForeignPort { node, network } => self.foreign.remove_port(node, network),
            Step::RemoveBridge { node, network } => {
                check(!self.foreign.has_port(node, network), "it is in use")?;
                fault_injection::remove_bridge(node, network)
            }
            Step::RemovePort { node, network, port } => fault_injection::remove_port(node, network, port),
            Step::ChangePort { node, network, port } => fault_injection::change_port(node, network, port),
            Step::ChangeBridge { node, network, setting } => fault_injection::change_bridge(node, network, setting),
            _ => Err("nothing takes this step".to_owned()),
        }
    }

    /// Pods of networks that follow from definitions use such a definition.
    fn add(&self, pod: usize, namespace: usize, network: usize, killed_after: Option<Duration>) {
        let config = match network {
            0..FIRST_OLD => manifests::naming(&names::network(network)),
            _ => manifests::old_config(network, false),
        };
        self.pods.call(pod, Call::Add { namespace, config, killed_after });
    }
}

/// The word before the numbers.
fn kind(step: Step) -> &'static str {
    match step {
        Step::ApplyNetwork { .. } => "apply a network",
        Step::DeleteNetwork { .. } => "delete a network",
        Step::ApplyNamespace { .. } | Step::DeleteNamespace { .. } => "apply or delete a namespace",
        Step::LabelNode { .. } | Step::AddGhost { .. } | Step::RemoveGhost { .. } => "label, add or remove a node",
        Step::DeleteNode { .. } | Step::ReturnNode { .. } => "a node with pods goes and comes back",
        Step::AddDefinition { .. } | Step::RemoveDefinition { .. } => "a definition by hand",
        Step::EditGenerated { .. } | Step::DeleteGenerated { .. } => "edit or delete a generated definition",
        Step::DeleteCompiled { .. } | Step::EditCompiled { .. } => "edit or delete a compiled network",
        Step::DeleteState { .. } | Step::EditState { .. } => "edit or delete the state of a node",
        Step::ApplyOld { .. } | Step::DeleteOld { .. } => "a NAD of the legacy userspace CNI",
        Step::Attach { .. } | Step::KilledAttach { .. } => "attach a pod",
        Step::Detach { .. } => "detach a pod",
        Step::KillAgent { .. } => "kill an agent",
        Step::KillControllers | Step::KillLeader => "kill the leader or all controllers",
        Step::StopEngine { .. } | Step::StartEngine { .. } => "stop or start an engine",
        Step::StopApiServer | Step::StartApiServer => "stop or start the API server",
        Step::AddForeignBridge { .. } | Step::RemoveForeignBridge { .. } => "a foreign bridge",
        Step::AddForeignPort { .. } | Step::RemoveForeignPort { .. } => "a foreign port",
        Step::RemoveBridge { .. } | Step::RemovePort { .. } => "take away what is ours",
        Step::ChangeBridge { .. } | Step::ChangePort { .. } => "change what is ours",
    }
}

/// Checks the requirements on the test bed.
fn must(result: Result<(), String>) -> Result<(), String> {
    result.map_err(|error| panic!("{error}"))
}

fn delete(kind: &str, name: &str) -> Result<(), String> {
    try_run("kubectl", &["delete", "--wait=false", kind, name], "").map(drop)
}

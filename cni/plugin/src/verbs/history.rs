//! Appends each ADD, DEL and GC with its result to the log of calls, from which the agent takes the
//! history of the node. IO. A call does not fail because of it.

use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::configuration::{Configuration, Target};
use crate::protocol::environment::Environment;
use crate::protocol::version::SpecVersion;
use std::time::Instant;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::call_log::{Call, Verb};
use usnet_dataplane::paths::NodePaths;

/// Logs an ADD that succeeded.
pub(super) fn attached(node: &Node, record: &Record, started: Instant) {
    append(&node.paths, call(Verb::Add, record, None), started);
}

/// Logs a DEL or GC of an attachment, successful or not.
pub(super) fn detached<T>(node: &Node, verb: Verb, record: &Record, result: &Result<T, Error>, started: Instant) {
    append(&node.paths, call(verb, record, result.as_ref().err()), started);
}

/// Logs an ADD that failed.
pub(crate) fn add_failed(environment: &Environment, configuration: &Configuration, error: &Error, started: Instant) {
    let pod = environment.arguments().map(|arguments| arguments.pod().ok());
    let id = environment.attachment().ok();
    let network = match configuration.target() {
        Ok(Target::Network(network)) => Some(network.to_string()),
        Ok(Target::Bridge(bridge)) => Some(bridge.network_name().to_string()),
        Err(_) => None,
    };
    let call = Call {
        time: 0,
        verb: Verb::Add,
        pod: pod.ok().flatten().map(|pod| pod.to_string()).unwrap_or_default(),
        container: id.as_ref().map(|id| id.container.to_string()).unwrap_or_default(),
        interface: id.as_ref().map(|id| id.interface.to_string()).unwrap_or_default(),
        network,
        milliseconds: 0,
        code: error.code(),
        error: Some(text(error)),
    };
    append(&NodePaths::from_environment(), call, started);
}

fn call(verb: Verb, record: &Record, error: Option<&Error>) -> Call {
    Call {
        time: 0,
        verb,
        pod: record.pod.to_string(),
        container: record.id.container.to_string(),
        interface: record.id.interface.to_string(),
        network: Some(record.network.to_string()),
        milliseconds: 0,
        code: error.map_or(0, Error::code),
        error: error.map(text),
    }
}

/// The error as the runtime gets it.
fn text(error: &Error) -> String {
    let reply = error.reply(SpecVersion::LATEST);
    if reply.details.is_empty() { reply.msg } else { format!("{}: {}", reply.msg, reply.details) }
}

fn append(paths: &NodePaths, call: Call, started: Instant) {
    let _written = call.ended_after(started.elapsed()).append(paths);
}

//! ADD: detaches what an earlier call left, runs the steps and makes the result. IO.

use super::request::AddRequest;
use crate::attachment::attach::PreparedAttachment;
use crate::attachment::detach::Detachment;
use crate::attachment::interface;
use crate::attachment::node::Node;
use crate::attachment::port::check_socket_conflict;
use crate::attachment::server_socket;
use crate::error::Error;
use crate::protocol::result::{Assignment, HostDevice, Interface, result, without_default_routes};
use crate::protocol::version::SpecVersion;
use crate::verbs::history;
use serde_json::Value;
use usnet_dataplane::attachment::{Progress, Record};

#[derive(Debug)]
pub struct Attached {
    pub record: Record,
    pub assignment: Assignment,
    /// Whether an earlier ADD attached the interface, and this one has changed nothing.
    pub is_repeated: bool,
}

impl AddRequest<'_> {
    /// Attaches the interface, and returns the result of ADD.
    ///
    /// # Errors
    /// The interface cannot be attached. Everything is rolled back then, or a record stays from
    /// which it is cleaned up.
    pub fn run(&self, node: &Node) -> Result<Value, Error> {
        let attached = self.attach(node, self.prepare(node)?)?;
        self.write_history(node, &attached);
        Ok(self.result(&attached, self.previous))
    }

    /// Logs the ADD. The caller must not roll it back afterwards.
    pub fn write_history(&self, node: &Node, attached: &Attached) {
        if !attached.is_repeated {
            history::attached(node, &attached.record, self.started);
        }
    }

    /// Attaches a prepared interface. Its errors are those of [`run`](Self::run).
    pub fn attach(&self, node: &Node, prepared: PreparedAttachment) -> Result<Attached, Error> {
        self.detach_previous_sandbox(node, &prepared.record)?;
        let locked = node.journal.lock(&self.id)?;
        match locked.read()? {
            Some(record) if record.progress == Progress::Attached => return self.repeat(node, &prepared, record),
            // The partial attachment of a killed call is rolled back, and ADD starts from the
            // beginning.
            Some(record) => {
                detach(Detachment::new(node, self.environment, &locked, record).waiting_for_engine())?;
            }
            None => {}
        }
        let (record, assignment) = prepared.start(node, self.environment, &locked).run()?;
        Ok(Attached { record, assignment, is_repeated: false })
    }

    /// The result of ADD, appended to `previous`, the result of the plugins before this one.
    pub fn result(&self, attached: &Attached, previous: Option<&Value>) -> Value {
        self.result_in(self.version, attached, previous)
    }

    /// The result in another version of the specification than the caller's.
    pub(super) fn result_in(&self, version: SpecVersion, attached: &Attached, previous: Option<&Value>) -> Value {
        let Attached { record, assignment, .. } = attached;
        let socket = server_socket::path_on_node(record);
        let interface = Interface {
            name: self.id.interface.as_str(),
            mac: &record.mac,
            mtu: record.port.settings.mtu.get(),
            sandbox: &self.network_namespace,
            socket: socket.as_deref(),
            device: record
                .port
                .backend
                .device()
                .map(|device| HostDevice { name: device.as_str(), mac: interface::device_mac(&record.id) }),
        };
        // A pod's routing table has one default route per family.
        let replaced = if record.port.backend.is_of_kernel() { self.pod_request.default_route.as_slice() } else { &[] };
        let previous = previous.map(|previous| without_default_routes(previous, replaced));
        result(version, interface, assignment, previous.as_ref())
    }

    /// Detaches the interface of a previous sandbox: kubelet may start a new one before DEL of the
    /// previous one, and both would use the same socket. A socket that another interface uses is a
    /// conflict.
    fn detach_previous_sandbox(&self, node: &Node, record: &Record) -> Result<(), Error> {
        let others = node.other_attachments(&self.pod.uid, &self.id)?;
        check_socket_conflict(record, &others.known)?;
        for previous in others.known.iter().filter(|other| other.id.interface == self.id.interface) {
            // An interface of a resource claim stays, however many sandboxes the pod has.
            if [&previous.id, &self.id].iter().any(|id| id.container.claim().is_some()) {
                return Err(Error::AlreadyAttached { id: previous.id.clone(), differences: vec!["resource claim"] });
            }
            let locked = node.journal.lock(&previous.id)?;
            let environment = self.environment.for_attachment(&previous.id);
            if let Some(record) = locked.read()? {
                detach(Detachment::new(node, &environment, &locked, record))?;
            }
        }
        Ok(())
    }
}

fn detach(detachment: Detachment<'_>) -> Result<(), Error> {
    Ok(detachment.run()?.require_port_removed()?)
}

//! The row of an interface in the report. Pure.

use super::allowed::allowed;
use super::context::Context;
use super::policies::restricted;
use crate::commands::explain::finding::{COLUMNS, Finding};
use crate::commands::pods::report::Program;

/// The heads of the columns.
pub(in crate::commands::explain) const HEADS: [&str; COLUMNS] = ["INTERFACE", "NETWORK", "SOURCE", "PORT", "STATE"];

/// An interface of a pod.
pub(in crate::commands::explain) struct Row {
    interface: String,
    network: String,
    /// The definition, the claim or the UserspaceAttachment that requests it.
    source: String,
    port: String,
    state: String,
    /// What it may send from, where that is checked, and which policies restrict it.
    allowed: Vec<String>,
}

impl Row {
    pub(super) fn of(context: &Context<'_>, source: String, state: String) -> Self {
        let port = context
            .valid()
            .map_or_else(|| "-".to_owned(), |valid| format!("{} {}", valid.engine, valid.port.port_type.as_str()));
        let network = context.network.clone().unwrap_or_else(|| "-".to_owned());
        let interface = Some(context.element.interface.clone()).filter(|name| !name.is_empty());
        let is_attached = state.starts_with(ATTACHED);
        let allowed = allowed(context).into_iter().chain(restricted(context)).filter(|_| is_attached).collect();
        Self { interface: interface.unwrap_or_else(|| "-".to_owned()), network, source, port, state, allowed }
    }

    /// A row of which only its source is known.
    pub(in crate::commands::explain) fn unknown(source: &str, state: String) -> Self {
        let [interface, network, port] = ["-"; 3].map(str::to_owned);
        Self { interface, network, source: source.to_owned(), port, state, allowed: Vec::new() }
    }

    /// Whether the interface is to be attached and is not, and has no cause yet.
    pub(super) fn is_unexplained(&self) -> bool {
        self.state == NOT_ATTACHED
    }

    pub(super) fn take_allowed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.allowed)
    }

    /// Names the cause of an interface that has none of its own.
    pub(super) fn explain(&mut self, found: &Finding) {
        if self.is_unexplained() {
            self.state = state(false, None, Some(found));
        }
    }

    pub(in crate::commands::explain) fn cells(self) -> [String; COLUMNS] {
        [self.interface, self.network, self.source, self.port, self.state]
    }
}

const NOT_ATTACHED: &str = "not attached";
/// What all states of an attached interface begin with.
const ATTACHED: &str = "attached";

/// Returns the state of an interface, for users.
pub(super) fn state(is_attached: bool, program: Option<Program>, found: Option<&Finding>) -> String {
    match (is_attached, found) {
        (false, Some(found)) => format!("{NOT_ATTACHED}: {}", found.cause),
        (false, None) => NOT_ATTACHED.to_owned(),
        (true, _) => match program {
            Some(Program::Connected) => format!("{ATTACHED}, program connected"),
            Some(Program::NotConnected) => format!("{ATTACHED}, program not connected"),
            Some(Program::Failed) => format!("{ATTACHED}, failed"),
            Some(Program::NotNeeded | Program::Unknown) | None => ATTACHED.to_owned(),
        },
    }
}

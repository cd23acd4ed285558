//! How an engine serves the queues of its ports: `polling` and `transmitRetries`, with their rules
//! in CEL and in Rust. Each is a setting of one engine, for ports whose queues a program has.

use super::spec::PortSpec;
use crate::cel::{at, is, is_set, with_engine};
use crate::engine::EngineTraits;
use crate::problem::{Problem, Problems};
use crate::types::limits::TransmitRetries;
use crate::{EngineKind, Polling, PortType, SocketRole};
use kube::core::Rule;

/// A field that some engines have, for ports of some types.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The types of ports that have it in an engine.
    pub(super) types: fn(&EngineTraits) -> &'static [PortType],
}

const POLLING: Field = Field { name: "polling", types: |row| row.polled };
const RETRIES: Field = Field { name: "transmitRetries", types: |row| row.retried };

/// Rules of the spec. `port_type` is the type of its ports in CEL.
pub(super) fn rules(port_type: &str) -> impl Iterator<Item = Rule> + use<> {
    let port_type = port_type.to_owned();
    let of_fields = [POLLING, RETRIES].into_iter().flat_map(move |field| field.rules(&port_type));
    let path = format!(".port.{}", RETRIES.name);
    let is_server = is(".port.vhostUser.engineRole", "Server");
    let of_role = at(&path, format!("!({} && {is_server})", is_set(&path)), &Problem::RetriesOfServer);
    of_fields.chain([of_role])
}

impl Field {
    pub(super) fn rules(self, port_type: &str) -> Vec<Rule> {
        let path = format!(".port.{}", self.name);
        let unset = format!("!{}", is_set(&path));
        let of_engine = |engine: EngineKind| match (self.types)(engine.traits()) {
            [] => vec![at(&path, with_engine(engine, &unset), &self.not_in(engine))],
            types => {
                let is_of = |found: PortType| format!("{port_type} != '{}'", found.as_str());
                let rule = |found: PortType| {
                    let expression = with_engine(engine, &format!("{unset} || {}", is_of(found)));
                    at(&path, expression, &Problem::NotOfType { port_type: found, types })
                };
                let others = engine.traits().port_types.iter().filter(|found| !types.contains(found));
                others.map(|found| rule(*found)).collect()
            }
        };
        EngineKind::ALL.into_iter().flat_map(of_engine).collect()
    }

    fn not_in(self, engine: EngineKind) -> Problem {
        Problem::not_in_engine(engine, "ports", self.name, |row| !(self.types)(row).is_empty())
    }

    pub(super) fn check(self, problems: &mut Problems, engine: EngineKind, port_type: PortType) {
        let field = format!("spec.port.{}", self.name);
        match (self.types)(engine.traits()) {
            [] => problems.add(field, self.not_in(engine)),
            types if !types.contains(&port_type) => problems.add(field, Problem::NotOfType { port_type, types }),
            _ => {}
        }
    }
}

/// What the spec says of both fields, as far as it is right.
pub(super) fn serving(
    problems: &mut Problems,
    engine: EngineKind,
    port_type: PortType,
    spec: &PortSpec,
) -> (Option<Polling>, Option<TransmitRetries>) {
    if spec.polling.is_some() {
        POLLING.check(problems, engine, port_type);
    }
    let retries = spec.transmit_retries;
    if retries.is_some() {
        RETRIES.check(problems, engine, port_type);
        let is_server = spec.vhost_user.is_some_and(|it| it.engine_role == SocketRole::Server);
        problems.add_if(is_server, "spec.port.transmitRetries", Problem::RetriesOfServer);
    }
    let retries = retries.and_then(|number| problems.check("spec.port.transmitRetries", number.try_into()));
    (spec.polling, retries)
}

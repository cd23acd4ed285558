//! What pods may claim to be: on which networks it can be checked, in CEL and in Rust. Memifs in IP
//! mode are in [`memif_mode`](super::memif_mode).

use super::spec::PortSpec;
use crate::cel::{at, is_set, with_engine};
use crate::network::bridge::spec::is_adopted;
use crate::problem::{Problem, Problems};
use crate::{AntiSpoofing, EngineKind, Ownership};
use kube::core::Rule;

const PATH: &str = ".port.antiSpoofing";

/// Whether pods may claim to be anything.
pub(super) fn is_off() -> String {
    format!("(!{} || self{PATH} == 'Off')", is_set(PATH))
}

/// Rules of the spec.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    let fits = format!("({} || !{})", is_off(), is_adopted());
    let engines = EngineKind::ALL.into_iter().filter(|engine| engine.traits().guards_bridges);
    engines.map(move |engine| at(PATH, with_engine(engine, &fits), &Problem::AntiSpoofingOfAdopted(engine)))
}

/// What the spec says.
pub(crate) fn anti_spoofing(
    problems: &mut Problems,
    engine: EngineKind,
    ownership: Ownership,
    spec: &PortSpec,
) -> AntiSpoofing {
    let found = spec.anti_spoofing.unwrap_or_default();
    let is_of_others = engine.traits().guards_bridges && ownership == Ownership::Adopted;
    let problem = Problem::AntiSpoofingOfAdopted(engine);
    problems.add_if(!found.is_off() && is_of_others, &format!("spec{PATH}"), problem);
    found
}

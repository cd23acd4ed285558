//! What pods may claim to be: on which networks it can be checked, in CEL and in Rust.

use super::spec::PortSpec;
use crate::cel::{at, is_set, with_engine};
use crate::network::bridge::spec::is_adopted;
use crate::problem::{Problem, Problems};
use crate::{AntiSpoofing, EngineKind, Ownership};
use kube::core::Rule;

const PATH: &str = ".port.antiSpoofing";

/// Rules of the spec.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    let is_off = format!("(!{} || self{PATH} == 'Off')", is_set(PATH));
    let without = EngineKind::ALL.into_iter().filter(|engine| !engine.traits().has_anti_spoofing);
    let of_adopted = at(PATH, format!("{is_off} || !{}", is_adopted()), &Problem::AntiSpoofingOfAdopted);
    without.map(move |engine| at(PATH, with_engine(engine, &is_off), &not_in(engine))).chain([of_adopted])
}

fn not_in(engine: EngineKind) -> Problem {
    Problem::not_in_engine(engine, "ports", "antiSpoofing", |row| row.has_anti_spoofing)
}

/// What the spec says.
pub(crate) fn anti_spoofing(
    problems: &mut Problems,
    engine: EngineKind,
    ownership: Ownership,
    spec: &PortSpec,
) -> AntiSpoofing {
    let found = spec.anti_spoofing.unwrap_or_default();
    if !found.is_off() {
        let field = format!("spec{PATH}");
        problems.add_if(!engine.traits().has_anti_spoofing, &field, not_in(engine));
        problems.add_if(ownership == Ownership::Adopted, &field, Problem::AntiSpoofingOfAdopted);
    }
    found
}

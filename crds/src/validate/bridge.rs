//! The bridge, and what of it each engine takes.

use super::problem::{Problem, Problems};
use crate::network::BridgeSpec;
use crate::{Bridge, BridgeDomainId, BridgeName, Engine, InvalidName, MacAge, NetworkName, Ownership};

/// The bridge of the network, whose own name may be wrong.
pub(super) fn bridge(
    problems: &mut Problems,
    engine: Engine,
    spec: &BridgeSpec,
    network: Option<&NetworkName>,
) -> Option<Bridge> {
    let name = name(problems, engine, spec, network);
    adopted(problems, engine, spec);
    let mtu = problems.check("spec.bridge.mtu", spec.mtu.try_into());
    let mac_age = mac_age(spec.mac_age_seconds, engine);
    let mac_age = problems.check("spec.bridge.macAgeSeconds", mac_age);
    Some(Bridge {
        name: name?,
        mtu: mtu?,
        mac_learning: spec.mac_learning,
        mac_age_seconds: mac_age?,
        ownership: spec.ownership,
    })
}

/// The name of an adopted bridge is known only to users.
fn adopted(problems: &mut Problems, engine: Engine, spec: &BridgeSpec) {
    let is_adopted = spec.ownership == Ownership::Adopted;
    match engine {
        Engine::OpenVswitch => {
            problems.add_if(is_adopted && spec.name.is_none(), "spec.bridge.name", Problem::AdoptedWithoutName);
        }
        Engine::Vpp => {
            problems.add_if(is_adopted && spec.id.is_none(), "spec.bridge.id", Problem::AdoptedWithoutId);
        }
    }
}

fn name(
    problems: &mut Problems,
    engine: Engine,
    spec: &BridgeSpec,
    network: Option<&NetworkName>,
) -> Option<BridgeName> {
    match (engine, &spec.name, spec.id) {
        (Engine::OpenVswitch, _, Some(_)) => {
            problems.add("spec.bridge.id", Problem::BridgeIdWithOvs);
            None
        }
        (Engine::Vpp, Some(_), _) => {
            problems.add("spec.bridge.name", Problem::BridgeNameWithVpp);
            None
        }
        (Engine::OpenVswitch, Some(name), None) => {
            problems.check::<_, InvalidName>("spec.bridge.name", name.clone().try_into())
        }
        (Engine::Vpp, None, Some(id)) => {
            problems.check("spec.bridge.id", BridgeDomainId::try_from(id)).map(BridgeName::from)
        }
        (_, None, None) => network.map(|network| engine.default_bridge(network)),
    }
}

fn mac_age(seconds: i64, engine: Engine) -> Result<MacAge, Problem> {
    let problem = match engine {
        Engine::OpenVswitch => Problem::MacAgeWithOvs,
        Engine::Vpp => Problem::MacAgeWithVpp,
    };
    MacAge::try_from(seconds).ok().filter(|age| age.fits(engine)).ok_or(problem)
}

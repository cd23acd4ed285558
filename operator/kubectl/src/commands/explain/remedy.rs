//! Remedies for the reasons that agents and the controller report. Their messages, which have the
//! names of objects, are the explanations.

use usnet_crds::EngineKind;
use usnet_crds::conditions::reason;

/// Returns the remedy for a reason; a general one for reasons of other releases.
pub(crate) fn remedy(name: &str) -> &'static str {
    let known = reason::find(name).map(|reason| reason.remedy).filter(|remedy| !remedy.is_empty());
    known.unwrap_or("see the message; docs/errors.md describes each reason")
}

/// Returns the remedy for a reason of an engine, or of what is in it.
pub(crate) fn remedy_for(name: &str, engine: EngineKind) -> &'static str {
    reason::find(name).and_then(|reason| reason.remedy_of(engine)).unwrap_or_else(|| remedy(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_reasons_and_those_without_a_remedy_have_a_general_one() {
        assert!(remedy("BridgeExists").starts_with("remove the bridge"));
        assert_eq!(remedy("SomethingElse"), "see the message; docs/errors.md describes each reason");
        assert_eq!(remedy(reason::VALID), remedy("SomethingElse"));
    }
}

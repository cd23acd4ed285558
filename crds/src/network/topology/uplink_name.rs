//! The rule for the name of an uplink, in CEL.

use crate::InvalidName;
use crate::cel::rule;
use crate::types::names::NAMESPACE_NAME_PATTERN;
use kube::core::Rule;

pub(super) fn uplink_name() -> Rule {
    let advice = InvalidName::Uplink("self".to_owned()).to_string().replace("\"self\"", "this");
    rule(format!("self.matches('{NAMESPACE_NAME_PATTERN}')"), advice)
}

//! What the legacy userspace CNI writes as external_ids: Intel's plugin nothing, and its fork
//! fivetime/userspace-cni these keys, with itself as the owner.

use super::tags::{ATTACHMENT_KEY, NETWORK_KEY};
use std::collections::BTreeMap;

const OWNER_KEY: &str = "owner";
const FORK_OWNER: &str = "userspace-cni";
const FORK_KEYS: [&str; 4] = [OWNER_KEY, "container-id", "interface", "iface-id"];

/// A key that the legacy plugin does not write, if there is one.
pub(super) fn foreign_key(external_ids: &BTreeMap<String, String>) -> Option<&String> {
    let is_fork = external_ids.get(OWNER_KEY).is_some_and(|value| value == FORK_OWNER);
    external_ids.keys().find(|key| {
        let is_owned = [ATTACHMENT_KEY, NETWORK_KEY].contains(&key.as_str());
        is_owned || !(is_fork && FORK_KEYS.contains(&key.as_str()))
    })
}

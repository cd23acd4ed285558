//! The finalizer of an uplink: it stays while a network uses it. Pure.

use crate::controller::cache::Cache;
use crate::controller::write::Write;

/// The write that the finalizer of this uplink needs; none when it is as it should be.
pub fn write(cache: &Cache, name: &str) -> Option<Write> {
    let uplink = cache.uplinks.get(name)?;
    let present = !uplink.is_deleting() || cache.uplink_use.users(name).is_some();
    // Kubernetes accepts no new finalizer on an object that is being deleted.
    let is_current = uplink.has_finalizer == present || uplink.is_deleting() && present;
    (!is_current).then(|| Write::UplinkFinalizer { uplink: name.to_owned(), uid: uplink.uid.clone(), present })
}

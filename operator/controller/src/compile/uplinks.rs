//! The finalizer of an uplink: it stays while a network uses it, unless the deletion is older than
//! this installation: networks of an earlier one go as well. Pure.

use crate::cache::Cache;
use crate::write::{FinalizerChange, Write};

/// The write that the finalizer of this uplink needs; none when it is as it should be.
pub fn write(cache: &Cache, name: &str) -> Option<Write> {
    let uplink = cache.uplinks.get(name)?;
    let change = match uplink.finalizer {
        // Kubernetes accepts no new finalizer on an object that is being deleted.
        None if !uplink.is_deleting() => FinalizerChange::Add,
        Some(index)
            if cache.is_of_earlier_installation(uplink.deleted.as_ref())
                || (uplink.is_deleting() && cache.uplink_use.users(name).is_none()) =>
        {
            FinalizerChange::Remove { index }
        }
        _ => return None,
    };
    Some(Write::UplinkFinalizer { uplink: name.to_owned(), uid: uplink.uid.clone(), change })
}

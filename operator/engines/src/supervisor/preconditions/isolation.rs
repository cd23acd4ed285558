//! Whether other programs of the node use the CPUs of an engine.

use super::super::blocked::Blocked;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use usnet_crds::conditions::reason::CPUS_NOT_ISOLATED;
use usnet_crds::userspace_engine::types::{CpuList, ranges};

/// The CPUs on which the kernel runs only programs that ask for them.
pub(super) const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

/// There are other ways to keep programs away, which cannot be seen from here: it is a warning.
pub(super) fn check(cpus: &BTreeSet<u16>, isolated: &Path) -> Option<Blocked> {
    let isolated = fs::read_to_string(isolated).ok()?;
    let isolated = isolated.trim().parse::<CpuList>().map(|list| list.cpus().clone()).unwrap_or_default();
    let shared: BTreeSet<u16> = cpus.difference(&isolated).copied().collect();
    (!shared.is_empty()).then(|| {
        let message = format!(
            "Linux may run other programs on the CPUs {} of spec.cpus.list, which costs packets: keep them away by the boot parameter isolcpus={}",
            ranges(&shared),
            ranges(cpus)
        );
        Blocked::new(CPUS_NOT_ISOLATED, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_are_not_isolated_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("isolated");
        let cpus = BTreeSet::from([2, 3]);
        for (isolated, expected) in [("\n", Some("2-3")), ("3-7\n", Some("2")), ("2-3\n", None)] {
            fs::write(&file, isolated).unwrap();
            let message = check(&cpus, &file).map(|warning| warning.message);
            match expected {
                Some(named) => assert!(message.unwrap().contains(&format!("CPUs {named} of")), "{isolated}"),
                None => assert_eq!(message, None),
            }
        }
    }
}

//! Why an engine is not started.

use std::error::Error;
use std::path::Path;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::reason::{ENGINE_FAILS, FILES_NOT_WRITABLE, IMAGE_UNSUITABLE};

/// Whether SELinux enforces its policy: 1 if it does.
const ENFORCE: &str = "/sys/fs/selinux/enforce";
const BY_SELINUX: &str =
    "; SELinux enforces its policy on the node: `ausearch -m avc -ts recent` lists what it refused";

fn is_enforced(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|value| value.trim() == "1")
}

/// Why an engine is not started, or what makes it worse, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    /// One of the reasons of a UserspaceEngine.
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Blocked {
    pub(super) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(super) fn not_writable(path: &Path, error: &(dyn Error + 'static)) -> Self {
        let refused_by = if is_enforced(Path::new(ENFORCE)) { BY_SELINUX } else { "" };
        let message = format!("cannot write {} on the node: {}{refused_by}", path.display(), ErrorChain(error));
        Self::new(FILES_NOT_WRITABLE, message)
    }

    pub(super) fn no_program(program: &str, error: &(dyn Error + 'static)) -> Self {
        let message = format!("the image has no usable program {program}: {}: correct spec.image", ErrorChain(error));
        Self::new(IMAGE_UNSUITABLE, message)
    }

    /// A program ended that should not have.
    pub(super) fn failed(program: &str, said: &str) -> Self {
        Self::new(ENGINE_FAILS, format!("{program} {said}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selinux_is_named_where_it_enforces_its_policy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("enforce");
        assert!(!is_enforced(&file), "a kernel without SELinux");
        for (value, expected) in [("0", false), ("1", true)] {
            std::fs::write(&file, value).unwrap();
            assert_eq!(is_enforced(&file), expected);
        }
    }
}

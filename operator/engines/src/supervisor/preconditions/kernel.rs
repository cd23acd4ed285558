//! The version of Linux.

use super::super::blocked::Blocked;
use nix::sys::utsname::uname;
use usnet_crds::conditions::reason::KERNEL_TOO_OLD;

/// The oldest Linux that DPDK 22.11 supports (its Getting Started Guide, System Requirements).
const OLDEST: (u32, u32) = (4, 14);

pub(super) fn check() -> Result<(), Blocked> {
    match uname() {
        Ok(name) => check_release(&name.release().to_string_lossy()),
        // What cannot be read is not known to be too old.
        Err(_) => Ok(()),
    }
}

fn check_release(release: &str) -> Result<(), Blocked> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return Ok(()) };
    if (major, minor) >= OLDEST {
        return Ok(());
    }
    let (oldest_major, oldest_minor) = OLDEST;
    let message = format!(
        "the node has Linux {release}, and the engine needs {oldest_major}.{oldest_minor} or newer: update the kernel of the node, or exclude it by spec.nodeSelector"
    );
    Err(Blocked::new(KERNEL_TOO_OLD, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_compared_by_its_numbers() {
        for release in ["4.14.0", "4.18.0-553.el8.x86_64", "6.1.0-44-amd64", "10.0-rc1", "unknown"] {
            assert_eq!(check_release(release), Ok(()), "{release}");
        }
        for release in ["4.9.337", "3.10.0-1160.el7.x86_64"] {
            let blocked = check_release(release).unwrap_err();
            assert!(blocked.reason == KERNEL_TOO_OLD && blocked.message.contains(release), "{blocked:?}");
        }
    }
}

//! The VPP that a test runs on.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable with the program of a real VPP.
pub const PROGRAM_VARIABLE: &str = "USNET_VPP";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Real,
    Simulator,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, program()) {
            (Self::Real, Some(program)) => write!(formatter, "real, {}", program.display()),
            (Self::Real, None) => formatter.write_str("real"),
            (Self::Simulator, _) => formatter.write_str("simulator"),
        }
    }
}

impl Kind {
    /// Returns the simulator, and a real VPP if `USNET_VPP` or `PATH` has one. The first call
    /// writes them to standard error, so that a report of tests shows them.
    #[must_use]
    pub fn available() -> Vec<Self> {
        static REPORTED: OnceLock<()> = OnceLock::new();
        let program = program();
        REPORTED.get_or_init(|| {
            let text = match &program {
                Some(program) => format!("VPP tests run on the simulator and on {}\n", program.display()),
                None => {
                    format!("VPP tests run on the simulator alone: no vpp by {PROGRAM_VARIABLE} or on PATH\n")
                }
            };
            // Not with eprintln!, whose text the test harness shows only for a test that fails.
            let _written = std::io::stderr().write_all(text.as_bytes());
        });
        let real = program.map(|_| Self::Real);
        [Self::Simulator].into_iter().chain(real).collect()
    }

    /// Returns this kind if it is available. If not, it writes to standard error that a test is
    /// skipped, why, and how many were skipped before.
    #[must_use]
    pub fn or_skip(self) -> Option<Self> {
        static SKIPPED: AtomicUsize = AtomicUsize::new(0);
        if Self::available().contains(&self) {
            return Some(self);
        }
        let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        let text = format!("SKIPPED, number {number} of these tests: it needs a real VPP\n");
        let _written = std::io::stderr().write_all(text.as_bytes());
        None
    }

    /// Writes to standard error that a test is skipped on a VPP without a plugin.
    pub fn note_missing_plugin(plugin: &str) {
        let text = format!("SKIPPED on a VPP without {plugin}\n");
        let _written = std::io::stderr().write_all(text.as_bytes());
    }

    /// Returns the real VPP if there is one.
    #[must_use]
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self::Simulator)
    }
}

/// Returns the program of the real VPP: the one that `USNET_VPP` names, else `vpp` on `PATH`. If
/// the variable is empty, there is none.
#[must_use]
pub fn program() -> Option<PathBuf> {
    match std::env::var_os(PROGRAM_VARIABLE) {
        // An empty variable disables the real VPP, even if one is on PATH.
        Some(program) if program.is_empty() => return None,
        Some(program) => return Some(program.into()),
        None => {}
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("vpp")).find(|program| program.is_file())
}

//! `e2e/world`: runs a command in a Kubernetes cluster of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(usnet_e2e::processes::roles::run())
}

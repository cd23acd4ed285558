//! The program `kubectl-usnet`: see [`usnet_kubectl`].

use std::process::ExitCode;

fn main() -> ExitCode {
    usnet_kubectl::main(std::env::args_os().collect())
}

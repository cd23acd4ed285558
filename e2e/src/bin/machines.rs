//! `e2e/machines`: two machines with real NICs, and what runs in them.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(usnet_e2e::machines::arguments::run())
}

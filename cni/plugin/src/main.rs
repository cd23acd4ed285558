//! The CNI plugin `userspace`. See the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    usnet_plugin::call::main()
}

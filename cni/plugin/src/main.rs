//! The CNI plugin `userspace`. The library of this crate has its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    usnet_plugin::call::main()
}

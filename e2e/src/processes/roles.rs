//! The processes of a test bed, which are all this program with different hidden subcommands.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use crate::engines::vpp;
use crate::nodes::node;
use crate::processes::arguments::Arguments;
use crate::processes::control;
use crate::processes::init;
use crate::processes::janitor;
use crate::processes::launcher;
use crate::processes::orchestrator;
use crate::processes::start::NOT_STARTED;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::progress;

/// Runs the process that the command line names, and returns its exit status.
#[must_use]
pub fn run() -> u8 {
    let words: Vec<OsString> = std::env::args_os().collect();
    let text = |index: usize| words.get(index).and_then(|word| word.to_str()).unwrap_or_default();
    let folder = TestbedFolder::new(words.get(2).map(PathBuf::from).unwrap_or_default());
    match text(1) {
        init::ROLE => status(init::run(&folder)),
        orchestrator::ROLE => orchestrator::run(&folder),
        node::ROLE => status(node::hold(&folder, text(3)).map(|()| 0)),
        janitor::ROLE => {
            janitor::run(&folder);
            0
        }
        vpp::SIMULATOR_ROLE => status(vpp::simulate(folder.root())),
        control::ROLE => {
            let request = words.iter().skip(3).map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
            component(&folder, &request)
        }
        _ => status(launcher::run(Arguments::parse())),
    }
}

fn component(folder: &TestbedFolder, request: &[String]) -> u8 {
    match control::send(&folder.control_socket(), request) {
        Ok(()) => 0,
        Err(error) => {
            progress::line(&format!("component: {}", progress::with_causes(&error)));
            1
        }
    }
}

fn status<E: std::error::Error>(result: Result<u8, E>) -> u8 {
    result.unwrap_or_else(|error| {
        progress::error(&error);
        NOT_STARTED
    })
}

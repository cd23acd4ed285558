//! `release image` and `release all`: see `make image` and `make release`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use usnet_release::release::{Release, ReleaseError};
use usnet_release::target::{Built, Target};

/// Makes the files of a release.
#[derive(Debug, Parser)]
#[command(name = "release")]
struct Arguments {
    #[command(subcommand)]
    part: Part,

    /// The checkout.
    #[arg(long, global = true, default_value = ".")]
    checkout: PathBuf,

    /// Folder with the static programs `usnet`, `userspace` and `usnet-tools`.
    #[arg(long, global = true, default_value = ".")]
    binaries: PathBuf,

    /// The same for nodes of another architecture; may be repeated.
    #[arg(long, global = true, value_name = "TARGET=FOLDER")]
    binaries_of: Vec<Built>,

    /// The program `kubectl-usnet` for a target; may be repeated.
    #[arg(long = "plugin", global = true, value_name = "TARGET=FILE")]
    plugins: Vec<Built>,

    /// Where the files of the release are published.
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,

    /// Name of the image, with the registry that clusters pull it from.
    #[arg(long, global = true, default_value = "usnet")]
    image: String,

    /// The commit.
    #[arg(long, global = true, default_value = "unknown")]
    revision: String,

    /// The time of all files, in seconds since 1970.
    #[arg(long, global = true, env = "SOURCE_DATE_EPOCH", default_value_t = 0)]
    time: u64,

    /// The folder that gets the files.
    #[arg(long, global = true, default_value = "dist")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Part {
    /// The images alone.
    Image,
    /// All files of a release.
    All,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match make(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: &Arguments) -> Result<(), ReleaseError> {
    let mut binaries = vec![Built { target: Target::node(), path: arguments.binaries.clone() }];
    binaries.extend(arguments.binaries_of.iter().cloned());
    let release = Release {
        checkout: &arguments.checkout,
        binaries: &binaries,
        plugins: &arguments.plugins,
        url: arguments.url.as_deref(),
        image: &arguments.image,
        version: env!("CARGO_PKG_VERSION"),
        revision: &arguments.revision,
        time: arguments.time,
        output: &arguments.output,
    };
    match arguments.part {
        Part::Image => release.write_images(),
        Part::All => release.write(),
    }
}

#[expect(clippy::print_stderr, reason = "errors of a command")]
fn report(error: &dyn std::error::Error) {
    eprint!("release: error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprint!(": {cause}");
        source = cause.source();
    }
    eprintln!();
}

//! `kubectl usnet support-bundle`: what is needed to find a fault, in one file, without secrets.
//! What cannot be read is named in it and holds up nothing else.
//!
//! - [`objects`] (IO): objects of the API server; [`nodes`] (IO): what agents know; [`logs`] (IO);
//!   [`pods`] (IO): pods of networks, with the explanation of those that wait;
//! - [`archive`] (IO): the file, whose size is bounded.

mod archive;
mod logs;
mod nodes;
mod objects;
mod pods;

use crate::kubectl::api::{Cluster, WITHOUT_MULTUS, read_definitions, read_usnet};
use crate::kubectl::commands::pods::read_pods;
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::output::{Answer, count};
use crate::redact::Redactor;
use archive::Archive;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Options of `kubectl usnet support-bundle`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The file; default usnet-support-TIME.tar.gz in the current folder. An existing one is
    /// replaced.
    #[arg(short, long, value_name = "FILE.tar.gz")]
    output: Option<PathBuf>,
    /// How old log lines may be, such as 30m or 2h.
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    since: SignedDuration,
}

/// What is collected.
struct Collection<'a> {
    cluster: &'a Cluster,
    redactor: Redactor,
    archive: Archive,
    /// What could not be read, a line each.
    errors: Vec<String>,
}

impl Collection<'_> {
    /// Adds a text, without secrets.
    fn add(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let text = self.redactor.text(text);
        if !self.archive.add(name, &text)? {
            self.fail(name, "left out or cut: the bundle has its largest size");
        }
        Ok(())
    }

    fn fail(&mut self, what: &str, why: &str) {
        self.errors.push(self.redactor.text(&format!("{what}: {why}")));
    }
}

/// What is done now, for the user who waits.
fn progress(text: &str) {
    // Standard error may be closed.
    let _written = writeln!(io::stderr(), "{text}");
}

/// Collects everything.
///
/// # Errors
/// When networks or node states cannot be read, or the file cannot be written.
pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Answer, Error> {
    let begun = Instant::now();
    let mut snapshot = read_usnet(cluster).await?;
    let time = snapshot.now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let name = format!("usnet-support-{time}");
    let path = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    let archive = Archive::create(&path, &name, snapshot.now)?;
    let mut collection = Collection { cluster, redactor: Redactor::default(), archive, errors: Vec::new() };
    progress("reading objects of the API server");
    objects::collect(&mut collection).await?;
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    for gap in snapshot.gaps.iter().filter(|gap| gap.why != WITHOUT_MULTUS) {
        collection.fail(&gap.what, &gap.why);
    }
    pods::collect(&mut collection, &mut snapshot).await?;
    let (answered, total) = nodes::collect(&mut collection, &snapshot).await?;
    logs::collect(&mut collection, &snapshot, options.since).await?;
    let Collection { archive, mut errors, .. } = collection;
    errors.sort();
    errors.dedup();
    let bytes = archive.finish(&errors)?;
    let text = format!(
        "{}: {answered} of {}, {} KB, {} s. {}\n",
        path.display(),
        count(total, "node"),
        bytes.div_ceil(1000),
        begun.elapsed().as_secs(),
        match errors.len() {
            0 => "Everything was read.".to_owned(),
            number => format!("{} in errors.txt: read it first.", count(number, "problem")),
        }
    );
    Ok(Answer { text, exit_status: if errors.is_empty() { FINE } else { PROBLEM } })
}

/// How long ago that is, in seconds, of at least one.
fn seconds(since: SignedDuration) -> i64 {
    since.as_secs().max(1)
}

/// For names of files: the time of an archive.
fn seconds_since_1970(time: Timestamp) -> u64 {
    u64::try_from(time.as_second()).unwrap_or_default()
}

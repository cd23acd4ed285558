//! `kubectl usnet support-bundle`: collects diagnostic data in one file, without secrets. Data that
//! cannot be read is listed in the file.
//!
//! - [`objects`] (IO): objects of the API server; [`nodes`] (IO): data of agents; [`metrics`],
//!   [`logs`] (IO); [`pods`] (IO): the pods of networks, and explanations of those with a problem;
//! - [`archive`] (IO): the file, whose size is limited.

mod archive;
mod logs;
mod metrics;
mod nodes;
mod objects;
mod pods;

use crate::api::{Cluster, MULTUS_MISSING, read_definitions, read_engine_pods, read_engines, read_usnet};
use crate::commands::pods::read_pods;
use crate::commands::report;
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::Snapshot;
use crate::output::{Output, count, tell};
use archive::Archive;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::path::PathBuf;
use std::time::Instant;
use usnet_common::redact::Redactor;

/// Options of `kubectl usnet support-bundle`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The file to write; default usnet-support-TIME.tar.gz in the current folder. An existing file
    /// is replaced.
    #[arg(short, long, value_name = "FILE.tar.gz")]
    output: Option<PathBuf>,
    /// Only the log lines of the last DURATION, such as 30m or 2h.
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    since: SignedDuration,
}

struct Collection<'a> {
    cluster: &'a Cluster,
    redactor: Redactor,
    archive: Archive,
    /// What could not be read, one line each.
    errors: Vec<String>,
}

impl Collection<'_> {
    /// Adds a text without its secrets.
    fn add(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let text = self.redactor.text(text);
        if !self.archive.add(name, &text)? {
            self.fail(name, "left out or truncated: the bundle has reached its size limit");
        }
        Ok(())
    }

    fn fail(&mut self, what: &str, why: &str) {
        self.errors.push(self.redactor.text(&format!("{what}: {why}")));
    }
}

pub(crate) async fn run(cluster: &Cluster, options: &Options) -> Result<Output, Error> {
    let start = Instant::now();
    let mut snapshot = read_usnet(cluster).await?;
    let time = snapshot.now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let name = format!("usnet-support-{time}");
    let path = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    let archive = Archive::create(&path, &name, snapshot.now)?;
    let mut collection = Collection { cluster, redactor: Redactor::default(), archive, errors: Vec::new() };
    tell("reading objects of the API server");
    read_engines(cluster, &mut snapshot, false).await?;
    objects::collect(&mut collection, &snapshot).await?;
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    for entry in snapshot.unread.iter().filter(|entry| entry.why != MULTUS_MISSING) {
        collection.fail(&entry.what, &entry.why);
    }
    pods::collect(&mut collection, &mut snapshot).await?;
    add_report(&mut collection, &snapshot, options.since).await?;
    let (answered, total) = nodes::collect(&mut collection, &snapshot).await?;
    metrics::collect(&mut collection, &snapshot).await?;
    logs::collect(&mut collection, &snapshot.usnet_pods, options.since).await?;
    match read_engine_pods(cluster, &snapshot).await {
        Ok(pods) => logs::collect(&mut collection, &pods, options.since).await?,
        Err(error) => collection.fail("logs of engines", &error.sentence()),
    }
    let Collection { archive, mut errors, .. } = collection;
    errors.sort();
    errors.dedup();
    let bytes = archive.finish(&errors)?;
    let text = format!(
        "{}: {answered} of {}, {} KB, {} s. {}\n",
        path.display(),
        count(total, "node"),
        bytes.div_ceil(1000),
        start.elapsed().as_secs(),
        match errors.len() {
            0 => "Everything was read.".to_owned(),
            number => format!("{} in errors.txt: read it first.", count(number, "problem")),
        }
    );
    Ok(Output { text, exit_status: if errors.is_empty() { SUCCESS } else { PROBLEM } })
}

/// Adds the page of `kubectl usnet report`, with totals of traffic, which need no interval.
async fn add_report(collection: &mut Collection<'_>, snapshot: &Snapshot, since: SignedDuration) -> Result<(), Error> {
    tell("reading traffic and changes");
    let content = report::content::read(collection.cluster, snapshot, None, report::content::Since(since)).await?;
    for entry in content.not_read.iter().filter(|entry| entry.why != MULTUS_MISSING) {
        collection.fail(&entry.what, &entry.why);
    }
    collection.add("report.html", &report::page(&content))
}

/// Returns a duration in seconds, at least one.
fn seconds(since: SignedDuration) -> i64 {
    since.as_secs().max(1)
}

fn seconds_since_1970(time: Timestamp) -> u64 {
    u64::try_from(time.as_second()).unwrap_or_default()
}

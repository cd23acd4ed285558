//! Counts what the garbage collection of the node did (IO). It is another process, which serves no
//! metrics, and writes its changes to a file.

use super::metrics::Metrics;
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tokio::time::sleep;
use usnet_node::history_file::{self, Change};

/// How often the file is read. Counters are scraped every few seconds at most.
const INTERVAL: Duration = Duration::from_secs(5);

/// Counts the changes that are appended to the file from now on, indefinitely.
pub(crate) async fn follow(path: PathBuf, metrics: Metrics) -> Infallible {
    let mut file = GarbageFile::open(path);
    loop {
        sleep(INTERVAL).await;
        file.new_changes().iter().for_each(|change| metrics.garbage(change));
    }
}

/// The file, and the position up to which it was read.
struct GarbageFile {
    path: PathBuf,
    modified: Option<(SystemTime, u64)>,
    last: Option<Change>,
}

impl GarbageFile {
    fn open(path: PathBuf) -> Self {
        let mut file = Self { path, modified: None, last: None };
        file.new_changes();
        file
    }

    fn new_changes(&mut self) -> Vec<Change> {
        let modified = fs::metadata(&self.path).and_then(|found| Ok((found.modified()?, found.len()))).ok();
        if modified == self.modified {
            return Vec::new();
        }
        self.modified = modified;
        let mut changes = history_file::read(&self.path).unwrap_or_default();
        let read = changes.iter().rposition(|change| Some(change) == self.last.as_ref());
        self.last = changes.last().cloned().or_else(|| self.last.take());
        changes.split_off(read.map_or(0, |read| read + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use k8s_openapi::jiff::Timestamp;
    use usnet_node::history_file::{Cause, HistoryFile, Outcome};

    fn change(number: i64) -> Change {
        Change {
            time: MicroTime(Timestamp::from_second(number).unwrap()),
            engine: None,
            network: None,
            attachment: None,
            operation: format!("remove device folder {number}"),
            cause: Cause::NoAttachment,
            generation: None,
            milliseconds: 1,
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn each_change_is_counted_once_and_none_of_an_earlier_agents_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("garbage.jsonl");
        let mut garbage = HistoryFile::new(path.clone());
        garbage.append(&[change(1)]).unwrap();
        let mut file = GarbageFile::open(path.clone());
        assert_eq!(file.new_changes(), []);
        garbage.append(&[change(2), change(3)]).unwrap();
        assert_eq!(file.new_changes(), [change(2), change(3)]);
        assert_eq!(file.new_changes(), []);
        fs::remove_file(&path).unwrap();
        assert_eq!(file.new_changes(), []);
        HistoryFile::new(path).append(&[change(4)]).unwrap();
        assert_eq!(file.new_changes(), [change(4)]);
    }
}

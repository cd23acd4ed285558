//! The last changes that an agent made to the engines of its node: a file of JSON lines, bounded to
//! twice the number of kept entries. It is informational only, so it is not fsynced: a line
//! truncated by a power loss is skipped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
pub use usnet_node_output::history::{Cause, Change, Outcome};

/// The number of changes that are kept: enough to explain the last incident, in a file of a few
/// hundred KB.
pub const KEPT: usize = 500;
/// The maximum number of lines before the oldest are removed down to [`KEPT`], so that the file is
/// not rewritten for each line.
const LINES_MAX: usize = 2 * KEPT;

/// The file, written by a single agent.
#[derive(Debug)]
pub struct HistoryFile {
    path: PathBuf,
    /// The number of lines; none while it is unknown, or the last line may be truncated.
    lines: Option<usize>,
}

impl HistoryFile {
    /// The history at `path`. The first change creates a missing file.
    pub fn new(path: PathBuf) -> Self {
        Self { path, lines: None }
    }

    /// Appends changes, and removes the oldest beyond the limit.
    pub fn append(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut text = Vec::new();
        for change in changes.iter().skip(changes.len().saturating_sub(KEPT)) {
            serde_json::to_writer(&mut text, change)?;
            text.push(b'\n');
        }
        let added = changes.len().min(KEPT);
        match self.lines.take() {
            Some(lines) if lines + added <= LINES_MAX => {
                open(OpenOptions::new().append(true), &self.path)?.write_all(&text)?;
                self.lines = Some(lines + added);
            }
            _ => self.lines = Some(self.rewrite(&text, added)?),
        }
        Ok(())
    }

    fn rewrite(&self, added: &[u8], count: usize) -> io::Result<usize> {
        let old = read_text(&self.path)?;
        let kept: Vec<&str> = old.lines().filter(|line| parse(line).is_some()).collect();
        let kept = kept.get(kept.len().saturating_sub(KEPT.saturating_sub(count))..).unwrap_or_default();
        let mut text: String = kept.iter().flat_map(|line| [line, "\n"]).collect();
        text.push_str(&String::from_utf8_lossy(added));
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let new = self.path.with_extension("new");
        open(OpenOptions::new().write(true).truncate(true), &new)?.write_all(text.as_bytes())?;
        fs::rename(&new, &self.path)?;
        Ok(kept.len() + count)
    }
}

/// Reads the changes that are kept at `path`, the oldest first. A missing file has none.
pub fn read(path: &Path) -> io::Result<Vec<Change>> {
    let mut changes: Vec<Change> = read_text(path)?.lines().filter_map(parse).collect();
    changes.drain(..changes.len().saturating_sub(KEPT));
    Ok(changes)
}

/// Parses a line; none if it is truncated.
fn parse(line: &str) -> Option<Change> {
    serde_json::from_str(line).ok()
}

fn read_text(path: &Path) -> io::Result<String> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use k8s_openapi::jiff::Timestamp;
    use usnet_crds::EngineKind;

    fn change(number: i64) -> Change {
        Change {
            time: MicroTime(Timestamp::from_second(number).unwrap()),
            engine: Some(EngineKind::Vpp),
            network: Some("blue".into()),
            attachment: None,
            operation: format!("number {number}"),
            cause: Cause::EngineRestarted { epoch: 3 },
            generation: Some(7),
            milliseconds: 12,
            outcome: Outcome::RolledBack { message: "no \"room\"".into() },
        }
    }

    #[test]
    fn a_change_is_one_line_with_its_cause_and_outcome() {
        let text = serde_json::to_string(&change(1)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "time": "1970-01-01T00:00:01.000000Z", "engine": "VPP", "network": "blue", "operation": "number 1", "why": "EngineRestarted", "epoch": 3,
                "generation": 7, "milliseconds": 12, "result": "RolledBack", "message": "no \"room\"",
            })
        );
        assert_eq!(parse(&text), Some(change(1)));
    }

    #[test]
    fn the_file_never_grows_beyond_its_bound_and_keeps_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/history.jsonl");
        assert_eq!(read(&path).unwrap(), []);
        let mut file = HistoryFile::new(path.clone());
        let mut longest = 0;
        for number in 0..i64::try_from(LINES_MAX).unwrap() + 200 {
            file.append(&[change(number)]).unwrap();
            longest = longest.max(fs::read_to_string(&path).unwrap().lines().count());
        }
        assert!(longest <= LINES_MAX, "{longest} lines");
        let kept = read(&path).unwrap();
        assert_eq!((kept.len(), kept.last()), (KEPT, Some(&change(1199))));
        assert_eq!(kept.first(), Some(&change(700)));
        let storm: Vec<_> = (2000..5000).map(change).collect();
        file.append(&storm).unwrap();
        assert_eq!(read(&path).unwrap().first(), Some(&change(4500)));
    }

    #[test]
    fn a_truncated_line_is_skipped_and_a_new_agent_continues() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        HistoryFile::new(path.clone()).append(&[change(1), change(2)]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 9]).unwrap();
        HistoryFile::new(path.clone()).append(&[change(3)]).unwrap();
        assert_eq!(read(&path).unwrap(), [change(1), change(3)]);
    }
}

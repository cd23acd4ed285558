//! The last ADDs and DELs of the CNI plugin on this node, for `usnet node history`. In memory, of
//! bounded size, and nothing depends on it: a line that cannot be written is left out.

use super::paths::NodePaths;
use nix::libc;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file is renamed when it is larger than this, and the one that had that name is removed.
/// Together they have the last 400 calls at least.
const SIZE_MAX: u64 = 256 << 10;
/// The longest text of an error that is kept, in characters.
const ERROR_MAX: usize = 300;

/// What the plugin was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    Add,
    Del,
    /// An interface was detached that the runtime no longer listed.
    Gc,
}

/// One interface of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// When it ended, in milliseconds since 1970.
    pub time: u64,
    pub verb: Verb,
    /// `namespace/name` of the pod; empty if the runtime did not name one.
    pub pod: String,
    pub container: String,
    pub interface: String,
    /// The network, if the configuration names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Since the plugin began with the call.
    pub milliseconds: u64,
    /// The code of the CNI error; 0 if it did not fail.
    #[serde(default)]
    pub code: u32,
    /// Why it failed; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Call {
    /// Sets the time and the duration of a call that ends now.
    #[must_use]
    pub fn ended_after(self, duration: Duration) -> Self {
        let milliseconds = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { time: milliseconds(now), milliseconds: milliseconds(duration), ..self }
    }

    /// Appends it. One system call writes it, so that calls at the same time do not mix.
    pub fn append(mut self, paths: &NodePaths) -> io::Result<()> {
        self.error = self.error.map(|error| error.chars().take(ERROR_MAX).collect());
        let mut line = serde_json::to_vec(&self)?;
        line.push(b'\n');
        let path = paths.calls_file();
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(&path)?;
        file.write_all(&line)?;
        if file.metadata()?.len() > SIZE_MAX && is_at(&file, &path)? {
            fs::rename(&path, older(&path))?;
        }
        Ok(())
    }
}

/// The last calls, the oldest first.
pub fn read(paths: &NodePaths) -> io::Result<Vec<Call>> {
    let path = paths.calls_file();
    let mut calls = Vec::new();
    for file in [older(&path), path] {
        match fs::read_to_string(file) {
            Ok(text) => calls.extend(text.lines().filter_map(|line| serde_json::from_str::<Call>(line).ok())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(calls)
}

/// Reads each call once, as they are written.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    /// The file that was read, and how far; none if there was none.
    read: Option<(u64, u64)>,
}

impl Follower {
    /// Begins with the next call: those that have ended are not read.
    pub fn new(paths: &NodePaths) -> Self {
        let path = paths.calls_file();
        let read = fs::metadata(&path).ok().map(|file| (file.ino(), file.len()));
        Self { path, read }
    }

    /// The calls since the last time, the oldest first. Calls are missing if the file was renamed
    /// twice meanwhile.
    ///
    /// # Errors
    /// When they cannot be read. What was read before it is returned the next time.
    pub fn next_calls(&mut self) -> io::Result<Vec<Call>> {
        let is_unchanged = |file: fs::Metadata| self.read == Some((file.ino(), file.len()));
        if fs::metadata(&self.path).is_ok_and(is_unchanged) {
            return Ok(Vec::new());
        }
        // In this order: the file may be renamed in between.
        let (current, renamed) = (open(&self.path)?, open(&older(&self.path))?);
        let mut calls = Vec::new();
        if let Some((mut file, inode)) = renamed
            && let Some((_, end)) = self.read.filter(|(known, _)| *known == inode)
        {
            read_from(&mut file, end, &mut calls)?;
        }
        if let Some((mut file, inode)) = current {
            let start = self.read.filter(|(known, _)| *known == inode).map_or(0, |(_, end)| end);
            self.read = Some((inode, read_from(&mut file, start, &mut calls)?));
        } else {
            self.read = None;
        }
        Ok(calls)
    }
}

/// The file and its inode; none if there is none.
fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    match File::open(path) {
        Ok(file) => {
            let inode = file.metadata()?.ino();
            Ok(Some((file, inode)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Appends the calls from this offset on; returns the end.
fn read_from(file: &mut File, start: u64, calls: &mut Vec<Call>) -> io::Result<u64> {
    file.seek(SeekFrom::Start(start))?;
    let mut text = String::new();
    let length = file.read_to_string(&mut text)?;
    calls.extend(text.lines().filter_map(|line| serde_json::from_str::<Call>(line).ok()));
    Ok(start + u64::try_from(length).unwrap_or(0))
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("older.jsonl")
}

/// Whether no other call has renamed the file yet.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (file, path) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok((file.dev(), file.ino()) == (path.dev(), path.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u64) -> Call {
        Call {
            time: number,
            verb: Verb::Add,
            pod: "default/web-0".into(),
            container: "c1".into(),
            interface: "net1".into(),
            network: Some("blue".into()),
            milliseconds: 12,
            code: 0,
            error: None,
        }
    }

    fn size(paths: &NodePaths) -> u64 {
        let files = [older(&paths.calls_file()), paths.calls_file()];
        files.iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum()
    }

    #[test]
    fn the_newest_calls_are_kept_in_bounded_files() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        assert_eq!(read(&paths).unwrap(), []);
        assert!(call(0).append(&paths).is_err(), "there is no folder of usnet");
        fs::create_dir_all(&paths.run).unwrap();
        for number in 0..5000 {
            let error = (number % 2 == 0).then(|| "x".repeat(2000));
            Call { error, ..call(number) }.append(&paths).unwrap();
        }
        assert!(size(&paths) < 2 * SIZE_MAX + 1024, "{}", size(&paths));
        let calls = read(&paths).unwrap();
        assert!(calls.len() >= 400, "{}", calls.len());
        let first = 5000 - u64::try_from(calls.len()).unwrap();
        assert!(calls.iter().map(|call| call.time).eq(first..5000));
        assert_eq!(calls[0].error.as_ref().map_or(ERROR_MAX, String::len), ERROR_MAX);
    }

    #[test]
    fn a_follower_reads_each_later_call_once_over_renames() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        fs::create_dir_all(&paths.run).unwrap();
        let mut without_file = Follower::new(&paths);
        assert_eq!(without_file.next_calls().unwrap(), []);
        call(0).append(&paths).unwrap();
        assert_eq!(without_file.next_calls().unwrap(), [call(0)]);
        let mut follower = Follower::new(&paths);
        assert_eq!(follower.next_calls().unwrap(), [], "it ended before");
        let mut read = Vec::new();
        let mut number = 1;
        let mut renames = 0;
        while renames < 3 {
            let before = fs::metadata(paths.calls_file()).map(|file| file.ino()).ok();
            call(number).append(&paths).unwrap();
            number += 1;
            renames += usize::from(fs::metadata(paths.calls_file()).map(|file| file.ino()).ok() != before);
            if number % 7 == 0 {
                read.extend(follower.next_calls().unwrap());
            }
        }
        read.extend(follower.next_calls().unwrap());
        assert!(read.iter().map(|call| call.time).eq(1..number));
        assert_eq!(follower.next_calls().unwrap(), []);
    }

    #[test]
    fn what_is_no_call_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        fs::create_dir_all(&paths.run).unwrap();
        fs::write(paths.calls_file(), "{\"time\":1\n\n").unwrap();
        call(7).append(&paths).unwrap();
        assert_eq!(read(&paths).unwrap(), [call(7)]);
    }
}

//! What the simulator was asked, in memory and in a file.

use crate::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A message that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// VPP's name of it.
    pub message: &'static str,
    /// Whether messages of this kind change VPP's state.
    pub changes: bool,
    /// What was or would have been answered; nothing for a dump, and for a message that a fault
    /// kept from being done.
    pub retval: Option<i32>,
    /// The fields, for a reader. Secrets are not in it.
    pub fields: String,
}

/// A line of `messages.log`: `changes` or `reads`, the name, the answer or `-`, and the fields.
impl Display for LogEntry {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.changes { "changes" } else { "reads" };
        let retval = self.retval.map_or_else(|| "-".to_owned(), |retval| retval.to_string());
        write!(formatter, "{kind} {} {retval} {}", self.message, self.fields)
    }
}

/// All messages that came.
#[derive(Debug)]
pub(crate) struct Log {
    entries: Vec<LogEntry>,
    file: File,
}

impl Log {
    /// An empty log. What another simulator wrote to the file stays.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let file = File::options().create(true).append(true).open(path).map_err(Error::file(path))?;
        Ok(Self { entries: Vec::new(), file })
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.entries.clone()
    }

    pub(crate) fn add(&mut self, entry: LogEntry) {
        // A full disk must not change what is simulated; the entry is in memory.
        let _written = self.file.write_all(format!("{entry}\n").as_bytes());
        self.entries.push(entry);
    }
}

//! A log of all messages, in memory and in a file.

use crate::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::Write;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// VPP's name of the message.
    pub message: &'static str,
    /// Whether messages of this kind change VPP's state.
    pub changes: bool,
    /// The return code, even if it was not sent. There is none for a dump, and for a message that
    /// was not executed because of a fault.
    pub retval: Option<i32>,
    /// The fields in readable form, without secrets.
    pub fields: String,
}

/// Formats a line of `messages.log`: `changes` or `reads`, the name, the return code or `-`, and
/// the fields.
impl Display for LogEntry {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.changes { "changes" } else { "reads" };
        let retval = self.retval.map_or_else(|| "-".to_owned(), |retval| retval.to_string());
        write!(formatter, "{kind} {} {retval} {}", self.message, self.fields)
    }
}

#[derive(Debug)]
pub(crate) struct Log {
    entries: Vec<LogEntry>,
    file: File,
}

impl Log {
    /// Creates an empty log. Lines of another simulator in the file stay.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let file = File::options().create(true).append(true).open(path).map_err(Error::file(path))?;
        Ok(Self { entries: Vec::new(), file })
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.entries.clone()
    }

    pub(crate) fn add(&mut self, entry: LogEntry) {
        // A full disk must not change the simulation: the entry is in memory.
        let _written = self.file.write_all(format!("{entry}\n").as_bytes());
        self.entries.push(entry);
    }
}

//! The file of one record.

use super::Error;
use crate::model::attachment::{AttachmentId, Progress, Record};
use crate::store::atomic_file::{self, Durability};
use std::path::Path;

/// A record has some 2 KiB. The largest part that users control is the configuration of IPAM.
const SIZE_MAX: u64 = 64 << 10;
const EXTENSION: &str = ".json";

pub(super) fn file_name(id: &AttachmentId) -> String {
    format!("{id}{EXTENSION}")
}

/// The attachment of a file; none for a file that is no record.
pub(super) fn attachment_of(name: &str) -> Option<AttachmentId> {
    name.strip_suffix(EXTENSION)?.parse().ok()
}

pub(super) fn read(path: &Path) -> Result<Option<Record>, atomic_file::Error> {
    let record = atomic_file::read::<Record>(path, Record::VERSION, SIZE_MAX)?;
    record.map(|record| expect_id(path, &record).map(|()| record)).transpose()
}

pub(super) fn write(path: &Path, record: &Record) -> Result<(), Error> {
    expect_id(path, record)?;
    let size = u64::try_from(atomic_file::encode(path, record)?.len()).unwrap_or(u64::MAX);
    if size > SIZE_MAX {
        return Err(Error::RecordTooLarge { id: record.id.clone(), size, max_size: SIZE_MAX });
    }
    let durability = match record.progress {
        Progress::Attaching | Progress::Detaching | Progress::Detached => Durability::Content,
        Progress::Attached => Durability::Process,
    };
    Ok(atomic_file::write(path, record, durability)?)
}

fn expect_id(path: &Path, record: &Record) -> Result<(), atomic_file::Error> {
    // Ids may have dots, so that two of them could have one file name.
    if path.file_name().is_some_and(|name| name == file_name(&record.id).as_str()) {
        Ok(())
    } else {
        Err(atomic_file::Error::Misplaced { path: path.to_owned(), content: format!("attachment {}", record.id) })
    }
}

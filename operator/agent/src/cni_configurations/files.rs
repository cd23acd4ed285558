//! The files of the folders (IO).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use usnet_crds::legacy::CONFIG_MAX;

/// Files by path, each with its text or why it cannot be read.
pub(super) type Texts = BTreeMap<String, Result<String, String>>;

/// What the names of CNI configurations end in, as libcni has it.
const EXTENSIONS: [&str; 3] = ["conf", "conflist", "json"];

/// Reads the configurations of these folders; none of one that does not exist.
pub(super) fn read(folders: &[PathBuf]) -> io::Result<Texts> {
    let mut texts = Texts::new();
    for folder in folders {
        match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            entries => entries?.try_for_each(|entry| add(&mut texts, &entry?.path()))?,
        }
    }
    Ok(texts)
}

fn add(texts: &mut Texts, path: &Path) -> io::Result<()> {
    let is_configuration = path.extension().is_some_and(|it| EXTENSIONS.iter().any(|known| it == *known));
    let Some(name) = path.to_str().filter(|_| is_configuration) else { return Ok(()) };
    match text(path) {
        Ok(text) => drop(texts.insert(name.to_owned(), Ok(text))),
        // It was removed meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => drop(texts.insert(name.to_owned(), Err(error.to_string()))),
    }
    Ok(())
}

/// The text of a regular file, or as much of it as shows that it is too long.
fn text(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let longest = u64::try_from(CONFIG_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = Vec::new();
    File::open(path)?.take(longest).read_to_end(&mut text)?;
    // Only the start of a character may be cut.
    Ok(String::from_utf8_lossy(&text).into_owned())
}

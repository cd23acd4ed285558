//! SHA-256 in hexadecimal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest::{Context, SHA256};

/// Of a file.
///
/// # Errors
/// When it cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        let Some(part) = buffer.get(..count).filter(|part| !part.is_empty()) else { break };
        context.update(part);
    }
    Ok(hexadecimal(context))
}

/// Of bytes.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    hexadecimal(context)
}

fn hexadecimal(context: Context) -> String {
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_files_have_the_same() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b"abc"), abc);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        assert_eq!(of_file(file.path()).unwrap(), abc);
    }
}

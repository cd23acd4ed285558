//! Writes the archive format of an initramfs, "newc"; see `buffer-format.rst` in the documentation
//! of the kernel.

use std::fmt::Write as _;

/// The mode of a folder.
pub(crate) const FOLDER: u32 = 0o040_755;
pub(crate) const PROGRAM: u32 = 0o100_755;

/// An archive under construction.
#[derive(Default)]
pub(crate) struct Cpio {
    bytes: Vec<u8>,
    entries: usize,
}

impl Cpio {
    /// Adds an entry. The name is relative to the root, and the mode is that of `stat`.
    pub(crate) fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let number = self.entries;
        let [mode, size, name_size] = [mode as usize, content.len(), name.len() + 1];
        // Inode, mode, uid, gid, links, time, size, four device numbers, size of the name,
        // checksum.
        let fields = [number, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        let mut header = "070701".to_owned();
        for field in fields {
            // Writing to a string does not fail.
            let _ = write!(header, "{field:08X}");
        }
        self.bytes.extend(header.as_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Finishes the archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }

    /// Pads to a multiple of four, where headers and contents start.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn busybox_reads_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Cpio::default();
        archive.add("bin", FOLDER, &[]);
        archive.add("bin/odd", PROGRAM, b"12345");
        archive.add("bin/even", PROGRAM, b"1234");
        let file = folder.path().join("archive");
        std::fs::write(&file, archive.finish()).unwrap();
        let input = Stdio::from(std::fs::File::open(&file).unwrap());
        let listing =
            Command::new("busybox").args(["cpio", "-i", "-d"]).current_dir(folder.path()).stdin(input).status();
        assert!(listing.unwrap().success());
        assert_eq!(std::fs::read(folder.path().join("bin/odd")).unwrap(), b"12345");
        assert_eq!(std::fs::read(folder.path().join("bin/even")).unwrap(), b"1234");
    }
}

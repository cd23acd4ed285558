//! The files of a call: lock, record, index, the mounted folder of the pod, its description and the
//! history.

use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;

/// About as many bytes as a record of the plugin has.
const RECORD_SIZE: usize = 700;
/// `MS_NOSYMFOLLOW` of `linux/mount.h`.
const NOSYMFOLLOW: MsFlags = MsFlags::from_bits_retain(256);

/// The folders of a call.
pub(crate) struct Files {
    pub(crate) state: String,
    pub(crate) run: String,
    /// The pod's volume.
    pub(crate) volume: String,
    pub(crate) container: String,
}

impl Files {
    /// One call for a pod at a time.
    pub(crate) fn lock(&self) -> Result<Flock<File>, Box<dyn Error>> {
        let file = File::create(format!("{}/ideal.{}.lock", self.state, self.container))?;
        Ok(Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?)
    }

    fn record_path(&self) -> String {
        format!("{}/ideal.{}.json", self.state, self.container)
    }

    /// By interface and by port.
    fn index_paths(&self) -> [String; 2] {
        ["interface", "port"].map(|what| format!("{}/ideal.{}.{what}", self.state, self.container))
    }

    fn folder(&self) -> String {
        format!("{}/ideal.{}", self.run, self.container)
    }

    /// The record of what is about to be there, and its index.
    pub(crate) fn begin(&self) -> Result<File, Box<dyn Error>> {
        let mut record = OpenOptions::new().append(true).create_new(true).open(self.record_path())?;
        record.write_all(&[b'r'; RECORD_SIZE])?;
        for path in self.index_paths() {
            File::create(path)?;
        }
        Ok(record)
    }

    pub(crate) fn record(&self) -> Result<String, Box<dyn Error>> {
        Ok(fs::read_to_string(self.record_path())?)
    }

    /// Mounts the pod's volume where the engine finds it, and returns where.
    pub(crate) fn mount(&self) -> Result<String, Box<dyn Error>> {
        const NONE: Option<&str> = None;
        let folder = self.folder();
        fs::create_dir(&folder)?;
        mount(Some(self.volume.as_str()), folder.as_str(), NONE, MsFlags::MS_BIND, NONE)?;
        let restricted = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | NOSYMFOLLOW;
        mount(NONE, folder.as_str(), NONE, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | restricted, NONE)?;
        Ok(folder)
    }

    /// What programs in the pod read, in one step.
    pub(crate) fn describe(&self, folder: &str, socket: &str) -> Result<(), Box<dyn Error>> {
        let new = format!("{folder}/.net1.json.new");
        fs::write(&new, format!(r#"{{"interface":"net1","mtu":1500,"socket":"{socket}"}}"#))?;
        fs::rename(new, format!("{folder}/net1.json"))?;
        Ok(())
    }

    pub(crate) fn log(&self, verb: &str) -> Result<(), Box<dyn Error>> {
        let mut history = OpenOptions::new().append(true).create(true).open(format!("{}/ideal.jsonl", self.run))?;
        let line = format!("{{\"verb\":\"{verb}\",\"container\":\"{}\",\"interface\":\"net1\"}}\n", self.container);
        history.write_all(line.as_bytes())?;
        Ok(())
    }

    /// Removes all of it, the record last.
    pub(crate) fn end(&self) -> Result<(), Box<dyn Error>> {
        let folder = self.folder();
        fs::remove_file(format!("{folder}/net1.json"))?;
        umount2(folder.as_str(), MntFlags::MNT_DETACH)?;
        fs::remove_dir(folder)?;
        for path in self.index_paths() {
            fs::remove_file(path)?;
        }
        Ok(fs::remove_file(self.record_path())?)
    }
}

//! The process of a real VPP, which ends with the test, however that ends.

use crate::Error;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The parent of VPP. It reads from a pipe that only the test holds, so it goes on when the test
/// ends or tells it to. A test that was killed can neither remove its folder nor the shared memory
/// of VPP, so that the script does it unless it reads `keep`. A VPP that ended by itself is not
/// collected before the kill, so that its process id cannot belong to another process.
const KEEPER: &str = r#"folder=$1 prefix=$2; shift 2
"$@" </dev/null >>"$folder/output.log" 2>&1 &
echo $!
read -r word
kill -KILL $! 2>/dev/null
wait
[ "$word" = keep ] || rm -rf -- "$folder" /dev/shm/"$prefix"-*"#;

#[derive(Debug)]
pub(crate) struct Process {
    keeper: Child,
    pid: u32,
}

impl Process {
    /// Starts the program, and does not wait until it answers.
    pub(crate) fn start(program: &Path, folder: &Path, prefix: &str) -> Result<Self, Error> {
        let run = |source| Error::Run { program: "the keeper of VPP", source };
        let output = folder.join("output.log");
        File::create(&output).map_err(Error::file(&output))?;
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "sh"]).arg(folder).arg(prefix).arg(program).arg("-c");
        command.arg(folder.join("startup.conf")).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keeper = command.spawn().map_err(run)?;
        let mut line = String::new();
        if let Some(output) = keeper.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(run)?;
        }
        match line.trim().parse() {
            Ok(pid) => Ok(Self { keeper, pid }),
            Err(_) => Err(Error::NotReady { problem: "its keeper did not start".to_owned(), output: line }),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// A crashed VPP is a zombie until its parent collects it.
    pub(crate) fn is_running(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        status.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        let number = i32::try_from(self.pid).map_err(|_| Errno::ESRCH);
        let sent = number.and_then(|number| kill(Pid::from_raw(number), signal));
        sent.map_err(|error| Error::Run { program: "kill", source: error.into() })
    }

    /// Ends VPP with SIGKILL, and waits until it has ended. Its files stay.
    pub(crate) fn kill(mut self) -> Result<(), Error> {
        let ended = self.end(b"keep\n");
        ended.map_err(|source| Error::Run { program: "the keeper of VPP", source })
    }

    fn end(&mut self, word: &[u8]) -> std::io::Result<()> {
        if let Some(mut input) = self.keeper.stdin.take() {
            input.write_all(word)?;
        }
        self.keeper.wait().map(drop)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing can be done about an error: the end of the pipe ends VPP.
        let _ended = self.end(b"\n");
    }
}

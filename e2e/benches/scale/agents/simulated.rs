//! The process of agents, as the benchmark sees it.

use super::protocol::{Answer, Attachment, Command, Identity, ROLE, Start, Stats};
use crate::api_server::ApiServer;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A running process of agents; dropping it ends it.
pub(crate) struct Simulated {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Simulated {
    /// Starts agents of these nodes; those after the first `watching` only report.
    pub(crate) fn start(server: &ApiServer, tokens: Vec<(String, String)>, watching: usize) -> Self {
        let mut agents: Vec<_> = tokens.into_iter().map(|(node, token)| Identity { node, token }).collect();
        let silent = agents.split_off(watching.min(agents.len()));
        let start = Start { kubeconfig: server.token_kubeconfig(""), agents, silent };
        let file = server.folder.path().join("agents.json");
        fs::write(&file, serde_json::to_string(&start).expect("a file")).expect("a file");
        let program = std::env::current_exe().expect("this program");
        let mut command = std::process::Command::new(program);
        command.arg(ROLE).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the agents start");
        let commands = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, commands, answers }
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait_until_synced(&mut self) -> bool {
        self.ask(&Command::WaitUntilSynced).is_done
    }

    pub(crate) fn wait_for(&mut self, version: u64) -> bool {
        self.ask(&Command::WaitForVersion(version)).is_done
    }

    pub(crate) fn attach(&mut self, attachments: Vec<Attachment>) -> Stats {
        self.ask(&Command::Attach(attachments)).stats
    }

    pub(crate) fn report(&mut self, version: u64, networks: usize, generations: BTreeMap<String, i64>) -> bool {
        self.ask(&Command::Report { version, networks, generations }).is_done
    }

    fn ask(&mut self, command: &Command) -> Answer {
        let line = serde_json::to_string(command).expect("a command");
        writeln!(self.commands, "{line}").expect("the agents run");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the agents answer");
        serde_json::from_str(&answer).expect("the agents answer")
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

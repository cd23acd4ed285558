//! VPP: one process with a configuration of its own.

use super::blocked::Blocked;
use super::cpus::{Cpus, allowed};
use super::numa::{self, Numa, Placement};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use usnet_crds::conditions::reason::ENGINE_FOREIGN;
use usnet_crds::userspace_engine::spec::EngineNics;
use usnet_crds::userspace_engine::validate::ValidEngine;
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::ShowVersion;

/// Where agent and plugin expect the socket.
const FOLDER: &str = "/run/vpp";
const SOCKET: &str = "/run/vpp/api.sock";
const CONFIGURATION: &str = "/run/vpp/usnet-startup.conf";

/// What a buffer of 2,048 bytes takes, with its header and with what pages waste.
const BYTES_PER_BUFFER: u64 = 2560;
/// The part of the memory for everything else that is VPP's main heap; the rest is for its threads
/// and statistics.
const HEAP_PARTS: (u32, u32) = (3, 4);
/// How often it is looked whether VPP accepts connections.
const POLL: Duration = Duration::from_millis(20);
/// The time for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(super) struct Vpp {
    valid: ValidEngine,
}

impl Vpp {
    pub(super) const PROCESSES: [&'static str; 1] = ["vpp"];

    pub(super) fn new(valid: &ValidEngine) -> Self {
        Self { valid: valid.clone() }
    }

    pub(super) async fn prepare(&self) -> Result<Command, Blocked> {
        if UnixStream::connect(SOCKET).await.is_ok() {
            let message = format!(
                "a VPP that usnet does not run listens at {SOCKET}, and is left alone: exclude the node by spec.nodeSelector, or stop and disable that engine on the node"
            );
            return Err(Blocked::new(ENGINE_FOREIGN, message));
        }
        let cpus = Cpus::choose(&self.valid.cpus, &allowed(&self.valid.cpus))?;
        let not_writable = |path: &str, error: &std::io::Error| Blocked::not_writable(Path::new(path), error);
        fs::create_dir_all(FOLDER).map_err(|error| not_writable(FOLDER, &error))?;
        // VPP refuses a socket that its predecessor left.
        for left in [SOCKET, "/run/vpp/cli.sock", "/run/vpp/stats.sock"] {
            let _it_may_not_be_there = fs::remove_file(left);
        }
        let placement = Placement::of(&self.valid, &cpus, &Numa::read(Path::new(numa::FOLDER)))?;
        let text = configuration(&self.valid, &cpus, &placement);
        fs::write(CONFIGURATION, text).map_err(|error| not_writable(CONFIGURATION, &error))?;
        let mut command = Command::new("vpp");
        command.args(["-c", CONFIGURATION]);
        Ok(command)
    }

    pub(super) async fn wait_until_it_serves(&self) {
        while !self.acts().await {
            sleep(POLL).await;
        }
    }

    /// Whether VPP's main thread answers.
    pub(super) async fn acts(&self) -> bool {
        let ask = || {
            let mut batch = Batch::new();
            let version = batch.request(ShowVersion {});
            let replies = Client::connect(SOCKET, ANSWER_TIMEOUT).ok()?.send(&batch).ok()?;
            replies.reply(version).ok().map(drop)
        };
        spawn_blocking(ask).await.ok().flatten().is_some()
    }
}

/// The configuration of VPP. Pure.
fn configuration(valid: &ValidEngine, cpus: &Cpus, placement: &Placement) -> String {
    let memory = valid.memory;
    let heap = memory.process.mib() * HEAP_PARTS.0 / HEAP_PARTS.1;
    let buffers = u64::from(placement.share().mib()) * 1024 * 1024 / BYTES_PER_BUFFER;
    let pages = memory.hugepages.map_or("4k", |size| if size.size().mib() == 2 { "2m" } else { "1g" });
    let workers: Vec<String> = cpus.polling.iter().filter(|cpu| **cpu != cpus.main).map(u16::to_string).collect();
    let workers = match workers.as_slice() {
        [] => String::new(),
        some => format!(" corelist-workers {}", some.join(",")),
    };
    let sleep = match valid.idle_sleep_microseconds {
        0 => String::new(),
        sleep => format!(" poll-sleep-usec {sleep}"),
    };
    let devices = match valid.nics {
        EngineNics::Kernel => "plugins { plugin dpdk_plugin.so { disable } }",
        // With an allow list that names nothing, DPDK takes no device.
        EngineNics::Pci => "dpdk { dev 0000:00:00.0 }",
    };
    format!(
        "unix {{ nodaemon nosyslog nobanner nocolor runtime-dir {FOLDER} cli-listen {FOLDER}/cli.sock{sleep} }}\n\
         cpu {{ main-core {}{workers} }}\n\
         memory {{ main-heap-size {heap}M main-heap-page-size 4k }}\n\
         buffers {{ page-size {pages} buffers-per-numa {buffers} }}\n\
         socksvr {{ socket-name {SOCKET} }}\n\
         statseg {{ socket-name {FOLDER}/stats.sock size 32M page-size 4k per-node-counters off }}\n\
         {devices}\n",
        cpus.main
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;
    use usnet_crds::userspace_engine::validate::validate;

    fn configuration_of(changes: &Value, polling: &[u16]) -> String {
        let mut spec = json!({"engine": "VPP", "image": "x"});
        spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let valid = validate("vpp", &serde_json::from_value(spec).unwrap()).unwrap();
        let cpus = Cpus { main: 2, polling: polling.iter().copied().collect::<BTreeSet<_>>() };
        let placement = Placement::of(&valid, &cpus, &Numa::read(Path::new("/nowhere"))).unwrap();
        configuration(&valid, &cpus, &placement)
    }

    #[test]
    fn memory_and_cpus_are_those_of_the_spec() {
        let text = configuration_of(&json!({"memory": {"packets": "160Mi", "process": "400Mi"}}), &[2]);
        for part in
            ["main-core 2 }", "main-heap-size 300M", "page-size 4k buffers-per-numa 65536", "poll-sleep-usec 200"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let memory = json!({"packets": "1Gi", "hugepages": "1Gi"});
        let text = configuration_of(&json!({"memory": memory, "idleSleepMicroseconds": 0, "nics": "PCI"}), &[3, 4]);
        for part in ["main-core 2 corelist-workers 3,4", "page-size 1g", "dev 0000:00:00.0"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("poll-sleep"), "{text}");
    }
}

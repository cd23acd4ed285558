//! What the engines have in common: a few processes that are started in their order.

use super::blocked::Blocked;
use super::open_vswitch::OpenVswitch;
use super::vpp::Vpp;
use tokio::process::Command;
use usnet_crds::EngineKind;
use usnet_crds::conditions::reason::INSUFFICIENT_MEMORY;
use usnet_crds::userspace_engine::validate::ValidEngine;

/// An engine with its settings.
#[derive(Debug)]
pub(super) enum Engine {
    OpenVswitch(OpenVswitch),
    Vpp(Vpp),
}

impl Engine {
    pub(super) fn new(name: &str, valid: &ValidEngine) -> Self {
        match valid.engine {
            EngineKind::OpenVswitch => Self::OpenVswitch(OpenVswitch::new(name, valid)),
            EngineKind::Vpp => Self::Vpp(Vpp::new(valid)),
        }
    }

    /// The names of the processes, in the order of their start.
    pub(super) fn processes(&self) -> &'static [&'static str] {
        match self {
            Self::OpenVswitch(_) => &OpenVswitch::PROCESSES,
            Self::Vpp(_) => &Vpp::PROCESSES,
        }
    }

    /// Does what comes before the start of a process. `is_first` says that none of the processes
    /// runs, so that a process which serves is of another engine.
    pub(super) async fn prepare(&self, place: usize, is_first: bool) -> Result<Command, Blocked> {
        match self {
            Self::OpenVswitch(engine) => engine.prepare(place, is_first).await,
            Self::Vpp(engine) => engine.prepare().await,
        }
    }

    pub(super) async fn wait_until_it_serves(&self, place: usize) -> Result<(), Blocked> {
        match self {
            Self::OpenVswitch(engine) => engine.wait_until_it_serves(place).await,
            Self::Vpp(engine) => {
                engine.wait_until_it_serves().await;
                Ok(())
            }
        }
    }

    /// Whether a process answers.
    pub(super) async fn acts(&self, place: usize) -> bool {
        match self {
            Self::OpenVswitch(engine) => engine.acts(place).await,
            Self::Vpp(engine) => engine.acts().await,
        }
    }

    /// Applies settings that need no restart to the running engine.
    pub(super) async fn apply_at_once(&self) {
        match self {
            Self::OpenVswitch(engine) => engine.apply_at_once().await,
            Self::Vpp(_) => {}
        }
    }

    /// Why a process ended while it was being started.
    pub(super) fn why_it_failed(&self, name: &str, how: &str, words: &str) -> Blocked {
        // DPDK and VPP reserve their memory at the start.
        let is_about_memory = ["memory", "hugepage", "ENOMEM"].iter().any(|word| words.contains(word));
        if is_about_memory || how == "ended by signal 9" {
            let message = format!(
                "{name} {how} at its start{words}: it needs more memory than it has; use less in spec.memory.packets, or more in spec.memory.process"
            );
            return Blocked::new(INSUFFICIENT_MEMORY, message);
        }
        Blocked::failed(name, &format!("{how} at its start{words}"))
    }
}

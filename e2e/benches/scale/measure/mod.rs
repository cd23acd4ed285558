//! What a phase cost: CPU seconds and memory of each program, and what usnet wrote.

pub(crate) mod audit;
pub(crate) mod etcd;
pub(crate) mod objects;
pub(crate) mod process;

use audit::Writes;
use std::ops::{Add, Div, Sub};
use std::time::{Duration, Instant};

/// CPU seconds, user and system, of the programs of a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) api_server: f64,
    pub(crate) etcd: f64,
    pub(crate) controllers: f64,
    pub(crate) agents: f64,
}

impl Sub for Cpu {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            api_server: self.api_server - before.api_server,
            etcd: self.etcd - before.etcd,
            controllers: self.controllers - before.controllers,
            agents: self.agents - before.agents,
        }
    }
}

impl Add for Cpu {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            api_server: self.api_server + other.api_server,
            etcd: self.etcd + other.etcd,
            controllers: self.controllers + other.controllers,
            agents: self.agents + other.agents,
        }
    }
}

impl Div<f64> for Cpu {
    type Output = Self;
    fn div(self, by: f64) -> Self {
        Self {
            api_server: self.api_server / by,
            etcd: self.etcd / by,
            controllers: self.controllers / by,
            agents: self.agents / by,
        }
    }
}

/// Peak resident memory in MiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    pub(crate) api_server: f64,
    pub(crate) etcd: f64,
    /// The largest controller, also of those that have ended.
    pub(crate) controller: f64,
    pub(crate) agents: f64,
}

/// The beginning of a phase.
pub(crate) struct Window {
    pub(crate) started: Instant,
    pub(crate) cpu: Cpu,
}

/// A phase.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Until it was done; none when it was not within the limit.
    pub(crate) took: Option<Duration>,
    /// Until no more was written.
    pub(crate) cpu: Cpu,
    pub(crate) writes: Writes,
}

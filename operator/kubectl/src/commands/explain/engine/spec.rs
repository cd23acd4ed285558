//! What a UserspaceEngine asks for, in sentences.

use crate::model::Engine;
use crate::output::count;
use usnet_crds::node_selection::selector_text;
use usnet_crds::userspace_engine::spec::EngineNics;
use usnet_crds::userspace_engine::validate::{EngineCpus, ValidEngine};

/// Returns what the spec asks for; nothing of an invalid one, of which a cause names the problems.
pub(super) fn sentences(engine: &Engine) -> Vec<String> {
    let Ok(valid) = &engine.valid else { return Vec::new() };
    vec![
        format!("engine: {} of image {}, on {}", valid.engine, valid.image, nodes(engine)),
        format!("memory: {}", memory(valid)),
        format!("CPUs: {}, {}", cpus(valid), sleep(valid)),
        format!("NICs: {}", nics(valid)),
        format!("update: {}", update(engine)),
    ]
}

fn nodes(engine: &Engine) -> String {
    let text = engine.nodes.as_ref().map(selector_text).unwrap_or_default();
    if text.is_empty() { "all nodes".to_owned() } else { format!("nodes with {text}") }
}

fn memory(valid: &ValidEngine) -> String {
    let memory = &valid.memory;
    let place = match memory.hugepages {
        Some(size) => format!("in hugepages of {size}"),
        None => "in ordinary memory".to_owned(),
    };
    format!("{} for packets {place}, {} for everything else", memory.packets, memory.process)
}

fn cpus(valid: &ValidEngine) -> String {
    match &valid.cpus {
        EngineCpus::Shared => "those of the node, with other pods".to_owned(),
        EngineCpus::Exclusive(number) => format!("{number} that kubelet gives to no other pod"),
        EngineCpus::List(cpus) => format!("{cpus}, which the administrator keeps free"),
    }
}

fn sleep(valid: &ValidEngine) -> String {
    match valid.idle_sleep_microseconds {
        0 => "used whole also without packets".to_owned(),
        microseconds => format!("asleep for {microseconds} µs at a time without packets"),
    }
}

const fn nics(valid: &ValidEngine) -> &'static str {
    match valid.nics {
        EngineNics::Kernel => "those of Linux",
        EngineNics::Pci => "those of Linux, and PCI devices that UserspaceUplinks give it",
    }
}

fn update(engine: &Engine) -> String {
    let policy = &engine.spec.update;
    if policy.paused {
        return "paused, so that no node is restarted".to_owned();
    }
    let nodes = usize::try_from(policy.max_unavailable).unwrap_or(usize::MAX);
    format!("{} at a time", count(nodes, "node"))
}

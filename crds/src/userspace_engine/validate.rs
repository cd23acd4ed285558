//! Checks specs of users: the same rules as in [`super::spec`], and those that depend on several
//! fields.

use super::problem::EngineProblem;
use super::spec::{
    ENGINE_NAME_MAX, EXCLUSIVE_CPUS_MAX, EngineCpusSpec, EngineNics, IDLE_SLEEP_MAX, IMAGE_MAX, UNAVAILABLE_MAX,
    UserspaceEngineSpec,
};
use super::types::{CPU_LIST_MAX, CpuList, HugepageSize, MemorySize};
use crate::EngineKind;
use crate::network::selectors::selector;
use crate::problem::{InvalidSpec, Problems};
use crate::types::number::OutOfRange;

/// The least memory for packets: two vhost-user ports of Open vSwitch, or the buffers that VPP
/// needs to start.
pub const PACKETS_MIN: MemorySize = MemorySize::from_mib(128);
/// The least memory for everything else, with which both engines started.
pub const PROCESS_MIN: MemorySize = MemorySize::from_mib(256);

/// An engine whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidEngine {
    pub engine: EngineKind,
    pub image: String,
    pub memory: EngineMemory,
    pub cpus: EngineCpus,
    pub idle_sleep_microseconds: u32,
    pub nics: EngineNics,
}

/// The memory of an engine on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineMemory {
    /// For packets.
    pub packets: MemorySize,
    /// The size of the hugepages that packets are in; none for ordinary memory.
    pub hugepages: Option<HugepageSize>,
    /// For everything else.
    pub process: MemorySize,
}

impl EngineMemory {
    /// The ordinary memory of the engine's pod.
    pub const fn limit(self) -> MemorySize {
        match self.hugepages {
            Some(_) => self.process,
            None => MemorySize::from_mib(self.packets.mib() + self.process.mib()),
        }
    }
}

/// The CPUs of an engine on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineCpus {
    /// Those of the node, with other pods.
    Shared,
    /// So many that kubelet gives to no other pod.
    Exclusive(u16),
    /// These.
    List(CpuList),
}

/// Validates a spec, and reports all fields that break a rule.
pub fn validate(name: &str, spec: &UserspaceEngineSpec) -> Result<ValidEngine, InvalidSpec> {
    let mut problems = Problems::default();
    let is_short = !name.is_empty() && name.len() <= ENGINE_NAME_MAX && !name.contains('.');
    problems.add_if(!is_short, "metadata.name", EngineProblem::Name(name.to_owned()).into());
    let is_image = !spec.image.is_empty() && spec.image.len() <= IMAGE_MAX && !spec.image.contains(char::is_whitespace);
    problems.add_if(!is_image, "spec.image", EngineProblem::Image(spec.image.clone()).into());
    if let Some(nodes) = &spec.node_selector {
        selector(&mut problems, "spec.nodeSelector", nodes);
    }
    let (sleep, unavailable) = (spec.idle_sleep_microseconds, spec.update.max_unavailable);
    range(&mut problems, "spec.idleSleepMicroseconds", "sleep", sleep, (0, IDLE_SLEEP_MAX));
    range(&mut problems, "spec.update.maxUnavailable", "number of nodes", unavailable, (1, UNAVAILABLE_MAX));
    let mut size = |field: &str, text: &str, minimum: MemorySize| {
        let size = problems.check(field, text.parse::<MemorySize>().map_err(EngineProblem::from))?;
        problems.add_if(size < minimum, field, EngineProblem::TooLittle { size, minimum }.into());
        Some(size)
    };
    let packets = size("spec.memory.packets", &spec.memory.packets, PACKETS_MIN);
    let process = size("spec.memory.process", &spec.memory.process, PROCESS_MIN);
    if let (Some(packets), Some(size)) = (packets, spec.memory.hugepages) {
        let is_whole = packets.mib().is_multiple_of(size.size().mib());
        problems.add_if(!is_whole, "spec.memory.packets", EngineProblem::Hugepages { packets, size }.into());
    }
    let cpus = cpus(&mut problems, spec.cpus.as_ref());
    match (packets, process, cpus) {
        (Some(packets), Some(process), Some(cpus)) if problems.count() == 0 => Ok(ValidEngine {
            engine: spec.engine,
            image: spec.image.clone(),
            memory: EngineMemory { packets, hugepages: spec.memory.hugepages, process },
            cpus,
            idle_sleep_microseconds: spec.idle_sleep_microseconds,
            nics: spec.nics,
        }),
        _ => Err(problems.into_invalid()),
    }
}

fn range(problems: &mut Problems, field: &str, what: &'static str, value: u32, (minimum, maximum): (u32, u32)) {
    let problem = OutOfRange { what, value: i64::from(value), minimum, maximum };
    problems.add_if(!(minimum..=maximum).contains(&value), field, problem.into());
}

fn cpus(problems: &mut Problems, spec: Option<&EngineCpusSpec>) -> Option<EngineCpus> {
    match spec {
        None => Some(EngineCpus::Shared),
        Some(EngineCpusSpec { exclusive: Some(number), list: None }) => {
            let limits = (1, u32::from(EXCLUSIVE_CPUS_MAX));
            range(problems, "spec.cpus.exclusive", "number of CPUs", u32::from(*number), limits);
            Some(EngineCpus::Exclusive(*number))
        }
        Some(EngineCpusSpec { exclusive: None, list: Some(list) }) => {
            let too_long = EngineProblem::CpusTooLong(list.len());
            problems.add_if(list.len() > CPU_LIST_MAX, "spec.cpus.list", too_long.into());
            let parsed = list.parse::<CpuList>().map_err(EngineProblem::from);
            problems.check("spec.cpus.list", parsed).map(EngineCpus::List)
        }
        Some(_) => {
            problems.add("spec.cpus", EngineProblem::OneOfCpus.into());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn problems(changes: &Value) -> Vec<String> {
        let mut spec = json!({"engine": "OVS", "image": "registry.example/usnet-openvswitch:1"});
        spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let spec: UserspaceEngineSpec = serde_json::from_value(spec).unwrap();
        let invalid = validate("ovs", &spec).err();
        invalid.map(|it| it.problems.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        assert_eq!(problems(&json!({})), Vec::<String>::new());
        let spec = json!({"engine": "VPP", "image": "vpp", "cpus": {"list": "3,2"}, "memory": {"hugepages": "1Gi"}});
        let valid = validate("vpp", &serde_json::from_value(spec).unwrap()).unwrap();
        assert_eq!(valid.memory.packets.mib(), 1024);
        assert_eq!(valid.memory.limit(), valid.memory.process);
        assert!(matches!(valid.cpus, EngineCpus::List(list) if list.cpus().len() == 2));
        let ordinary = EngineMemory { hugepages: None, ..valid.memory };
        assert_eq!(ordinary.limit().mib(), 1024 + 512);
    }

    #[test]
    fn each_wrong_field_is_named() {
        for (changes, field, text) in [
            (json!({"image": "a b"}), "spec.image", "spaces"),
            (json!({"memory": {"packets": "64Mi"}}), "spec.memory.packets", "at least 128Mi"),
            (json!({"memory": {"packets": "129Mi", "hugepages": "2Mi"}}), "spec.memory.packets", "hugepages of 2Mi"),
            (json!({"memory": {"process": "1"}}), "spec.memory.process", "Mi or Gi"),
            (json!({"cpus": {}}), "spec.cpus", "one of"),
            (json!({"cpus": {"exclusive": 1, "list": "1"}}), "spec.cpus", "one of"),
            (json!({"cpus": {"list": "3-2"}}), "spec.cpus.list", "3-2"),
        ] {
            let found = problems(&changes);
            let [problem] = found.as_slice() else { panic!("{changes}: {found:?}") };
            assert!(problem.starts_with(&format!("{field}: ")) && problem.contains(text), "{problem}");
        }
        let spec: UserspaceEngineSpec = serde_json::from_value(json!({"engine": "OVS", "image": "x"})).unwrap();
        assert!(validate(&"x".repeat(41), &spec).is_err() && validate("a.b", &spec).is_err());
    }
}

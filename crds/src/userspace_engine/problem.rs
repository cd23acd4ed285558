//! What is wrong with a UserspaceEngine.

use super::types::{CPU_LIST_MAX, HugepageSize, InvalidCpus, InvalidSize, MemorySize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineProblem {
    #[error(transparent)]
    Size(#[from] InvalidSize),
    #[error(transparent)]
    Cpus(#[from] InvalidCpus),
    #[error("the list of CPUs has {0} characters: use at most {CPU_LIST_MAX}, with ranges such as 2-31")]
    CpusTooLong(usize),
    #[error("set one of exclusive and list")]
    OneOfCpus,
    #[error("{packets} is not a whole number of hugepages of {size}")]
    Hugepages { packets: MemorySize, size: HugepageSize },
    #[error("{size} is too little: use at least {minimum}")]
    TooLittle { size: MemorySize, minimum: MemorySize },
    #[error("{0:?} is not the name of an image: leave out spaces, and use at most 512 characters")]
    Image(String),
    /// The name is that of a DaemonSet, after a prefix, and a label of its pods.
    #[error(
        "{0:?} is too long for the names of pods, or no DNS label: use at most 40 lower-case letters, digits and '-'"
    )]
    Name(String),
}

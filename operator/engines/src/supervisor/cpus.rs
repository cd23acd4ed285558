//! Which CPUs an engine uses. Pure, except for reading which ones this process may use.

use super::blocked::Blocked;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use usnet_crds::conditions::reason::{CPUS_NOT_EXCLUSIVE, INSUFFICIENT_CPUS};
use usnet_crds::userspace_engine::types::ranges;
use usnet_crds::userspace_engine::validate::EngineCpus;

/// The CPUs of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cpus {
    /// The CPU of the main thread.
    pub(super) main: u16,
    /// Those of the polling threads.
    pub(super) polling: BTreeSet<u16>,
}

impl Cpus {
    /// The CPUs of an engine by its spec, of those that this process may use.
    pub(super) fn choose(spec: &EngineCpus, allowed: &BTreeSet<u16>) -> Result<Self, Blocked> {
        match spec {
            // One polling thread, away from the main thread.
            EngineCpus::Shared => {
                let main = allowed.first().copied().unwrap_or_default();
                Ok(Self { main, polling: allowed.last().copied().into_iter().collect() })
            }
            EngineCpus::Exclusive(number) if allowed.len() == usize::from(*number) => Ok(Self::of(allowed)),
            EngineCpus::Exclusive(number) => Err(Blocked::new(
                CPUS_NOT_EXCLUSIVE,
                format!(
                    "spec.cpus.exclusive is {number}, and the pod may use the CPUs {}, which other pods use, too: set cpuManagerPolicy static in the configuration of kubelet and restart it, or use spec.cpus.list",
                    ranges(allowed)
                ),
            )),
            EngineCpus::List(cpus) => {
                let missing: BTreeSet<u16> = cpus.cpus().difference(allowed).copied().collect();
                if missing.is_empty() {
                    return Ok(Self::of(cpus.cpus()));
                }
                let message = format!(
                    "spec.cpus.list names the CPUs {}, which the node does not have or its kubelet has given to another pod: use others of {}",
                    ranges(&missing),
                    ranges(allowed)
                );
                Err(Blocked::new(INSUFFICIENT_CPUS, message))
            }
        }
    }

    /// Those of all threads.
    pub(super) fn all(&self) -> impl Iterator<Item = u16> {
        std::iter::once(self.main).chain(self.polling.iter().copied())
    }

    /// The first for the main thread, the others for polling; a single one for both.
    fn of(cpus: &BTreeSet<u16>) -> Self {
        let main = cpus.first().copied().unwrap_or_default();
        let others: BTreeSet<u16> = cpus.iter().skip(1).copied().collect();
        Self { main, polling: if others.is_empty() { cpus.clone() } else { others } }
    }
}

/// The CPUs that an engine may use.
pub(super) fn allowed(spec: &EngineCpus) -> BTreeSet<u16> {
    let EngineCpus::List(listed) = spec else { return of_this_thread() };
    // Isolated CPUs are not among those that a process gets unless it asks for them. A thread of
    // its own asks, so that this process stays on the others.
    let listed = listed.cpus().clone();
    let ask = move || {
        let mut set = CpuSet::new();
        let is_known = |cpu: &u16| set.set(usize::from(*cpu)).is_ok();
        let _each_is_looked_for_below = listed.iter().all(is_known) && sched_setaffinity(THIS, &set).is_ok();
        of_this_thread()
    };
    let may_use = of_this_thread();
    std::thread::spawn(ask).join().map_or(may_use.clone(), |asked| asked.union(&may_use).copied().collect())
}

/// The calling thread.
const THIS: Pid = Pid::from_raw(0);

fn of_this_thread() -> BTreeSet<u16> {
    let Ok(set) = sched_getaffinity(THIS) else { return BTreeSet::new() };
    let is_set = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    (0..CpuSet::count()).filter(is_set).filter_map(|cpu| u16::try_from(cpu).ok()).collect()
}

/// CPUs as a hexadecimal mask with `0x`, of any length.
pub(super) fn mask(cpus: &BTreeSet<u16>) -> String {
    let last = cpus.last().copied().unwrap_or_default();
    let digit = |place: u16| {
        let bits = (0..4_u16).filter(|bit| cpus.contains(&(place * 4 + bit)));
        let value = bits.fold(0_u32, |value, bit| value | 1 << bit);
        char::from_digit(value, 16).unwrap_or('0')
    };
    (0..=last / 4).rev().map(digit).fold("0x".to_owned(), |mut text, digit| {
        text.push(digit);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cpus: &[u16]) -> BTreeSet<u16> {
        cpus.iter().copied().collect()
    }

    #[test]
    fn the_first_is_for_the_main_thread() {
        let cpus = |main, polling: &[u16]| Ok(Cpus { main, polling: set(polling) });
        let choose = |spec: &EngineCpus, allowed: &[u16]| Cpus::choose(spec, &set(allowed));
        assert_eq!(choose(&EngineCpus::Shared, &[0, 1, 2, 3]), cpus(0, &[3]));
        assert_eq!(choose(&EngineCpus::Shared, &[2]), cpus(2, &[2]));
        assert_eq!(choose(&EngineCpus::Exclusive(3), &[2, 3, 6]), cpus(2, &[3, 6]));
        assert_eq!(choose(&EngineCpus::Exclusive(1), &[5]), cpus(5, &[5]));
        let of_list = EngineCpus::List("6,2-3".parse().unwrap());
        assert_eq!(choose(&of_list, &[0, 1, 2, 3, 4, 5, 6]), cpus(2, &[3, 6]));
    }

    #[test]
    fn cpus_that_others_have_are_refused_by_name() {
        let refused = |spec: EngineCpus| Cpus::choose(&spec, &set(&[0, 1])).unwrap_err();
        let blocked = refused(EngineCpus::Exclusive(1));
        assert_eq!(blocked.reason, CPUS_NOT_EXCLUSIVE);
        assert!(blocked.message.contains("0-1") && blocked.message.contains("cpuManagerPolicy"), "{blocked:?}");
        let blocked = refused(EngineCpus::List("1-3".parse().unwrap()));
        assert_eq!(blocked.reason, INSUFFICIENT_CPUS);
        assert!(blocked.message.contains("the CPUs 2-3,"), "{blocked:?}");
    }

    #[test]
    fn an_engine_may_use_isolated_cpus_that_it_names() {
        let Some(other) = of_this_thread().into_iter().nth(1) else {
            println!("SKIPPED: this machine has one CPU");
            return;
        };
        // As init does with the boot parameter isolcpus.
        let mut first = CpuSet::new();
        first.set(usize::from(*of_this_thread().first().unwrap())).unwrap();
        let listed = |list: &str| EngineCpus::List(list.parse().unwrap());
        let (shared, own, absent) = std::thread::spawn(move || {
            sched_setaffinity(THIS, &first).unwrap();
            (allowed(&EngineCpus::Shared), allowed(&listed(&other.to_string())), allowed(&listed("900")))
        })
        .join()
        .unwrap();
        assert_eq!(shared.len(), 1);
        assert!(own.contains(&other), "{own:?}");
        assert!(!absent.contains(&900), "{absent:?}");
    }

    #[test]
    fn cpus_are_written_as_lists_and_as_masks() {
        for (cpus, text, hexadecimal) in [
            (&[0_u16][..], "0", "0x1"),
            (&[0, 1, 2, 3], "0-3", "0xf"),
            (&[4], "4", "0x10"),
            (&[1, 70], "1,70", "0x400000000000000002"),
        ] {
            assert_eq!((ranges(&set(cpus)).as_str(), mask(&set(cpus)).as_str()), (text, hexadecimal));
        }
    }
}

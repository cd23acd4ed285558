//! The queues of ports: how VPP reads them, and which threads send by them. Only the port of a
//! connected program has any, and VPP sets them up again whenever one connects. So they are never
//! set when a port is created: the agent does it, as with any other difference, once the link is
//! up.

use super::command::VppCommand;
use super::port_setting_command::PortSettingCommand;
use super::snapshot::{Interface, VppSnapshot};
use crate::engine::error::EngineError;
use crate::model::owner::Owner;
use crate::model::port::{ObservedQueues, QueueSettings};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::Polling;
use usnet_vpp::messages::{NO_INTERFACE, RxMode, SwInterfaceRxPlacementDump, SwInterfaceTxPlacementGet};
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

/// The queues of one interface, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InterfaceQueues {
    /// How VPP reads each.
    modes: BTreeMap<u32, RxMode>,
    /// The threads that send by each. Empty unless there are several queues.
    threads: BTreeMap<u32, BTreeSet<u32>>,
}

impl InterfaceQueues {
    pub(super) fn observe(&self) -> ObservedQueues {
        ObservedQueues {
            are_spread: self.unspread().next().is_some().then_some(false),
            polling: self.modes.values().filter_map(|mode| polling(*mode)).collect(),
            transmit_retries: None,
        }
    }

    /// The threads that send by any queue. VPP gives each thread one.
    fn all_threads(&self) -> BTreeSet<u32> {
        self.threads.values().flatten().copied().collect()
    }

    /// The queues by which not all threads send. A thread that sends by several chooses by the flow
    /// of a frame.
    fn unspread(&self) -> impl Iterator<Item = u32> {
        let all = self.all_threads();
        self.threads.iter().filter(move |(_, threads)| **threads != all).map(|(queue, _)| *queue)
    }

    /// Commands for what differs.
    pub(super) fn configure(&self, index: u32, desired: QueueSettings) -> Vec<VppCommand> {
        let QueueSettings { are_spread, polling, transmit_retries: _ } = desired;
        let spread = self.unspread().filter(|_| are_spread).map(|queue| {
            let threads = self.all_threads().into_iter().collect();
            PortSettingCommand::TxPlacement { index, queue, threads }
        });
        let mode = polling.map(rx_mode);
        let differ = self.modes.iter().filter_map(|(queue, found)| Some((*queue, mode.filter(|mode| mode != found)?)));
        let modes = differ.map(|(queue, mode)| PortSettingCommand::RxMode { index, queue, mode });
        spread.chain(modes).map(VppCommand::from).collect()
    }
}

fn polling(mode: RxMode) -> Option<Polling> {
    match mode {
        RxMode::Polling => Some(Polling::Polling),
        RxMode::Interrupt => Some(Polling::Interrupt),
        RxMode::Adaptive => Some(Polling::Adaptive),
        RxMode::Unknown | RxMode::Default | RxMode::Other(_) => None,
    }
}

const fn rx_mode(polling: Polling) -> RxMode {
    match polling {
        Polling::Polling => RxMode::Polling,
        Polling::Interrupt => RxMode::Interrupt,
        Polling::Adaptive => RxMode::Adaptive,
    }
}

/// Where the answers about all queues that VPP reads are.
#[derive(Debug)]
pub(super) struct RxQueuesTicket(Option<DumpTicket<SwInterfaceRxPlacementDump>>);

impl RxQueuesTicket {
    pub(super) fn request(batch: &mut Batch, api: &impl Api) -> Self {
        let is_known = api.supports::<SwInterfaceRxPlacementDump>();
        Self(is_known.then(|| batch.dump(SwInterfaceRxPlacementDump { sw_if_index: NO_INTERFACE })))
    }

    /// Adds them to the interfaces.
    pub(super) fn read(self, answers: &Answers, interfaces: &mut BTreeMap<u32, Interface>) -> Result<(), EngineError> {
        let details = self.0.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        for queue in details {
            if let Some(interface) = interfaces.get_mut(&queue.sw_if_index) {
                interface.queues.modes.insert(queue.queue_id, queue.mode);
            }
        }
        Ok(())
    }
}

/// Reads which threads send to pods with several queues: one request for each of these ports.
pub(super) async fn read_threads(api: &mut impl Api, snapshot: &mut VppSnapshot) -> Result<(), EngineError> {
    if !api.supports::<SwInterfaceTxPlacementGet>() {
        return Ok(());
    }
    let has_several = |interface: &Interface| {
        matches!(interface.owner, Some(Owner::Attachment(_))) && interface.queues.modes.len() > 1
    };
    let mut batch = Batch::new();
    let several = snapshot.interfaces.iter().filter(|(_, interface)| has_several(interface));
    let tickets: Vec<_> = several
        .map(|(index, _)| (*index, batch.get(SwInterfaceTxPlacementGet { cursor: 0, sw_if_index: *index })))
        .collect();
    if batch.is_empty() {
        return Ok(());
    }
    let answers = api.send(&batch).await?;
    for (index, ticket) in tickets {
        // It is refused when the program has left meanwhile, or VPP was busy: the next reading
        // tells more.
        let (Ok((queues, _)), Some(interface)) = (answers.got(ticket), snapshot.interfaces.get_mut(&index)) else {
            continue;
        };
        interface.queues.threads =
            queues.into_iter().map(|queue| (queue.queue_id, queue.threads.into_iter().collect())).collect();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::Queues;

    fn queues(modes: &[RxMode], threads: &[&[u32]]) -> InterfaceQueues {
        InterfaceQueues {
            modes: (0..).zip(modes.iter().copied()).collect(),
            threads: (0..).zip(threads.iter().map(|of_one| of_one.iter().copied().collect())).collect(),
        }
    }

    fn two(polling: Option<Polling>) -> QueueSettings {
        QueueSettings::new(Queues::try_from(2).unwrap(), polling, None)
    }

    #[test]
    fn each_queue_gets_the_threads_that_it_lacks() {
        let placed = queues(&[RxMode::Polling; 2], &[&[0, 2], &[1]]);
        assert_eq!(placed.observe().are_spread, Some(false));
        let threads = |queue| PortSettingCommand::TxPlacement { index: 7, queue, threads: vec![0, 1, 2] }.into();
        assert_eq!(placed.configure(7, two(None)), [threads(0), threads(1)]);
        assert_eq!(placed.configure(7, QueueSettings::default()), [], "a program with one queue is left alone");
        let one = queues(&[RxMode::Polling; 2], &[&[0], &[]]);
        let missing = PortSettingCommand::TxPlacement { index: 7, queue: 1, threads: vec![0] };
        assert_eq!(one.configure(7, two(None)), [missing.into()]);
        assert_eq!(queues(&[RxMode::Polling; 2], &[&[0], &[0]]).observe().are_spread, None);
    }

    #[test]
    fn only_queues_with_another_mode_are_changed() {
        let found = queues(&[RxMode::Polling, RxMode::Adaptive], &[]);
        let change = PortSettingCommand::RxMode { index: 7, queue: 0, mode: RxMode::Adaptive };
        assert_eq!(found.configure(7, two(Some(Polling::Adaptive))), [change.into()]);
        assert_eq!(found.configure(7, two(None)), []);
        assert_eq!(found.observe().polling, [Polling::Polling, Polling::Adaptive].into());
        assert_eq!(InterfaceQueues::default().configure(7, two(Some(Polling::Interrupt))), []);
    }
}

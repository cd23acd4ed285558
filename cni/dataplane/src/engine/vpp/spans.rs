//! SPAN: which interfaces' frames are copied to which. VPP keeps that by index when interfaces are
//! deleted, and the next interface with the index of a destination would receive the frames of
//! another pod's port. So it is disabled before any interface that it names is deleted, also where
//! another client enabled it.

use super::command::VppCommand;
use crate::engine::error::EngineError;
use usnet_vpp::messages::{SpanState, SwInterfaceSpanDetails, SwInterfaceSpanDump, SwInterfaceSpanEnableDisable};
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

/// What is copied from where to where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spans(Vec<SwInterfaceSpanDetails>);

impl Spans {
    /// The requests that end all copies from and to an interface.
    pub(crate) fn stop_requests(&self, index: u32) -> impl Iterator<Item = SwInterfaceSpanEnableDisable> {
        let of_it = self.0.iter().filter(move |span| [span.sw_if_index_from, span.sw_if_index_to].contains(&index));
        of_it.map(|span| SwInterfaceSpanEnableDisable {
            sw_if_index_from: span.sw_if_index_from,
            sw_if_index_to: span.sw_if_index_to,
            state: SpanState::Disabled,
            is_l2: span.is_l2,
        })
    }

    /// The commands that stop copying, to be executed before the interface is deleted.
    pub(super) fn stop(&self, index: u32) -> impl Iterator<Item = VppCommand> {
        self.stop_requests(index).map(VppCommand::StopSpan)
    }
}

/// Where the answers are: of devices, and of bridge domains.
#[derive(Debug)]
pub(crate) struct SpansTicket(Vec<DumpTicket<SwInterfaceSpanDump>>);

impl SpansTicket {
    /// Requests all, if this VPP knows the message.
    pub(crate) fn request(batch: &mut Batch, api: &impl Api) -> Self {
        let levels = [false, true].into_iter().filter(|_| api.supports::<SwInterfaceSpanDump>());
        Self(levels.map(|is_l2| batch.dump(SwInterfaceSpanDump { is_l2 })).collect())
    }

    pub(crate) fn read(self, answers: &Answers) -> Result<Spans, EngineError> {
        let mut all = Vec::new();
        for ticket in self.0 {
            all.extend(answers.details(ticket)?);
        }
        Ok(Spans(all))
    }
}

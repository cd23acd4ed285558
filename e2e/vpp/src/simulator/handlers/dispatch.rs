//! From the bytes of a message to what does it, and back to the bytes of its answers.

use crate::simulator::model::state::State;
use std::fmt::Debug;
use usnet_vpp::wire::{DecodeError, Reader, Writer};
use usnet_vpp::{Descriptor, Dump, Message, Reply, Request, ReturnCode};

/// Why a request is not answered with success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is refused, with an empty reply.
    Refused(ReturnCode),
    /// VPP dies of it.
    Fatal,
}

impl From<ReturnCode> for Failure {
    fn from(code: ReturnCode) -> Self {
        Self::Refused(code)
    }
}

/// A request that the simulator does.
pub(crate) trait Handle: Request<Reply: Default> + Debug {
    /// Does it.
    fn handle(&self, state: &mut State) -> Result<Self::Reply, Failure>;
}

/// A dump that the simulator answers.
pub(crate) trait List: Dump + Debug {
    /// The answers.
    fn list(&self, state: &State) -> Vec<Self::Details>;
}

/// What is done with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is done.
    Do,
    /// It is refused because a fault says so.
    Refuse(i32),
    /// It is only read.
    Ignore,
}

/// What became of a message.
pub(crate) struct Outcome {
    /// The request's fields, for the log.
    pub(crate) fields: String,
    pub(crate) retval: Option<i32>,
    /// The fields of all answers.
    pub(crate) answers: Vec<Vec<u8>>,
    /// Whether VPP died of it.
    pub(crate) died: bool,
}

/// What does a kind of message.
pub(crate) struct Handler {
    pub(crate) request: Descriptor,
    pub(crate) answer: Descriptor,
    /// Whether it changes VPP's state.
    pub(crate) changes: bool,
    pub(crate) run: fn(&mut Reader<'_>, &mut State, Treatment) -> Result<Outcome, DecodeError>,
}

/// Only the name: nothing else of it is worth a line.
impl Debug for Handler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.request.name)
    }
}

/// A request that changes VPP.
pub(crate) const fn changing<R: Handle>() -> Handler {
    let (request, answer) = (Descriptor::of::<R>(), Descriptor::of::<R::Reply>());
    Handler { request, answer, changes: true, run: run_request::<R> }
}

/// A request that changes nothing that another client sees.
pub(crate) const fn reading<R: Handle>() -> Handler {
    Handler { changes: false, ..changing::<R>() }
}

/// A dump.
pub(crate) const fn listing<D: List>() -> Handler {
    let (request, answer) = (Descriptor::of::<D>(), Descriptor::of::<D::Details>());
    Handler { request, answer, changes: false, run: run_dump::<D> }
}

fn run_request<R: Handle>(
    reader: &mut Reader<'_>,
    state: &mut State,
    treatment: Treatment,
) -> Result<Outcome, DecodeError> {
    let request = R::decode(reader)?;
    let mut outcome = Outcome { fields: format!("{request:?}"), retval: None, answers: Vec::new(), died: false };
    let refused = match treatment {
        Treatment::Ignore => return Ok(outcome),
        Treatment::Refuse(retval) => retval,
        Treatment::Do => match request.handle(state) {
            Ok(reply) => {
                outcome.retval = Some(reply.retval());
                outcome.answers.push(fields_of(&reply));
                return Ok(outcome);
            }
            Err(Failure::Refused(code)) => code.number(),
            Err(Failure::Fatal) => {
                outcome.died = true;
                return Ok(outcome);
            }
        },
    };
    outcome.retval = Some(refused);
    outcome.answers.push(refusal::<R::Reply>(refused));
    Ok(outcome)
}

fn run_dump<D: List>(reader: &mut Reader<'_>, state: &mut State, treatment: Treatment) -> Result<Outcome, DecodeError> {
    let dump = D::decode(reader)?;
    let details = if treatment == Treatment::Do { dump.list(state) } else { Vec::new() };
    let answers = details.iter().map(fields_of).collect();
    Ok(Outcome { fields: format!("{dump:?}"), retval: None, answers, died: false })
}

/// The fields of a reply that says nothing but why not: `retval` is the first field of each.
fn refusal<R: Reply + Default>(retval: i32) -> Vec<u8> {
    let mut fields = fields_of(&R::default());
    if let Some(first) = fields.first_chunk_mut() {
        *first = retval.to_be_bytes();
    }
    fields
}

fn fields_of<M: Message>(message: &M) -> Vec<u8> {
    let mut writer = Writer::default();
    message.encode(&mut writer);
    writer.into_bytes()
}

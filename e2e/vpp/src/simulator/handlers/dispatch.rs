//! Dispatch: decodes a message, calls its handler, and encodes the answers.

use crate::simulator::model::state::State;
use std::fmt::Debug;
use usnet_vpp::wire::{DecodeError, Reader, Writer};
use usnet_vpp::{Descriptor, Dump, Get, Message, Reply, Request, ReturnCode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The request is refused with an empty reply.
    Refused(ReturnCode),
    /// The request crashes VPP.
    Fatal,
}

impl From<ReturnCode> for Failure {
    fn from(code: ReturnCode) -> Self {
        Self::Refused(code)
    }
}

/// A request that the simulator can execute.
pub(crate) trait Handle: Request<Reply: Default> + Debug {
    fn handle(&self, state: &mut State) -> Result<Self::Reply, Failure>;
}

/// A dump that the simulator can answer.
pub(crate) trait List: Dump + Debug {
    fn list(&self, state: &State) -> Vec<Self::Details>;
}

/// A message that the simulator answers with details and a reply.
pub(crate) trait Stream: Get<Reply: Default> + Debug {
    fn stream(&self, state: &State) -> Result<(Vec<Self::Details>, Self::Reply), Failure>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// The message is executed.
    Do,
    /// A fault refuses the message with this code.
    Refuse(i32),
    /// The message is decoded and not executed.
    Ignore,
}

/// The outcome of a message.
pub(crate) struct Outcome {
    /// The request's fields, for the log.
    pub(crate) fields: String,
    pub(crate) retval: Option<i32>,
    /// The encoded fields of each answer.
    pub(crate) answers: Vec<Vec<u8>>,
    /// The encoded fields of the reply that follows details.
    pub(crate) end: Option<Vec<u8>>,
    /// Whether the message crashed VPP.
    pub(crate) died: bool,
}

/// The handler of a kind of message.
pub(crate) struct Handler {
    pub(crate) request: Descriptor,
    pub(crate) answer: Descriptor,
    /// The reply that follows details.
    pub(crate) end: Option<Descriptor>,
    /// Whether messages of this kind change VPP's state.
    pub(crate) changes: bool,
    pub(crate) run: fn(&mut Reader<'_>, &mut State, Treatment) -> Result<Outcome, DecodeError>,
}

/// Prints the name of the message.
impl Debug for Handler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.request.name)
    }
}

/// Returns the handler of a request that changes VPP.
pub(crate) const fn changing<R: Handle>() -> Handler {
    let (request, answer) = (Descriptor::of::<R>(), Descriptor::of::<R::Reply>());
    Handler { request, answer, end: None, changes: true, run: run_request::<R> }
}

/// Returns the handler of a request that changes nothing that another client sees.
pub(crate) const fn reading<R: Handle>() -> Handler {
    Handler { changes: false, ..changing::<R>() }
}

/// Returns the handler of a dump.
pub(crate) const fn listing<D: List>() -> Handler {
    let (request, answer) = (Descriptor::of::<D>(), Descriptor::of::<D::Details>());
    Handler { request, answer, end: None, changes: false, run: run_dump::<D> }
}

/// Returns the handler of a message that is answered with details and a reply.
pub(crate) const fn streaming<G: Stream>() -> Handler {
    let (request, answer) = (Descriptor::of::<G>(), Descriptor::of::<G::Details>());
    Handler { request, answer, end: Some(Descriptor::of::<G::Reply>()), changes: false, run: run_stream::<G> }
}

fn run_request<R: Handle>(
    reader: &mut Reader<'_>,
    state: &mut State,
    treatment: Treatment,
) -> Result<Outcome, DecodeError> {
    let request = R::decode(reader)?;
    let mut outcome = Outcome::of(&request);
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
    Ok(Outcome { answers, ..Outcome::of(&dump) })
}

fn run_stream<G: Stream>(
    reader: &mut Reader<'_>,
    state: &mut State,
    treatment: Treatment,
) -> Result<Outcome, DecodeError> {
    let get = G::decode(reader)?;
    let mut outcome = Outcome::of(&get);
    match (treatment, get.stream(state)) {
        (Treatment::Ignore, _) => {}
        (Treatment::Refuse(retval), _) => outcome.refuse::<G::Reply>(retval),
        (Treatment::Do, Err(Failure::Refused(code))) => outcome.refuse::<G::Reply>(code.number()),
        (Treatment::Do, Err(Failure::Fatal)) => outcome.died = true,
        (Treatment::Do, Ok((details, reply))) => {
            outcome.answers = details.iter().map(fields_of).collect();
            (outcome.retval, outcome.end) = (Some(reply.retval()), Some(fields_of(&reply)));
        }
    }
    Ok(outcome)
}

impl Outcome {
    /// The outcome of a message that was not executed yet.
    fn of(request: &impl Debug) -> Self {
        Self { fields: format!("{request:?}"), retval: None, answers: Vec::new(), end: None, died: false }
    }

    fn refuse<R: Reply + Default>(&mut self, retval: i32) {
        (self.retval, self.end) = (Some(retval), Some(refusal::<R>(retval)));
    }
}

/// Encodes a reply that has only a code.
fn refusal<R: Reply + Default>(retval: i32) -> Vec<u8> {
    let mut fields = fields_of(&R::default());
    if let Some(code) = fields.get_mut(R::RETVAL_AT..).and_then(<[u8]>::first_chunk_mut) {
        *code = retval.to_be_bytes();
    }
    fields
}

fn fields_of<M: Message>(message: &M) -> Vec<u8> {
    let mut writer = Writer::default();
    message.encode(&mut writer);
    writer.into_bytes()
}

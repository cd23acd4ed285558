//! One request in a batch, and the outcome of it in the answers.

use usnet_vpp::{Answers, Batch, ReplyError, Request};

/// The result of a command: the index of the interface that it created, or 0.
pub(super) type Outcome = Result<u32, ReplyError>;

/// Finds an outcome in the answers.
pub(super) type Find = Box<dyn Fn(&Answers) -> Outcome + Send + Sync>;

/// A request that does not create an interface.
pub(super) fn add<R: Request + 'static>(batch: &mut Batch, request: R) -> Find {
    add_with(batch, request, |_| 0)
}

pub(super) fn add_with<R: Request + 'static>(batch: &mut Batch, request: R, created: fn(&R::Reply) -> u32) -> Find {
    let ticket = batch.request(request);
    Box::new(move |answers| answers.reply(ticket).map(|reply| created(&reply)))
}

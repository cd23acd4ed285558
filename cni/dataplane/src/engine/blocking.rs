//! Drivers for programs without an async runtime, such as the CNI plugin.
//!
//! Each driver is written once, as async code. On a blocking session every future is ready at the
//! first poll, because the session returns only when it has the reply. A driver on an async session
//! would not get beyond its first wait, because nothing polls it again. [`NeverWaits`] tells the
//! two apart at compile time; without it that mistake would show only when a pod is attached.

use super::committed::Committed;
use super::driver::EngineDriver;
use super::error::{EngineError, OpError};
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use crate::model::observed::Observed;
use crate::plan::Op;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use usnet_crds::EngineKind;

/// A session with an engine, or a driver on one, whose futures are ready at the first poll.
///
/// It is implemented for the blocking clients and for every driver on a session that has it:
///
/// ```no_run
/// use usnet_dataplane::engine::{BlockingDriver, NeverWaits};
/// use usnet_dataplane::ovs::OpenVswitch;
/// use usnet_ovsdb::{Database, Error, Reply, Transaction};
///
/// # struct Session;
/// # impl Database for Session {
/// #     async fn transact(&mut self, _: &Transaction) -> Result<Reply, Error> {
/// #         std::future::pending().await
/// #     }
/// # }
/// impl NeverWaits for Session {}
/// BlockingDriver::observe(&mut OpenVswitch::new(Session));
/// ```
///
/// The same session without the marker does not compile:
///
/// ```compile_fail
/// use usnet_dataplane::engine::{BlockingDriver, NeverWaits};
/// use usnet_dataplane::ovs::OpenVswitch;
/// use usnet_ovsdb::{Database, Error, Reply, Transaction};
///
/// # struct Session;
/// # impl Database for Session {
/// #     async fn transact(&mut self, _: &Transaction) -> Result<Reply, Error> {
/// #         std::future::pending().await
/// #     }
/// # }
/// BlockingDriver::observe(&mut OpenVswitch::new(Session));
/// ```
pub trait NeverWaits {}

/// A driver whose calls return when they are complete. Every [`EngineDriver`] on a blocking session
/// is one.
pub trait BlockingDriver {
    /// As [`EngineDriver::observe`].
    fn observe(&mut self) -> Result<Observed, EngineError>;

    /// As [`EngineDriver::observe_changed`].
    fn observe_changed(&mut self, before: Observed, operations: &[Op]) -> Result<Observed, EngineError>;

    /// As [`EngineDriver::apply`].
    fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError>;

    /// As [`EngineDriver::commit`].
    fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError>;

    /// As [`EngineDriver::complete`].
    fn complete(&mut self, operations: &[Op], committed: Committed) -> Result<Vec<Result<(), OpError>>, EngineError>;

    /// As [`EngineDriver::set_apply_timeout`].
    fn set_apply_timeout(&mut self, timeout: Duration);

    /// As [`EngineDriver::remove_legacy_port`].
    fn remove_legacy_port(&mut self, port: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineError>;
}

impl<D: EngineDriver + NeverWaits> BlockingDriver for D {
    fn observe(&mut self) -> Result<Observed, EngineError> {
        poll_once(D::ENGINE, EngineDriver::observe(self))
    }

    fn observe_changed(&mut self, before: Observed, operations: &[Op]) -> Result<Observed, EngineError> {
        poll_once(D::ENGINE, EngineDriver::observe_changed(self, before, operations))
    }

    fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        poll_once(D::ENGINE, EngineDriver::apply(self, operations))
    }

    fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError> {
        poll_once(D::ENGINE, EngineDriver::commit(self, operations))
    }

    fn complete(&mut self, operations: &[Op], committed: Committed) -> Result<Vec<Result<(), OpError>>, EngineError> {
        poll_once(D::ENGINE, EngineDriver::complete(self, operations, committed))
    }

    fn set_apply_timeout(&mut self, timeout: Duration) {
        EngineDriver::set_apply_timeout(self, timeout);
    }

    fn remove_legacy_port(&mut self, port: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineError> {
        poll_once(D::ENGINE, EngineDriver::remove_legacy_port(self, port))
    }
}

/// A session has [`NeverWaits`] and waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its driver needs an async runtime; this is a defect of usnet, please report it")]
struct WouldBlock;

/// Runs a future that is ready at the first poll. One that is not is an error and not a hang.
pub(crate) fn poll_once<T>(
    engine: EngineKind,
    future: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => Err(EngineError::Unavailable { engine, source: Box::new(WouldBlock) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[test]
    fn a_future_that_waits_is_an_error_and_not_a_hang() {
        assert_eq!(poll_once(EngineKind::Vpp, ready(Ok(7))).unwrap(), 7);
        let error = poll_once(EngineKind::Vpp, pending::<Result<(), _>>()).unwrap_err();
        let EngineError::Unavailable { engine: EngineKind::Vpp, source } = error else { panic!("{error:?}") };
        assert_eq!(source.downcast_ref(), Some(&WouldBlock));
    }
}

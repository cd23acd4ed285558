//! The queues of vhost-user ports in the schema of Open vSwitch. Other keys of the same columns are
//! of operators, such as `pmd-rxq-affinity`, or of the backend, and are kept.

use crate::model::port::{ObservedQueues, QueueSettings};
use usnet_ovsdb::{Interface, Mutation, Value};

/// The key of `other_config` that says by which queue a thread sends: by default, each by one of
/// its own.
const STEERING_KEY: &str = "tx-steering";
/// By one that follows from the flow of a frame.
const BY_FLOW: &str = "hash";
/// The key of `options`: how often it is tried again to send to a full queue.
const RETRIES_KEY: &str = "tx-retries-max";

pub(super) fn observe(interface: &Interface) -> ObservedQueues {
    ObservedQueues {
        are_spread: Some(interface.other_config.get(STEERING_KEY).is_some_and(|steering| steering == BY_FLOW)),
        transmit_retries: interface.options.get(RETRIES_KEY).cloned(),
        ..ObservedQueues::default()
    }
}

/// The mutations of a new interface.
pub(super) fn insert(settings: QueueSettings) -> impl Iterator<Item = Mutation> {
    let QueueSettings { are_spread, transmit_retries, polling: _ } = settings;
    let of_key = |column, key, value: &str| Mutation::insert(column, Value::map([(key, value)]));
    let steering = are_spread.then(|| of_key("other_config", STEERING_KEY, BY_FLOW));
    let retries = transmit_retries.map(|retries| of_key("options", RETRIES_KEY, &retries.to_string()));
    steering.into_iter().chain(retries)
}

/// The mutations of an interface that may have any of the settings.
pub(super) fn replace(settings: QueueSettings) -> impl Iterator<Item = Mutation> {
    let keys = [("other_config", STEERING_KEY), ("options", RETRIES_KEY)];
    keys.map(|(column, key)| Mutation::delete(column, Value::set([key]))).into_iter().chain(insert(settings))
}

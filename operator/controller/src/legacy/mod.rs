//! Evaluates users' NetworkAttachmentDefinitions (NADs), pure: a NAD that names a network is
//! checked, and bridges named by configurations of the userspace CNI (Intel) become networks.
//!
//! There is one network for each engine and bridge, labelled `usnet.dev/from-nad` and named after
//! the bridge ([`for_bridge`](usnet_crds::NetworkName::for_bridge)). All NADs that name the bridge
//! join it; the oldest defines the network, and its namespaces are those of the NADs. When a user's
//! network has the bridge, the NADs join that one. A network is generated only with the label
//! **and** the name that follows from its bridge: without the label it is a user's, and is not
//! changed here. NADs of users are never written.
//!
//! Any tenant who may write NADs can request networks on all nodes. Conversion can therefore be
//! disabled or limited to namespaces, and the number of networks is limited for each namespace; all
//! resulting writes have the lowest priority.
//!
//! 1. [`evaluate`](mod@evaluate): sorts NADs by the bridge that they name, [`member`]s of it;
//! 2. [`bridge`]: evaluates one bridge, whose network is made of its oldest NAD;
//! 3. [`evaluation`]: the result, writes and events ([`messages`]);
//! 4. [`event_deduplicator`]: reports each event once.

mod bridge;
mod evaluate;
mod evaluation;
mod event_deduplicator;
mod member;
mod messages;
mod options;

pub use evaluate::evaluate;
pub use evaluation::LegacyEvaluation;
pub use event_deduplicator::EventDeduplicator;
pub use options::{Conversion, NETWORKS_MAX, Options};

//! ADD of an interface that is attached already. A caller that did not learn the result of its
//! call, such as a controller that was killed before it stored it, calls again.

use super::request::AddRequest;
use super::run::Attached;
use crate::attachment::attach::PreparedAttachment;
use crate::attachment::ipam::is_same_request;
use crate::attachment::node::Node;
use crate::error::Error;
use crate::protocol::result::Assignment;
use crate::protocol::version::SpecVersion;
use crate::verbs::check::compare_record;
use usnet_dataplane::attachment::Record;

impl AddRequest<'_> {
    /// The result of the earlier ADD, if it had the same parameters and its attachment is intact.
    ///
    /// # Errors
    /// [`Error::AlreadyAttached`] with the parameters that differ, or [`Error::CheckFailed`] with
    /// the parts of the attachment that changed since.
    pub(super) fn repeat(&self, node: &Node, prepared: &PreparedAttachment, record: Record) -> Result<Attached, Error> {
        let recorded = Assignment::from_record(record.assignment.as_ref());
        let mut differences = differences(&prepared.record, &record);
        let mut requested = recorded.clone().unwrap_or_default();
        requested.set_default_routes(&prepared.request.default_route);
        if recorded.as_ref() != Some(&requested) {
            differences.push("default routes");
        }
        if !differences.is_empty() {
            return Err(Error::AlreadyAttached { id: self.id.clone(), differences });
        }
        let attached = Attached { record, assignment: requested, is_repeated: true };
        // Results of the first versions have neither the interface nor all of its addresses.
        let whole = self.result_in(SpecVersion::LATEST, &attached, None);
        compare_record(node, self.environment, &attached.record, &whole)?;
        Ok(attached)
    }
}

/// The parameters in which two ADDs differ. The port is not compared: it follows from the network,
/// which may have changed meanwhile.
fn differences(requested: &Record, attached: &Record) -> Vec<&'static str> {
    let addresses_differ = requested.addresses.iter().any(|address| !attached.addresses.contains(address));
    let is_same_ipam = match (&requested.ipam, &attached.ipam) {
        (Some(requested), Some(attached)) => is_same_request(requested, attached),
        (requested, attached) => requested == attached,
    };
    let compared = [
        ("pod", requested.pod != attached.pod),
        ("network", requested.network != attached.network || requested.engine != attached.engine),
        (
            "network namespace",
            requested.network_namespace != attached.network_namespace
                || requested.network_namespace_inode != attached.network_namespace_inode,
        ),
        ("directory", requested.pod_directory != attached.pod_directory),
        ("MAC address", requested.mac != attached.mac),
        ("addresses", addresses_differ || !is_same_ipam),
        ("rate limits", requested.requested_rate_limit != attached.requested_rate_limit),
        ("name of the configuration", requested.configuration_name != attached.configuration_name),
        ("interface of the call", requested.invoked_ifname != attached.invoked_ifname),
    ];
    compared.into_iter().filter(|(_, differs)| *differs).map(|(parameter, _)| parameter).collect()
}

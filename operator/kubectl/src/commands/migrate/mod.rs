//! `kubectl usnet migrate check`: evaluates the NetworkAttachmentDefinitions of Intel's userspace
//! CNI before usnet is installed or its controller converts them.

mod pods;
mod report;
mod text;

use crate::api::{Cluster, Scope, is_unknown_kind, unreadable};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::{Pod, Unread};
use crate::output::{Format, Output, render};
use clap::Subcommand;
use k8s_openapi::api::core::v1;
use usnet_controller::cache::parse;
use usnet_controller::cache::partial_objects::{Config, NadObject, NamespaceObject, NetworkObject};
use usnet_controller::cache::{Cache, Namespace, nads::Availability};
use usnet_crds::legacy;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Action {
    /// Show which NetworkAttachmentDefinitions of the userspace CNI (Intel) work with usnet, which
    /// of their keys are ignored, why others are rejected, and which pods have to be changed.
    Check(Options),
}

/// Options of `kubectl usnet migrate check`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Show the NetworkAttachmentDefinitions of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
}

/// Runs the command. Networks are read if usnet is installed.
pub(crate) async fn run(cluster: &Cluster, action: &Action, format: Format) -> Result<Output, Error> {
    let Action::Check(options) = action;
    let mut unread = Vec::new();
    let convert = |object: NadObject| {
        let ignored = match &object.spec.config {
            Config::Text(config) => legacy::ignored_keys(config),
            Config::TooLong(_) => Vec::new(),
        };
        let (key, nad) = parse::nad(&object);
        (key, nad, ignored)
    };
    let namespace = (!options.all_namespaces).then(|| cluster.namespace());
    let scope = namespace.map_or(Scope::Cluster, Scope::Namespace);
    let (nads, namespaces, networks, pods) = futures::join!(
        cluster.list(Scope::Cluster, None, convert),
        cluster.list(Scope::Cluster, None, |object: NamespaceObject| parse::namespace(&object)),
        cluster.list(Scope::Cluster, None, |object: NetworkObject| parse::network(&object)),
        cluster.list(scope, None, |pod: v1::Pod| Pod::from(pod)),
    );
    let nads = match nads {
        Err(error) if is_unknown_kind(&error) => return Err(Error::MultusMissing),
        nads => nads?,
    };
    unread.extend(unreadable("NetworkAttachmentDefinitions", &nads));
    let mut cache = Cache::default();
    match networks {
        Ok(networks) => {
            unread.extend(unreadable("networks", &networks));
            cache.networks.extend(networks.objects);
        }
        Err(error) if is_unknown_kind(&error) => {}
        Err(error) => unread.push(Unread { what: "networks".to_owned(), why: error.sentence() }),
    }
    match namespaces {
        Ok(namespaces) => cache.namespaces.extend(namespaces.objects),
        Err(error) => unread.push(Unread { what: "namespaces".to_owned(), why: error.sentence() }),
    }
    cache.nads.availability = Availability::Known;
    let mut ignored = report::Ignored::new();
    for (key, nad, keys) in nads.objects {
        cache.namespaces.entry(key.namespace.clone()).or_insert_with(Namespace::default);
        ignored.insert(key.clone(), keys);
        cache.nads.insert(key, nad);
    }
    let mut report = report::report(&cache, &ignored, namespace, unread);
    report.add_pods(pods);
    let exit_status = if report.has_rejected() { PROBLEM } else { SUCCESS };
    Ok(Output { text: render(&report, format, text::text)?, exit_status })
}

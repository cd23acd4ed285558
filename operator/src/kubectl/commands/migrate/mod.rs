//! `kubectl usnet migrate check`: what becomes of the NetworkAttachmentDefinitions of Intel's
//! userspace CNI, before usnet is installed or its controller converts them.

mod report;
mod text;

use crate::controller::cache::parse;
use crate::controller::cache::partial_objects::{Config, NadObject, NamespaceObject, NetworkObject};
use crate::controller::cache::{Cache, Namespace, nads::Availability};
use crate::kubectl::api::{Cluster, Scope, is_missing, unreadable};
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::model::Gap;
use crate::kubectl::output::{Answer, Format, render};
use clap::Subcommand;
use usnet_crds::legacy;

/// What to do about a migration.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Action {
    /// Show which NetworkAttachmentDefinitions of the userspace CNI (Intel) work with usnet, what
    /// in them is ignored, and why others are rejected.
    Check(Options),
}

/// Options of `kubectl usnet migrate check`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Show the NetworkAttachmentDefinitions of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
}

/// Reads and answers. Networks are read if usnet is installed.
///
/// # Errors
/// When NetworkAttachmentDefinitions cannot be read.
pub(crate) async fn run(cluster: &Cluster, action: &Action, format: Format) -> Result<Answer, Error> {
    let Action::Check(options) = action;
    let mut gaps = Vec::new();
    let convert = |object: NadObject| {
        let ignored = match &object.spec.config {
            Config::Text(config) => legacy::ignored_keys(config),
            Config::TooLong(_) => Vec::new(),
        };
        let (key, nad) = parse::nad(&object);
        (key, nad, ignored)
    };
    let (nads, namespaces, networks) = futures::join!(
        cluster.list(Scope::Cluster, None, convert),
        cluster.list(Scope::Cluster, None, |object: NamespaceObject| parse::namespace(&object)),
        cluster.list(Scope::Cluster, None, |object: NetworkObject| parse::network(&object)),
    );
    let nads = match nads {
        Err(error) if is_missing(&error) => return Err(Error::WithoutMultus),
        nads => nads?,
    };
    gaps.extend(unreadable("NetworkAttachmentDefinitions", &nads));
    let mut cache = Cache::default();
    match networks {
        Ok(networks) => {
            gaps.extend(unreadable("networks", &networks));
            cache.networks.extend(networks.objects);
        }
        Err(error) if is_missing(&error) => {}
        Err(error) => gaps.push(Gap { what: "networks".to_owned(), why: error.sentence() }),
    }
    match namespaces {
        Ok(namespaces) => cache.namespaces.extend(namespaces.objects),
        Err(error) => gaps.push(Gap { what: "namespaces".to_owned(), why: error.sentence() }),
    }
    cache.nads.availability = Availability::Known;
    let mut ignored = report::Ignored::new();
    for (key, nad, keys) in nads.objects {
        cache.namespaces.entry(key.namespace.clone()).or_insert_with(Namespace::default);
        ignored.insert(key.clone(), keys);
        cache.nads.insert(key, nad);
    }
    let namespace = (!options.all_namespaces).then(|| cluster.namespace());
    let report = report::report(&cache, &ignored, namespace, gaps);
    let exit_status = if report.has_rejected() { PROBLEM } else { FINE };
    Ok(Answer { text: render(&report, format, text::text)?, exit_status })
}

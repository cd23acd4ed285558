//! `kubectl usnet migrate check`: evaluates the NetworkAttachmentDefinitions of Intel's userspace
//! CNI before usnet is installed or its controller converts them. `migrate plan` puts what happens
//! in order.

mod plan;
mod pods;
mod report;
mod text;

use crate::api::{Cluster, Listed, Scope, is_unknown_kind, unreadable};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::{Added, Pod, Unread};
use crate::output::{Format, Output, render};
use clap::Subcommand;
use k8s_openapi::api::core::v1;
use std::collections::BTreeSet;
use usnet_controller::cache::parse;
use usnet_controller::cache::partial_objects::{Config, NadObject, NamespaceObject, NetworkObject};
use usnet_controller::cache::{Cache, Namespace, nads::Availability, nads::Nad, nads::NadKey};
use usnet_crds::UserspaceAttachment;
use usnet_crds::legacy::{self, NadConfig};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Action {
    /// Show which NetworkAttachmentDefinitions of the userspace CNI (Intel) work with usnet, which
    /// of their keys are ignored, why others are rejected, and which pods have to be changed.
    Check(Options),
    /// Show what happens, in order, when usnet replaces the userspace CNI (Intel), and on the way
    /// back: what has to be changed before, which pods keep their interfaces, and which have to be
    /// deleted.
    Plan(Options),
}

/// Options of `kubectl usnet migrate`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Show all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
}

/// Runs the command. Networks are read if usnet is installed.
pub(crate) async fn run(cluster: &Cluster, action: &Action, format: Format) -> Result<Output, Error> {
    let (Action::Check(options) | Action::Plan(options)) = action;
    let namespace = (!options.all_namespaces).then(|| cluster.namespace());
    let Read { cache, ignored, networks, pods, unread } = read(cluster, namespace).await?;
    let mut report = report::report(&cache, &ignored, namespace, unread);
    report.add_pods(&pods);
    let exit_status = if report.has_rejected() { PROBLEM } else { SUCCESS };
    let text = match action {
        Action::Check(_) => render(&report, format, text::text)?,
        Action::Plan(_) => {
            let added = read_added(cluster, namespace, &mut report.not_read).await;
            let attached = plan::Attached { pods: &pods, added: &added, networks: &networks };
            render(&plan::plan(&cache, report, attached), format, plan::text)?
        }
    };
    Ok(Output { text, exit_status })
}

/// What both commands read.
struct Read {
    cache: Cache,
    ignored: report::Ignored,
    /// The definitions that name a network of usnet.
    networks: BTreeSet<NadKey>,
    pods: Vec<Pod>,
    unread: Vec<Unread>,
}

async fn read(cluster: &Cluster, namespace: Option<&str>) -> Result<Read, Error> {
    let mut unread = Vec::new();
    let convert = |object: NadObject| {
        let ignored = match &object.spec.config {
            Config::Text(config) => legacy::ignored_keys(config),
            Config::TooLong(_) => Vec::new(),
        };
        let (key, nad) = parse::nad(&object);
        (key, nad, ignored)
    };
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
        Err(error) if is_unknown_kind(&error) => {}
        networks => cache.networks.extend(listed("networks", networks, &mut unread)),
    }
    cache.namespaces.extend(listed("namespaces", namespaces, &mut unread));
    let pods = listed("pods", pods, &mut unread);
    cache.nads.availability = Availability::Known;
    let (mut ignored, mut networks) = (report::Ignored::new(), BTreeSet::new());
    for (key, nad, keys) in nads.objects {
        if names_network(&nad) {
            networks.insert(key.clone());
        }
        cache.namespaces.entry(key.namespace.clone()).or_insert_with(Namespace::default);
        ignored.insert(key.clone(), keys);
        cache.nads.insert(key, nad);
    }
    Ok(Read { cache, ignored, networks, pods, unread })
}

/// Reads the interfaces that were added to running pods.
async fn read_added(cluster: &Cluster, namespace: Option<&str>, unread: &mut Vec<Unread>) -> Vec<Added> {
    let scope = namespace.map_or(Scope::Cluster, Scope::Namespace);
    match cluster.list(scope, None, |object: UserspaceAttachment| Added::from(object)).await {
        Err(error) if is_unknown_kind(&error) => Vec::new(),
        added => listed("UserspaceAttachments", added, unread),
    }
}

/// Whether pods of a definition can be attached by usnet alone.
fn names_network(nad: &Nad) -> bool {
    match nad {
        Nad::Generated(_) => true,
        Nad::User(nad) => matches!(nad.config, Ok(NadConfig::Network(_))),
        Nad::Other => false,
    }
}

/// The objects of a list; one that cannot be read is reported.
fn listed<T>(what: &str, listed: Result<Listed<T>, Error>, unread: &mut Vec<Unread>) -> Vec<T> {
    match listed {
        Ok(listed) => {
            unread.extend(unreadable(what, &listed));
            listed.objects
        }
        Err(error) => {
            unread.push(Unread { what: what.to_owned(), why: error.sentence() });
            Vec::new()
        }
    }
}

//! Lists all objects of one kind and then watches them, indefinitely (IO).
//!
//! `kube::runtime::watcher` cannot be used here for two reasons. It hides the resourceVersion of a
//! list, up to which the agent reports. And it continues a watch from its last resourceVersion
//! whatever happened: after etcd was restored from a backup that version is in the future, and an
//! API server then answers "Too large resource version", or nothing at all until its own versions
//! have caught up. Here a watch that ended early is continued only after the API server has shown
//! that it is still at that version or beyond, and that the last changed object is unchanged;
//! otherwise everything is listed again.

mod error;
mod object;

pub(crate) use error::Error;
pub(crate) use object::Object;

use error::is_lost;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::ObjectList;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use usnet_crds::node_selection::resource_version;

/// The number of objects in one page of a list, as in client-go. Larger pages cost the API server
/// memory for each agent that restarts, smaller ones more requests.
const PAGE: u32 = 500;
/// How long a request may take. An overloaded API server may need many seconds for a list; one that
/// does not answer at all must not block the agent until TCP times out, which takes minutes.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How many seconds the API server keeps a watch open, chosen at random: thousands of agents must
/// not reconnect at the same moment. A shorter watch costs requests, and a longer one may be cut by
/// a proxy that closes silent connections after five minutes.
const WATCH_SECONDS: std::ops::Range<u32> = 200..290;
/// How much longer the agent waits for the end of a watch. The end may get lost with the
/// connection, which would leave the agent without changes and without an error.
const END_MARGIN: Duration = Duration::from_secs(5);
/// A watch that ends at most this much before its time counts as complete: the API server begins to
/// count before its answer arrives here.
const EARLY: Duration = Duration::from_secs(2);

/// What happened to the objects.
#[derive(Debug)]
pub(crate) enum Event<K> {
    /// A page of a list.
    Page {
        objects: Vec<Object<K>>,
        /// Whether a new list begins with this page. Pages of an earlier, incomplete list are
        /// discarded.
        is_first: bool,
        /// The resourceVersion of the list, with its last page.
        complete: Option<u64>,
    },
    /// An object is new or has changed.
    Applied(Object<K>),
    /// An object was deleted.
    Deleted(Object<K>),
    /// A watch was opened: all further changes will be received.
    Opened,
}

type Events<K> = BoxStream<'static, kube::Result<WatchEvent<Object<K>>>>;

enum State<K> {
    /// No resourceVersion is known from which to continue.
    Unknown,
    /// Part of a list was read.
    Listing { next_page: String },
    /// Everything up to a resourceVersion is known.
    Known {
        version: String,
        /// Whether the API server is known to be at that version or beyond.
        is_confirmed: bool,
    },
    /// A watch is open.
    Watching { version: String, events: Events<K>, since: Instant, seconds: u32 },
}

/// The last change that was seen. It reveals a restored etcd whose versions have caught up: there
/// the object has another version, or is missing.
struct LastChange {
    name: String,
    /// The resourceVersion; none after a deletion.
    version: Option<String>,
}

/// All objects of one kind, or those with certain fields or labels.
pub(crate) struct ListWatch<K> {
    api: Api<Object<K>>,
    fields: Option<String>,
    labels: Option<String>,
    state: State<K>,
    last_change: Option<LastChange>,
}

impl LastChange {
    fn applied<K>(object: &Object<K>) -> Self {
        Self { name: object.name().to_owned(), version: object.metadata.resource_version.clone() }
    }
}

impl<K> ListWatch<K>
where
    Object<K>:
        kube::Resource<DynamicType = ()> + serde::de::DeserializeOwned + Clone + std::fmt::Debug + Send + 'static,
{
    pub(crate) fn new(client: kube::Client, fields: Option<String>) -> Self {
        Self { api: Api::all(client), fields, labels: None, state: State::Unknown, last_change: None }
    }

    /// Those that a selector of labels selects.
    pub(crate) fn labelled(client: kube::Client, labels: String) -> Self {
        Self { labels: Some(labels), ..Self::new(client, None) }
    }

    /// Waits for the next event. After an error the caller waits for some time and calls again.
    pub(crate) async fn next(&mut self) -> Result<Event<K>, Error> {
        loop {
            match std::mem::replace(&mut self.state, State::Unknown) {
                State::Unknown => return self.list(None).await,
                State::Listing { next_page } => return self.list(Some(next_page)).await,
                State::Known { version, is_confirmed: true } => {
                    self.open(version).await?;
                    return Ok(Event::Opened);
                }
                State::Known { version, is_confirmed: false } => self.confirm(version).await?,
                State::Watching { version, events, since, seconds } => {
                    if let Some(event) = self.follow(version, events, since, seconds).await? {
                        return Ok(event);
                    }
                }
            }
        }
    }

    /// Reads one page of a list. If that fails the list begins again.
    async fn list(&mut self, page: Option<String>) -> Result<Event<K>, Error> {
        let is_first = page.is_none();
        let list = self.request_list(PAGE, page, self.fields.clone()).await?;
        let version = list.metadata.resource_version.ok_or(Error::NoVersion)?;
        if is_first {
            self.last_change = None;
        }
        self.remember_newest(&list.items);
        let mut complete = None;
        self.state = match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(next_page) => State::Listing { next_page },
            None => {
                complete = Some(resource_version(Some(&version)));
                State::Known { version, is_confirmed: true }
            }
        };
        Ok(Event::Page { objects: list.items, is_first, complete })
    }

    fn remember_newest(&mut self, objects: &[Object<K>]) {
        let number = |version: &Option<String>| resource_version(version.as_deref());
        let newest = objects.iter().max_by_key(|object| number(&object.metadata.resource_version));
        let known = self.last_change.as_ref().map_or(0, |last| number(&last.version));
        if let Some(newest) = newest.filter(|newest| number(&newest.metadata.resource_version) > known) {
            self.last_change = Some(LastChange::applied(newest));
        }
    }

    async fn request_list(
        &self,
        limit: u32,
        page: Option<String>,
        fields: Option<String>,
    ) -> Result<ObjectList<Object<K>>, Error> {
        let parameters = ListParams {
            field_selector: fields,
            label_selector: self.labels.clone(),
            limit: Some(limit),
            continue_token: page,
            ..ListParams::default()
        };
        in_time(self.api.list(&parameters)).await.map_err(Error::List)
    }

    /// Asks the API server for its resourceVersion and for the object that was changed last, and
    /// lists everything again if the version went back or the object has changed.
    async fn confirm(&mut self, version: String) -> Result<(), Error> {
        self.state = State::Known { version: version.clone(), is_confirmed: false };
        let last = self.last_change.as_ref();
        let fields = last.map(|last| format!("metadata.name={}", last.name)).or_else(|| self.fields.clone());
        let list = self.request_list(1, None, fields).await?;
        let found = list.metadata.resource_version.ok_or(Error::NoVersion)?;
        let of_object = list.items.into_iter().next().and_then(|object| object.metadata.resource_version);
        if resource_version(Some(&found)) < resource_version(Some(&version)) {
            tracing::warn!(
                known = version,
                found,
                "the resourceVersion of the API server went back; listing all objects again"
            );
            self.state = State::Unknown;
        } else if of_object.as_ref() != last.and_then(|last| last.version.as_ref()) {
            // The object was changed meanwhile, or etcd was restored.
            self.state = State::Unknown;
        } else {
            self.state = State::Known { version, is_confirmed: true };
        }
        Ok(())
    }

    async fn open(&mut self, version: String) -> Result<(), Error> {
        let seconds = fastrand::u32(WATCH_SECONDS);
        let parameters = WatchParams {
            field_selector: self.fields.clone(),
            label_selector: self.labels.clone(),
            timeout: Some(seconds),
            ..WatchParams::default()
        };
        match in_time(self.api.watch(&parameters, &version)).await {
            Ok(events) => {
                let events = events.into_stream().boxed();
                self.state = State::Watching { version, events, since: Instant::now(), seconds };
                Ok(())
            }
            Err(error) => {
                self.continue_unless_lost(version, matches!(&error, kube::Error::Api(status) if is_lost(status)));
                Err(Error::Watch(error))
            }
        }
    }

    fn continue_unless_lost(&mut self, version: String, is_lost: bool) {
        self.state = if is_lost { State::Unknown } else { State::Known { version, is_confirmed: false } };
    }

    /// Waits for an event of an open watch; none if the watch ended or sent only a bookmark.
    async fn follow(
        &mut self,
        version: String,
        mut events: Events<K>,
        since: Instant,
        seconds: u32,
    ) -> Result<Option<Event<K>>, Error> {
        let whole = Duration::from_secs(seconds.into());
        let left = (whole + END_MARGIN).saturating_sub(since.elapsed());
        let (version, event) = match timeout(left, events.next()).await {
            Ok(Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)))) => {
                self.last_change = Some(LastChange::applied(&object));
                (object::version(&object)?, Some(Event::Applied(object)))
            }
            Ok(Some(Ok(WatchEvent::Deleted(object)))) => {
                self.last_change = Some(LastChange { name: object.name().to_owned(), version: None });
                (object::version(&object)?, Some(Event::Deleted(object)))
            }
            Ok(Some(Ok(WatchEvent::Bookmark(bookmark)))) => (bookmark.metadata.resource_version, None),
            Ok(Some(Ok(WatchEvent::Error(status)))) => {
                self.continue_unless_lost(version, is_lost(&status));
                return Err(Error::Watch(kube::Error::Api(status)));
            }
            Ok(Some(Err(error))) => {
                let is_lost = matches!(&error, kube::Error::Api(status) if is_lost(status));
                self.continue_unless_lost(version, is_lost);
                return Err(Error::Watch(error));
            }
            Ok(None) | Err(_) => {
                // A watch that ends in time was ended by the API server that opened it, which has
                // not lost anything meanwhile. After any other end all agents would reconnect at
                // the same moment; the error makes them back off.
                let is_confirmed = since.elapsed() + EARLY >= whole;
                self.state = State::Known { version, is_confirmed };
                return if is_confirmed { Ok(None) } else { Err(Error::EndedEarly) };
            }
        };
        self.state = State::Watching { version, events, since, seconds };
        Ok(event)
    }
}

/// Lets a request fail that is not answered in time.
async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    timeout(REQUEST_TIMEOUT, request).await.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into())))
}

#[cfg(test)]
mod tests;

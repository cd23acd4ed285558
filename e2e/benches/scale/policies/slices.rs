//! What a watcher of all slices sees.

use super::replay::Recording;
use futures::StreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;
use usnet_crds::UserspacePodSlice;
use usnet_crds::policy::pods::SelectorId;

/// What was seen since it was taken last.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) events: usize,
    pub(super) bytes: usize,
    /// From the report of a pod to its slice.
    pub(super) starts: Vec<Duration>,
    /// From labels to the slice.
    pub(super) labels: Vec<Duration>,
}

/// When pods started and got other labels, and when slices say so. Either may come first.
#[derive(Default)]
pub(super) struct Delays(Mutex<State>);

#[derive(Default)]
struct State {
    seen: Seen,
    /// Each slice with its length.
    slices: BTreeMap<String, (usize, UserspacePodSlice)>,
    recording: Option<Recording>,
    /// The selectors that select each pod.
    pods: BTreeMap<String, BTreeSet<SelectorId>>,
    /// When each pod was seen first, of those whose report is not known yet.
    arrived: BTreeMap<String, Instant>,
    started: BTreeMap<String, Instant>,
    relabelled: BTreeMap<String, Instant>,
    /// When the selectors of a pod were seen to change.
    changed: BTreeMap<String, Instant>,
}

impl Delays {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A pod was reported.
    pub(super) fn started(&self, uid: &str) {
        let (now, mut state) = (Instant::now(), self.state());
        match state.arrived.remove(uid) {
            Some(seen) => state.seen.starts.push(seen.saturating_duration_since(now)),
            None => drop(state.started.insert(uid.to_owned(), now)),
        }
    }

    /// A pod has other labels.
    pub(super) fn relabelled(&self, uid: &str) {
        let (now, mut state) = (Instant::now(), self.state());
        match state.changed.remove(uid) {
            Some(seen) => state.seen.labels.push(seen.saturating_duration_since(now)),
            None => drop(state.relabelled.insert(uid.to_owned(), now)),
        }
    }
}

impl State {
    fn apply(&mut self, slice: UserspacePodSlice) {
        let length = serde_json::to_string(&slice).unwrap_or_default().len();
        (self.seen.events, self.seen.bytes) = (self.seen.events + 1, self.seen.bytes + length);
        for (uid, pod) in slice.spec.pods() {
            let class = &pod.class;
            match self.pods.insert(uid.clone(), class.selected_by.clone()) {
                None => match self.started.remove(&uid) {
                    Some(began) => self.seen.starts.push(began.elapsed()),
                    None => drop(self.arrived.insert(uid, Instant::now())),
                },
                Some(before) if before != class.selected_by => match self.relabelled.remove(&uid) {
                    Some(began) => self.seen.labels.push(began.elapsed()),
                    None => drop(self.changed.insert(uid, Instant::now())),
                },
                Some(_) => {}
            }
        }
        if let Some(recording) = &mut self.recording {
            recording.saw(&slice);
        }
        self.slices.insert(slice.name_any(), (length, slice));
    }
}

/// Follows all slices until it is dropped.
pub(super) struct Slices {
    delays: Arc<Delays>,
    task: AbortHandle,
}

impl Slices {
    pub(super) fn follow(client: Client) -> Self {
        let delays = Arc::<Delays>::default();
        let seen = Arc::clone(&delays);
        let follow = async move {
            let mut events = watcher(Api::<UserspacePodSlice>::all(client), Config::default()).boxed();
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Apply(slice) | Event::InitApply(slice)) => seen.state().apply(slice),
                    Ok(Event::Delete(slice)) => drop(seen.state().slices.remove(&slice.name_any())),
                    Ok(Event::Init | Event::InitDone) => {}
                    Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
                }
            }
        };
        Self { delays, task: tokio::spawn(follow).abort_handle() }
    }

    pub(super) fn delays(&self) -> Arc<Delays> {
        Arc::clone(&self.delays)
    }

    pub(super) fn take(&mut self) -> Seen {
        std::mem::take(&mut self.delays.state().seen)
    }

    /// Records what is written from now on.
    pub(super) fn record(&mut self) {
        let mut state = self.delays.state();
        let slices = state.slices.values().map(|(_, slice)| slice.clone()).collect();
        state.recording = Some(Recording::begin(slices));
    }

    /// Ends the record.
    pub(super) fn recorded(&mut self) -> Option<Recording> {
        self.delays.state().recording.take()
    }

    pub(super) fn count(&self) -> usize {
        self.delays.state().slices.len()
    }

    /// How many pods are in slices.
    pub(super) fn pods(&self) -> usize {
        self.delays.state().slices.values().map(|(_, slice)| slice.spec.pods_count()).sum()
    }

    pub(super) fn sizes(&self) -> String {
        let mut all: Vec<usize> = self.delays.state().slices.values().map(|(length, _)| *length).collect();
        all.sort_unstable();
        let [usual, most] = [all.get(all.len() / 2), all.last()].map(|length| length.copied().unwrap_or_default());
        format!("{usual} / {most}")
    }
}

impl Drop for Slices {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The middle of all, and what 99 of 100 do not exceed.
pub(super) fn percentiles(delays: &[Duration]) -> [Option<Duration>; 2] {
    let mut all = delays.to_vec();
    all.sort_unstable();
    [all.len() / 2, all.len() * 99 / 100].map(|place| all.get(place).copied())
}

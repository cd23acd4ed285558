//! What usnet wrote, from the audit log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum User {
    Controller,
    Policies,
    Agent,
}

/// One request that changes something.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) user: User,
    pub(crate) verb: String,
    /// With its subresource, as `userspacenodestates/status`.
    pub(crate) resource: String,
    /// With its namespace.
    pub(crate) name: String,
    pub(crate) status: u64,
    /// When the API server got it, RFC 3339.
    pub(crate) time: String,
}

impl Write {
    fn is_lease(&self) -> bool {
        self.resource == "leases"
    }

    fn is_done(&self) -> bool {
        self.status < 400
    }
}

/// Reads on from where it was.
pub(crate) struct Audit {
    log: PathBuf,
    offset: u64,
    /// The end of a line that is not whole yet.
    rest: Vec<u8>,
    writes: Vec<Write>,
}

impl Audit {
    pub(crate) fn of(log: &Path) -> Self {
        Self { log: log.to_owned(), offset: 0, rest: Vec::new(), writes: Vec::new() }
    }

    /// Reads what is new; says whether there was a write other than to the lease.
    pub(crate) fn poll(&mut self) -> bool {
        let Ok(mut file) = File::open(&self.log) else { return false };
        file.seek(SeekFrom::Start(self.offset)).expect("a place in the audit log");
        let read = file.read_to_end(&mut self.rest).expect("the audit log is read");
        self.offset += read as u64;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return false };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let before = self.writes.len();
        let events = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        self.writes.extend(events.filter_map(|line| write(&serde_json::from_slice(line).expect("an audit event"))));
        self.writes[before..].iter().any(|write| !write.is_lease())
    }

    /// All that was written since this was called last.
    pub(crate) fn take(&mut self) -> Writes {
        self.poll();
        Writes(std::mem::take(&mut self.writes))
    }
}

fn write(event: &Value) -> Option<Write> {
    let user = match event["user"]["username"].as_str()? {
        "system:serviceaccount:usnet-system:usnet-controller" => User::Controller,
        "system:serviceaccount:usnet-system:usnet-policies" => User::Policies,
        "system:serviceaccount:usnet-system:usnet-agent" => User::Agent,
        _ => return None,
    };
    let object = &event["objectRef"];
    let part = |name: &str| object[name].as_str().unwrap_or_default();
    let slash = if part("subresource").is_empty() { "" } else { "/" };
    Some(Write {
        user,
        verb: event["verb"].as_str()?.to_owned(),
        resource: format!("{}{slash}{}", part("resource"), part("subresource")),
        name: format!("{}/{}", part("namespace"), part("name")).trim_start_matches('/').to_owned(),
        status: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        time: event["requestReceivedTimestamp"].as_str().unwrap_or_default().to_owned(),
    })
}

/// The writes of a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes(pub(crate) Vec<Write>);

impl Writes {
    fn done<'a>(&'a self, user: User, resource: &'a str) -> impl Iterator<Item = &'a Write> {
        self.0.iter().filter(move |write| write.is_done() && write.user == user && write.resource == resource)
    }

    pub(crate) fn count(&self, user: User, resource: &str) -> usize {
        self.done(user, resource).count()
    }

    /// How often each object was written.
    pub(crate) fn by_object(&self, user: User, resource: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for write in self.done(user, resource) {
            *counts.entry(write.name.clone()).or_default() += 1;
        }
        counts
    }

    /// How often the object was written that was written most.
    pub(crate) fn most(&self, user: User, resource: &str) -> usize {
        self.by_object(user, resource).into_values().max().unwrap_or_default()
    }

    /// The most writes in one second of the clock.
    pub(crate) fn most_in_a_second(&self, user: User, resource: &str) -> usize {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for write in self.done(user, resource) {
            *counts.entry(write.time.split('.').next().unwrap_or_default()).or_default() += 1;
        }
        counts.into_values().max().unwrap_or_default()
    }

    /// The most writes of one object in one second of the clock.
    pub(crate) fn most_in_a_second_of_one(&self, user: User, resource: &str) -> usize {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for write in self.done(user, resource) {
            *counts.entry((&write.name, write.time.split('.').next().unwrap_or_default())).or_default() += 1;
        }
        counts.into_values().max().unwrap_or_default()
    }

    /// All but renewals of the lease.
    pub(crate) fn besides_lease(&self) -> usize {
        self.0.iter().filter(|write| !write.is_lease()).count()
    }

    /// Each kind of write with its count; refused ones apart, with the status.
    pub(crate) fn kinds(&self) -> BTreeMap<String, usize> {
        let mut kinds = BTreeMap::new();
        for write in self.0.iter().filter(|write| !write.is_lease()) {
            let refused = if write.is_done() { String::new() } else { format!(" (answer {})", write.status) };
            *kinds.entry(format!("{:?}: {} {}{refused}", write.user, write.verb, write.resource)).or_default() += 1;
        }
        kinds
    }
}

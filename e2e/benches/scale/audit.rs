//! What the controller asked of the API server, from the audit log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Reads on from where it was.
pub(crate) struct Audit {
    log: PathBuf,
    read: usize,
}

impl Audit {
    pub(crate) fn of(log: &Path) -> Self {
        Self { log: log.to_owned(), read: 0 }
    }

    /// Writes since the last call, by verb and resource.
    pub(crate) fn writes(&mut self) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may not be whole yet.
        let end = text.rfind('\n').map_or(self.read, |end| end + 1);
        let mut writes = BTreeMap::new();
        for line in text[self.read..end].lines() {
            let event: Value = serde_json::from_str(line).expect("an audit event");
            let (verb, object) = (event["verb"].as_str().unwrap_or_default(), &event["objectRef"]);
            if !matches!(verb, "get" | "list" | "watch") {
                let part = |name: &str| object[name].as_str().unwrap_or_default();
                let subresource = Some(part("subresource")).filter(|it| !it.is_empty());
                let slash = subresource.map(|it| format!("/{it}")).unwrap_or_default();
                *writes.entry(format!("{verb} {}{slash}", part("resource"))).or_default() += 1;
            }
        }
        self.read = end;
        writes
    }
}

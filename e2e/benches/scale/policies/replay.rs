//! The writes of the controller once more, by a client that does nothing else: what of the API
//! server's CPU is that of any program that writes these slices.

use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_crds::UserspacePodSlice;

/// As many as the controller writes at once.
const AT_ONCE: usize = 8;

/// What was written since when.
pub(super) struct Recording {
    began: Instant,
    /// The slices before the first write.
    before: Vec<UserspacePodSlice>,
    writes: Vec<(Duration, UserspacePodSlice)>,
}

impl Recording {
    pub(super) fn begin(before: Vec<UserspacePodSlice>) -> Self {
        Self { began: Instant::now(), before, writes: Vec::new() }
    }

    pub(super) fn saw(&mut self, slice: &UserspacePodSlice) {
        self.writes.push((self.began.elapsed(), slice.clone()));
    }

    /// Puts back what was there before: a write that changes nothing would cost less.
    pub(super) async fn restore(&self, client: &Client) {
        let written: BTreeSet<String> = self.writes.iter().map(|(_, slice)| slice.name_any()).collect();
        let before = self.before.iter().filter(|slice| written.contains(&slice.name_any()));
        stream::iter(before).map(|slice| put(client, slice)).buffer_unordered(AT_ONCE).collect::<Vec<bool>>().await;
    }

    /// Writes at the times of the record. Returns how many writes succeeded.
    pub(super) async fn replay(&self, client: &Client) -> usize {
        let began = tokio::time::Instant::now();
        let writes = stream::iter(&self.writes).map(|(at, slice)| async move {
            tokio::time::sleep_until(began + *at).await;
            put(client, slice).await
        });
        writes.buffer_unordered(AT_ONCE).filter(|is_written| std::future::ready(*is_written)).count().await
    }
}

/// As the controller does it.
async fn put(client: &Client, slice: &UserspacePodSlice) -> bool {
    let set = |path: &str, value| json!({"op": "add", "path": path, "value": value});
    let operations = json!([
        set("/spec", json!(slice.spec)),
        set("/metadata/labels", json!(slice.labels())),
        set("/metadata/managedFields", json!([{}])),
    ]);
    let patch: Patch<()> = Patch::Json(serde_json::from_value(operations).expect("a patch"));
    let slices: Api<UserspacePodSlice> = Api::all(client.clone());
    slices.patch(&slice.name_any(), &PatchParams::default(), &patch).await.is_ok()
}

//! A transaction under construction. Each method adds operations, and returns the place of their
//! result in the [`Reply`](crate::Reply).

use crate::operation::{Condition, Mutation, Operation, Until};
use crate::schema::TableRow;
use crate::value::{NamedUuid, Row, Value};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

pub const DATABASE: &str = "Open_vSwitch";

/// Operations that are executed together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    database: &'static str,
    operations: Vec<Operation>,
}

/// The place of the result of an update, a mutation or a deletion: the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a number of 0 is no error for the database: check it with Reply::expect_count"]
pub struct CountIndex(pub(crate) usize);

/// The place of the rows of a select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectIndex(pub(crate) usize);

/// The place of the rows of a typed select.
#[derive(Debug)]
pub struct RowsIndex<T>(pub(crate) SelectIndex, PhantomData<fn() -> T>);

// A derived implementation would require rows that can be copied.
impl<T> Clone for RowsIndex<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RowsIndex<T> {}

/// The place of the number to which `next_cfg` was incremented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextCfgIndex(pub(crate) SelectIndex);

impl Default for Transaction {
    fn default() -> Self {
        Self::new()
    }
}

impl Transaction {
    /// Begins a transaction on the database of Open vSwitch.
    #[must_use]
    pub fn new() -> Self {
        Self::on(DATABASE)
    }

    /// Begins a transaction on another database of the same server.
    #[must_use]
    pub fn on(database: &'static str) -> Self {
        Self { database, operations: Vec::new() }
    }

    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Adds any operation. Returns the index of its result.
    pub fn push(&mut self, operation: Operation) -> usize {
        self.operations.push(operation);
        self.operations.len() - 1
    }

    /// Inserts a row. The name refers to the row in other operations, and finds its UUID in the
    /// reply.
    pub fn insert(&mut self, table: &'static str, row: Row) -> NamedUuid {
        // The index of the operation makes the name unique and locates its result.
        let name = NamedUuid(self.operations.len());
        self.push(Operation::Insert { table, row, name });
        name
    }

    /// Reads the rows that fulfil all conditions. `_uuid` is read as well.
    pub fn select(&mut self, table: &'static str, conditions: Vec<Condition>, columns: &[&'static str]) -> SelectIndex {
        self.push_select(table, conditions, columns.iter().copied())
    }

    /// Reads rows with all columns of the type.
    pub fn select_rows<T: TableRow>(&mut self, conditions: Vec<Condition>) -> RowsIndex<T> {
        self.select_columns(conditions, T::TABLE.columns.iter().map(|column| column.name))
    }

    /// Reads some columns of rows. Others have their default.
    pub fn select_columns<T: TableRow>(
        &mut self,
        conditions: Vec<Condition>,
        columns: impl IntoIterator<Item = &'static str>,
    ) -> RowsIndex<T> {
        RowsIndex(self.push_select(T::TABLE.name, conditions, columns.into_iter()), PhantomData)
    }

    fn push_select(
        &mut self,
        table: &'static str,
        conditions: Vec<Condition>,
        columns: impl Iterator<Item = &'static str>,
    ) -> SelectIndex {
        let mut columns: Vec<_> = columns.collect();
        if !columns.contains(&"_uuid") {
            columns.push("_uuid");
        }
        SelectIndex(self.push(Operation::Select { table, conditions, columns }))
    }

    /// Sets columns of the rows that fulfil the conditions.
    pub fn update(&mut self, table: &'static str, conditions: Vec<Condition>, row: Row) -> CountIndex {
        CountIndex(self.push(Operation::Update { table, conditions, row }))
    }

    /// Changes columns of the rows that fulfil the conditions.
    pub fn mutate(&mut self, table: &'static str, conditions: Vec<Condition>, mutations: Vec<Mutation>) -> CountIndex {
        CountIndex(self.push(Operation::Mutate { table, conditions, mutations }))
    }

    /// Deletes the rows that fulfil the conditions.
    pub fn delete(&mut self, table: &'static str, conditions: Vec<Condition>) -> CountIndex {
        CountIndex(self.push(Operation::Delete { table, conditions }))
    }

    /// Sets keys of a map column and keeps its other keys. A plain insert would keep the previous
    /// value of an existing key, so the keys are deleted first.
    pub fn set_map_keys(
        &mut self,
        table: &'static str,
        conditions: Vec<Condition>,
        column: &'static str,
        pairs: &BTreeMap<String, String>,
    ) -> CountIndex {
        let delete = Mutation::delete(column, Value::set(pairs.keys()));
        let insert = Mutation::insert(column, Value::map(pairs));
        self.mutate(table, conditions, vec![delete, insert])
    }

    /// Adds a guard: the transaction fails at once and changes nothing, unless a row fulfils the
    /// conditions.
    pub fn require_row(&mut self, table: &'static str, conditions: Vec<Condition>) {
        self.wait(table, conditions, Until::NotEqual, Duration::ZERO);
    }

    /// Adds a guard: the transaction fails at once and changes nothing, if a row fulfils the
    /// conditions.
    pub fn require_no_row(&mut self, table: &'static str, conditions: Vec<Condition>) {
        self.wait(table, conditions, Until::Equal, Duration::ZERO);
    }

    fn wait(&mut self, table: &'static str, conditions: Vec<Condition>, until: Until, timeout: Duration) {
        let columns = vec!["_uuid"];
        self.push(Operation::Wait { table, conditions, columns, until, rows: Vec::new(), timeout });
    }

    /// Adds a text to the log of the database: who changes something, and why.
    pub fn comment(&mut self, text: impl Into<String>) {
        self.push(Operation::Comment(text.into()));
    }

    /// Increments `next_cfg`. Every transaction that `ovs-vswitchd` has to apply needs this:
    /// without it some changes (observed: `Port.trunks`) are not applied at all. The number that is
    /// read back is the one to wait for.
    pub fn bump_next_cfg(&mut self) -> NextCfgIndex {
        // The count is not checked: without the row, which every Open vSwitch has, the select
        // returns no rows.
        let _one = self.mutate(DATABASE, vec![], vec![Mutation::add("next_cfg", 1)]);
        NextCfgIndex(self.select(DATABASE, vec![], &["next_cfg"]))
    }

    /// Waits until `ovs-vswitchd` has processed a configuration:
    /// [`Reply::next_cfg`](crate::Reply::next_cfg) of an earlier transaction. Processed does not
    /// mean successful: read `ofport` and `error` of the interfaces in the same transaction.
    ///
    /// After `timeout` the transaction fails with
    /// [`ErrorCode::TimedOut`](crate::ErrorCode::TimedOut).
    pub fn wait_for_cur_cfg(&mut self, next_cfg: i64, timeout: Duration) {
        let behind = Condition::new("cur_cfg", crate::Function::Less, next_cfg);
        self.wait(DATABASE, vec![behind], Until::Equal, timeout);
    }

    /// Returns the sum of the timeouts of the wait operations.
    pub(crate) fn longest_wait(&self) -> Duration {
        let timeout = |operation: &Operation| match operation {
            Operation::Wait { timeout, .. } => *timeout,
            _ => Duration::ZERO,
        };
        self.operations.iter().map(timeout).fold(Duration::ZERO, Duration::saturating_add)
    }
}

impl Serialize for Transaction {
    /// Writes the parameters of the `transact` request: the database, then the operations.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut parameters = serializer.serialize_seq(Some(self.operations.len() + 1))?;
        parameters.serialize_element(self.database)?;
        for operation in &self.operations {
            parameters.serialize_element(operation)?;
        }
        parameters.end()
    }
}

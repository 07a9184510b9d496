//! What an engine can do beyond the contract, and what reading from it costs.

/// What an engine can do beyond the contract, as data.
///
/// Callers look here before they use an optional feature, and the conformance suite skips cases
/// that do not apply. A field that is `false` is a promise too: see the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// The engine runs SQL: [`Source::Sql`](crate::Source::Sql) and
    /// [`Session::execute`](crate::Session::execute). This says nothing about the dialect.
    pub sql: bool,
    /// Conditions may contain [`Condition::InQuery`](crate::Condition::InQuery) over the engine's own
    /// tables. If `false`, callers MUST replace such a condition by its values first.
    pub subqueries: bool,
    /// Tables survive the end of the process.
    pub persistent: bool,
    /// Several sessions can read at the same time.
    pub concurrent_readers: bool,
    /// [`Engine::get`](crate::Engine::get) runs in this process and never waits for a writer, so an
    /// async runtime's thread may call it directly unless the row is very long.
    pub nonblocking_get: bool,
    /// Several sessions can write at the same time. [`TransactionControl::Begin`](crate::TransactionControl::Begin) never
    /// waits; a conflict is reported by a later write or by the commit, as `Serialization` or
    /// `Busy`. It is a conflict if another session changes a row between this transaction's read
    /// and its write of that row.
    pub concurrent_writers: bool,
    /// A key made by the engine is the largest key of the table plus one. If `false`, such keys are
    /// only unused, and ascending within a session.
    pub sequential_keys: bool,
    /// Texts may contain NUL characters. If `false`, the engine MUST reject such a text with
    /// `Unsupported` before any I/O.
    pub nul_in_text: bool,
    /// Tables may have columns of [`Type::Any`](crate::Type::Any). If `false`, the engine MUST
    /// reject such a table with `Unsupported`.
    pub untyped_columns: bool,
    /// Tables can have [foreign keys](crate::Reference). If `false`, the engine MUST reject such a table with
    /// `Unsupported`.
    pub foreign_keys: bool,
    /// Foreign keys can act [on updates](crate::OnUpdate). If `false`, the engine MUST reject such a
    /// rule with `Unsupported`.
    pub update_actions: bool,
    /// Foreign keys can be [checked at the commit](crate::Reference::deferred). If `false`, the engine
    /// MUST reject such a rule with `Unsupported`.
    pub deferred_references: bool,
    /// [`SchemaChange::AddReference`](crate::SchemaChange::AddReference) and
    /// [`AddForeignKey`](crate::SchemaChange::AddForeignKey) add a foreign key to an existing table. If
    /// `false`, the engine MUST reject it with `Unsupported`.
    pub add_reference: bool,
    /// [`SchemaChange::AlterTable`](crate::SchemaChange::AlterTable) and
    /// [`DropTable`](crate::SchemaChange::DropTable) work. If `false`, the engine MUST reject them with
    /// `Unsupported`.
    pub alter_table: bool,
    /// Keys can be [never reused](crate::TableSchemaBuilder::never_reuse_keys). If `false`, the engine MUST
    /// reject such a table with `Unsupported`.
    pub unreused_keys: bool,
    /// Tables may have [generated columns](crate::ColumnSchema::generated). If `false`, the engine MUST reject
    /// such a table with `Unsupported`.
    pub generated_columns: bool,
    /// CHECK rules outside the [grammar](crate::check) that all engines share are kept. If `false`,
    /// the engine MUST reject such a rule with `Unsupported`.
    pub any_check: bool,
    /// A column stores values of other storage classes than its own as they are, and a key that is not
    /// the row number may be NULL: SQLite files of other programs have such values.
    pub weak_types: bool,
    /// The engine encrypts its files. Callers MUST NOT write
    /// the data elsewhere unless told to. An engine in front of a server does not report the
    /// server's disk encryption here.
    pub encrypted: bool,
    /// A limit: each schema change commits by itself, so [`Session::alter`](crate::Session::alter)
    /// inside a transaction MUST fail with `Unsupported`.
    pub implicit_ddl_commit: bool,
    /// Outside transactions, [`AddIndex`](crate::SchemaChange::AddIndex), and an
    /// [`AlterTable`](crate::SchemaChange::AlterTable) that only adds rules to a column, let other sessions write
    /// meanwhile; if such a change was interrupted, the same call again completes it.
    pub online_ddl: bool,
    /// A limit: the tables are behind a Bobak server, which ends transactions that stay open for long, and whose
    /// protocol has neither renames nor conversions.
    pub served: bool,
    /// A limit: floats are finite. The engine MUST reject an infinity, or a sum that overflows, with
    /// `OutOfRange`.
    pub finite_floats: bool,
    /// A limit: texts and bytes in keys and unique indexes can have only a few hundred characters.
    /// The engine MUST reject longer ones with `TooLong`.
    pub limited_key_length: bool,
    /// A limit: some values, names and tables that other engines take are rejected, as the engine's page says. The engine
    /// MUST reject values with `OutOfRange` or `TooLong`, texts that its unique indexes take for equal with `Duplicate`, and
    /// names and tables with `Unsupported`.
    pub limited_values: bool,
    /// A hint: each part of a batch costs several network round trips, so callers should send large
    /// parts (tens of thousands of rows).
    pub large_batches: bool,
    /// Tables can be [searched](crate::search). If `false`, the engine MUST reject such a table, and queries that search,
    /// with `Unsupported`: see [`Select::check_search`](crate::Select::check_search).
    pub search: bool,
    /// A search in a transaction finds the rows that the transaction wrote.
    pub search_in_transaction: bool,
    /// Tables can have columns of [vectors](crate::Vector), and queries find the [nearest](crate::Select::nearest) rows. If
    /// `false`, the engine MUST reject both with `Unsupported`.
    pub vectors: bool,
    /// [`Session::explain`](crate::Session::explain) works. If `false`, the engine MUST reject it with `Unsupported`.
    pub explain: bool,
    /// [`Session::read_part`](crate::Session::read_part) reads a part of a value without the whole value in memory.
    pub value_parts: bool,
}

impl Capabilities {
    /// No capability and no limit.
    pub const NONE: Self = Self {
        sql: false,
        subqueries: false,
        persistent: false,
        concurrent_readers: false,
        nonblocking_get: false,
        concurrent_writers: false,
        sequential_keys: false,
        nul_in_text: false,
        untyped_columns: false,
        foreign_keys: false,
        update_actions: false,
        deferred_references: false,
        add_reference: false,
        alter_table: false,
        unreused_keys: false,
        generated_columns: false,
        any_check: false,
        weak_types: false,
        encrypted: false,
        implicit_ddl_commit: false,
        online_ddl: false,
        served: false,
        finite_floats: false,
        limited_key_length: false,
        limited_values: false,
        large_batches: false,
        search: false,
        search_in_transaction: false,
        vectors: false,
        explain: false,
        value_parts: false,
    };
}

/// What [`Engine::estimate`](crate::Engine::estimate) returns. The unit of cost is reading one row
/// from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The approximate number of rows; `None` if unknown.
    pub rows: Option<u64>,
    /// The cost of one call before its first row: about 1 in memory, 10 for a file, some hundreds
    /// for a server.
    pub call: u32,
    /// The additional cost of each row: 1 in memory, more over a network.
    pub row: u32,
}

impl Default for Estimate {
    /// An engine about which nothing is known is assumed to be a distant server.
    fn default() -> Self {
        Self { rows: None, call: 500, row: 3 }
    }
}

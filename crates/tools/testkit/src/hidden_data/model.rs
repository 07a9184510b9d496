//! The tables, the rows of both databases, and the grants.

use crate::check::Check;
use crate::probe::{NULL, Probe, Table, Values};
use crate::row;
use bobak_core::{
    ColumnSchema, Currency, Date, Engine, ErrorKind, OnDelete, SchemaChange, TableSchema,
    TableSchemaBuilder, Value,
};
use std::sync::Arc;

/// The grants of the client, whose name must be `ada`.
pub const GRANTS: &str = "
    read, insert, update, delete on orders where owner = :user
    schema on orders
    read, write on lines
    read, sql on prices
    read, sql on priced
    read, write, sql on stock
    all on notes, extra
    insert on inbox
    delete on bin
    update on counter
    read on shelf where owner = :user
    update on shelf where owner <> :user
";

/// The names that exist in one of the databases only, or in both, and that the client must not learn of.
#[must_use]
pub const fn hidden_names() -> &'static [&'static str] {
    &[
        "vault",
        "secret",
        "vault_code",
        "secret_owner",
        "vault_view",
        "audit",
        "vault_code_unique",
        "single",
    ]
}

/// The tables that the client has permissions on, and those that it tries.
#[must_use]
pub const fn table_names() -> &'static [&'static str] {
    &[
        "orders", "lines", "prices", "stock", "notes", "inbox", "bin", "counter", "shelf",
        "secret", "vault", "audit", "single", "extra", "priced",
    ]
}

/// The schemas of [`table_names`]; some are created in one of the databases, or in none.
pub(super) fn tables() -> Check<Vec<Table>> {
    let all = visible_tables().into_iter().chain(hidden_tables());
    all.map(|table| Ok(Arc::new(table.key(["id"]).build()?))).collect()
}

fn table(name: &'static str) -> TableSchemaBuilder {
    TableSchema::builder(name).column(ColumnSchema::of::<i64>("id"))
}

fn text(name: &'static str) -> ColumnSchema {
    ColumnSchema::of::<String>(name)
}

fn reference(name: &'static str, table: &'static str, action: OnDelete) -> ColumnSchema {
    ColumnSchema::of::<Option<i64>>(name).references(table, "id", action)
}

fn visible_tables() -> Vec<TableSchemaBuilder> {
    let code = || ColumnSchema::of::<Option<String>>("code").unique();
    let orders = table("orders").column(text("owner")).column(ColumnSchema::of::<i64>("total"));
    let orders = orders.column(code()).column(reference("kept", "secret", OnDelete::SetNull));
    let lines = table("lines").column(reference("part_of", "orders", OnDelete::Cascade));
    let stock = table("stock").column(text("name"));
    let stock = stock.column(ColumnSchema::of::<Option<i64>>("n"));
    let stock = stock.column(ColumnSchema::of::<Option<Date>>("day"));
    let shelf = table("shelf").column(text("owner"));
    vec![
        orders.index("orders_total", ["total"]),
        lines.column(ColumnSchema::of::<i64>("n").check("n < 1000")),
        table("prices").column(text("name").unique()),
        stock.column(ColumnSchema::of::<Option<Currency>>("amount")),
        table("notes").column(text("text")).column(code()),
        table("inbox").column(text("text")),
        table("bin").column(text("text")),
        table("counter").column(ColumnSchema::of::<i64>("n")),
        shelf.column(ColumnSchema::of::<i64>("n").check("n <> 77")),
        table("extra").column(text("text")),
    ]
}

fn hidden_tables() -> Vec<TableSchemaBuilder> {
    let vault = table("vault").column(text("code").unique());
    let vault = vault.column(ColumnSchema::of::<Option<Date>>("day"));
    let audit = table("audit").column(reference("of_order", "orders", OnDelete::SetNull));
    vec![
        table("secret").column(text("owner")).index("secret_owner", ["owner"]),
        audit.column(reference("of_stock", "stock", OnDelete::SetNull)),
        vault.column(ColumnSchema::of::<Option<Currency>>("amount")),
        table("single"),
        // A view, which the client may read.
        table("priced").column(text("name")).column(ColumnSchema::of::<Option<i64>>("n")),
    ]
}

/// Makes one of the two databases: `variant` is 0 or 1.
///
/// # Errors
/// Those of the engine.
pub fn fill(engine: &dyn Engine, variant: i64) -> Check {
    let tables = tables()?;
    create(engine, &tables, variant)?;
    let probe = Probe::new(engine)?;
    let insert = |name: &str, values: Values| -> Check {
        for table in tables.iter().filter(|table| table.name() == name) {
            probe.insert(table, values.clone())?;
        }
        Ok(())
    };
    insert_rows(variant, &insert)?;
    if engine.capabilities().sql {
        add_by_sql(&probe, variant)?;
    }
    // From here on, as the numbers of changes show how many there were.
    for name in ["orders", "lines", "notes"] {
        let tracked = tables.iter().find(|table| table.name() == name).map(Arc::clone);
        let track = tracked.map(|table| SchemaChange::Track { table, history: true });
        match engine.alter(track.as_slice()) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            other => other?,
        }
    }
    Ok(())
}

fn create(engine: &dyn Engine, tables: &[Table], variant: i64) -> Check {
    let is_here = |table: &&Table| match table.name() {
        "vault" => variant == 1,
        "extra" | "priced" => false,
        _ => true,
    };
    // In one of them the hidden table is the first one in the file; a table follows those that it references.
    let place = |table: &&Table| match table.name() {
        "vault" | "secret" => 0,
        "audit" => 2,
        _ => 1,
    };
    let mut tables: Vec<_> = tables.iter().filter(is_here).collect();
    tables.sort_by_key(place);
    let create = |table: &Table| SchemaChange::CreateTable(Arc::clone(table));
    engine.alter(&tables.into_iter().map(create).collect::<Vec<_>>())?;
    Ok(())
}

/// Inserts a row into the table of a name.
type Insert<'i> = &'i dyn Fn(&str, Values) -> Check;

fn insert_rows(variant: i64, insert: Insert<'_>) -> Check {
    insert_secrets(variant, insert)?;
    for id in 1..=6_i64 {
        let code = if id % 2 == 0 { NULL } else { format!("c{id}").into() };
        insert("orders", row![id, "ada", id * 10, code, NULL])?;
        insert("lines", row![id, id, id])?;
        insert("prices", row![id, format!("price {id}")])?;
        insert("stock", row![id, format!("thing {id}"), id, id * 400, id * 10_000])?;
        insert("notes", row![id, format!("note {id}"), format!("n{id}")])?;
        insert("inbox", row![id, format!("letter {}", id * (variant + 2))])?;
        insert("bin", row![id, format!("thrown {}", id * (variant + 2))])?;
        // The largest integer in one of them: nothing can be added to it.
        let n = if variant == 1 && id == 3 { i64::MAX } else { id * (7 * variant + 1) };
        insert("counter", row![id, n])?;
        let owner = if id < 4 { "ada" } else { "bob" };
        let n = if id < 4 { id } else { id + 70 * variant };
        insert("shelf", row![id, owner, n])?;
    }
    for id in 1..=6_i64 {
        insert("audit", row![id * (variant + 1), id, 7 - id])?;
    }
    insert_hidden_orders(variant, insert)
}

fn insert_secrets(variant: i64, insert: Insert<'_>) -> Check {
    for id in 1..=5 + 20 * variant {
        insert("secret", row![id, format!("owner {}", id * (variant + 1))])?;
        insert("single", row![id + variant])?;
    }
    if variant == 1 {
        insert("vault", row![1, "a code", 3, 50_000])?;
    }
    Ok(())
}

fn insert_hidden_orders(variant: i64, insert: Insert<'_>) -> Check {
    // Rows that the rule hides: the last key is the same, others and all values differ. A key and a code that the client
    // may try are taken in both.
    for id in (1_000_101..=1_000_109 + 30 * variant).chain([500, 2_000_000]) {
        let kept = if id % 3 == variant { Value::Int(1) } else { NULL };
        let code = if id == 500 { "taken".to_owned() } else { format!("hidden {id}") };
        // In one of them twice the same total, and a long text, which no pattern gets through quickly.
        let total = if variant == 1 { id / 2 } else { id * 3 };
        let owner =
            if id % 2 == 0 { "bob".to_owned() } else { "b".repeat(40 * variant as usize + 1) };
        insert("orders", row![id, owner, total, code, kept])?;
        // So that a client may see a line of an order that it may not see.
        if id == 500 {
            insert("lines", row![50, id, 1])?;
        }
    }
    Ok(())
}

fn add_by_sql(probe: &Probe<'_>, variant: i64) -> Check {
    let view = if variant == 1 { "vault" } else { "secret" };
    for text in [
        &format!("CREATE VIEW vault_view AS SELECT * FROM {view}"),
        // No column reveals the hidden table that it reads.
        "CREATE VIEW priced AS SELECT p.id, p.name, s.n FROM prices p JOIN stock s USING (id) \
         WHERE EXISTS (SELECT 1 FROM secret)",
        "CREATE TRIGGER t_notes AFTER INSERT ON notes BEGIN \
         INSERT INTO secret (owner) VALUES (new.text); END",
        "ANALYZE",
    ] {
        probe.session.execute(text, &[])?;
    }
    if variant == 1 {
        // A value that no column of this type may hold, in a hidden row.
        probe.session.execute("UPDATE orders SET total = 'many' WHERE id = 500", &[])?;
    }
    Ok(())
}

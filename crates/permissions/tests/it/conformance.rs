//! The conformance suite passes for a caller with all permissions: from one grant, and with row rules
//! that all rows satisfy.

use bobak_core::{Engine, Result};
use bobak_memory::Memory;
use bobak_permissions::{Access, ProtectedDatabase, new_token};
use bobak_sqlite::Sqlite;
use bobak_testkit::Fixture;
use bobak_wire::Credentials;
use std::sync::Arc;
use std::time::Duration;

/// The engine of a caller with these grants.
fn behind(engine: Box<dyn Engine>, grants: &str) -> Box<dyn Engine> {
    let (token, hash) = new_token().unwrap();
    let text = format!("role tester\n{grants}\ntoken test {hash} roles tester");
    let access = Access::from_text(&text).unwrap();
    let caller = access.authenticate(&Credentials::Token(token), false).unwrap();
    let database = ProtectedDatabase::new("main", Arc::from(engine));
    Box::new(bobak_permissions::PermissionEngine::new(database, caller))
}

mod whole {
    use super::*;

    fn fresh() -> Result<Fixture> {
        let engine = Memory::builder().busy_timeout(Duration::from_millis(100)).open()?;
        Fixture::volatile(engine).wrapped(|engine| behind(engine, "all on *"))
    }
    bobak_testkit::conformance!(fresh);
}

/// Row rules on all tables, which every row satisfies.
const RULED: &str = "
    read, insert, update on article, person, document, device where id is null or id is not null
    read, insert, update on tag where name is not null
    read, insert, update on bill, blank, coach, detail, every, fan, image, line, mark, node, option, order, photo, player, sale, seat, shop, span
    read, insert, update on named, pair, slot, sums, team, thing, thing_pair, thing_text, thing_uuid, ticket, user, wide, word
    delete, sql, schema on *
";

/// Cases that differ under row rules: rules are checked before constraints, SQL may not use the tables,
/// tables without a grant look missing, plans, change logs and altered tables need all permissions, and unique indexes need to
/// read all rows.
const OTHERWISE: [&str; 15] = [
    "rules::not_null_is_kept",
    "schema::names_may_be_strange",
    "schema::an_index_is_added_to_a_full_table",
    "schema::a_unique_index_over_duplicates_is_rejected",
    "schema::indexes_may_be_wide_and_have_long_names",
    "reopen::grown_tables_are_there_again",
    "described::a_column_is_added_to_a_wider_table",
    "checks::",
    "sql::",
    "feed::",
    "plans::",
    "alterations::",
    "generated::generated_columns_come_and_go",
    "generated::generated_parts_of_documents",
    "search::searches_are_described_and_altered",
];

#[test]
fn suite_passes_under_rules_that_all_rows_satisfy() {
    let fresh = || {
        let engine = Sqlite::builder().busy_timeout(Duration::from_millis(100)).open_memory()?;
        Fixture::volatile(engine).wrapped(|engine| behind(engine, RULED))
    };
    let failed = bobak_testkit::run(&fresh);
    let failed = failed.iter().filter(|(name, _)| !OTHERWISE.iter().any(|o| name.starts_with(o)));
    let failed: Vec<_> = failed.map(|(name, failure)| format!("{name}: {failure}")).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

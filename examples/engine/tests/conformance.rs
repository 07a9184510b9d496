//! The engine passes the whole conformance suite, and a program uses it.

mod btree {
    use bobak_core::Result;
    use bobak_testkit::Fixture;
    use btree_engine::BTreeEngine;
    use std::time::Duration;

    fn fresh() -> Result<Fixture> {
        Ok(Fixture::volatile(BTreeEngine::new(Duration::from_millis(200))))
    }
    bobak_testkit::conformance!(fresh);
}

use bobak::engine::{Engine, SchemaChange};
use bobak::prelude::*;
use bobak::schema::OnDelete;
use bobak_core::{ColumnSchema, TableSchema};
use btree_engine::BTreeEngine;
use std::sync::Arc;
use std::time::Duration;

#[derive(Record, Debug, PartialEq)]
struct City {
    id: i64,
    #[record(unique)]
    name: String,
}

#[test]
fn a_program_uses_the_engine() -> bobak::Result<()> {
    let engine = BTreeEngine::new(Duration::from_secs(5));
    let db = Db::builder().record::<City>().open_engine(engine)?;
    db.create_missing_tables()?;
    let cities = db.table::<City>()?;
    for name in ["Bern", "Thun", "Biel"] {
        cities.insert(&City { id: 0, name: name.into() })?;
    }
    let error = cities.insert(&City { id: 0, name: "Thun".into() }).err();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Duplicate));
    let found = cities.list(Query::filter(City::NAME.starts_with("B")))?;
    assert_eq!(found.len(), 2);
    Ok(())
}

#[test]
fn an_added_foreign_key_is_rejected_by_its_name() -> bobak::Result<()> {
    let engine = BTreeEngine::new(Duration::from_secs(5));
    let table = |capital: ColumnSchema| {
        let id = ColumnSchema::of::<i64>("id");
        TableSchema::builder("land").column(id).column(capital).key(["id"]).build().map(Arc::new)
    };
    let capital = || ColumnSchema::of::<i64>("capital");
    engine.alter(&[SchemaChange::CreateTable(table(capital())?)])?;
    let table = table(capital().references("city", "id", OnDelete::Restrict))?;
    let error = engine.alter(&[SchemaChange::AddReference { table, column: 1 }]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("foreign keys"), "{error}");
    Ok(())
}

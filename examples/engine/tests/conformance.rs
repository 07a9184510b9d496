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

use bobak::prelude::*;
use btree_engine::BTreeEngine;
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

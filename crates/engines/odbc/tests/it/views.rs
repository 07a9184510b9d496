//! Views are described as the databases' own engines describe them, and are read.

use crate::stores::{Place, is_without_servers};
use bobak_core::{Engine, Type};
use bobak_testkit::{Probe, row, tables};
use std::sync::Arc;

#[test]
fn views_are_described_and_read() {
    if is_without_servers() {
        return;
    }
    for place in [Place::postgres(), Place::mariadb()] {
        let engine = place.open().unwrap();
        let tag = tables::tag().unwrap();
        let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
        probe.insert_all(&tag, [row!["a", 1.0], row!["b", 2.0]]).unwrap();
        let (name, weight) = (&tag.columns()[0].name, &tag.columns()[1].name);
        let sql =
            format!("CREATE VIEW heavy AS SELECT {name}, {weight} FROM tag WHERE {weight} > 1");
        engine.session().unwrap().execute(&sql, &[]).unwrap();
        let views = engine.session().unwrap().views().unwrap();
        assert_eq!(views.iter().map(|view| view.name()).collect::<Vec<_>>(), ["heavy"]);
        assert!(views[0].is_view() && views[0].columns()[1].ty == Type::F64, "{views:?}");
        assert_eq!(engine.tables().unwrap().len(), 1);
        assert_eq!(probe.all(&Arc::new(views[0].clone())).unwrap(), [row!["b", 2.0]]);
    }
}

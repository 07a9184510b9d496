//! Values without a stored form in queries and updates: errors, since as NULL they would find and store what nobody wanted.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::query::from;

#[test]
fn values_without_a_stored_form_are_rejected_in_queries_and_updates() {
    #[derive(Record, Debug, Clone, PartialEq)]
    struct Level {
        id: i64,
        large: Option<u64>,
        real: Option<f64>,
    }
    on_each(|at| {
        let db = at.open(Db::builder().record::<Level>());
        let levels = db.table::<Level>().unwrap();
        let stored = Level {
            id: levels.insert(&Level { id: 0, large: None, real: None }).unwrap(),
            large: None,
            real: None,
        };
        for error in [
            levels.list(Level::LARGE.eq(u64::MAX)).unwrap_err(),
            levels.list(Level::LARGE.ne(u64::MAX)).unwrap_err(),
            levels.list(Level::LARGE.lt(u64::MAX)).unwrap_err(),
            levels.list(Level::LARGE.is_in([1, u64::MAX])).unwrap_err(),
            levels.list(Level::REAL.eq(f64::NAN)).unwrap_err(),
            levels.list(Level::REAL.between(0.0, f64::NAN)).unwrap_err(),
            levels.set(stored.id, [Level::LARGE.set(Some(u64::MAX))]).unwrap_err(),
            levels.set(stored.id, [Level::REAL.set(f64::NAN)]).unwrap_err(),
            levels.set_where(Level::LARGE.is_null(), [Level::REAL.set(f64::NAN)]).unwrap_err(),
        ] {
            assert_eq!(
                (error.kind(), error.table()),
                (ErrorKind::OutOfRange, Some("level")),
                "{error}"
            );
        }
        let selected = from::<Level>().and((Level::REAL * 2.0).gt(f64::NAN)).select(Level::ID);
        assert_eq!(db.list(&selected).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(levels.get(stored.id).unwrap(), Some(stored));
    });
}

//! A batch does what row by row does.

use crate::support::*;
use bobak_core::{
    Batch, Engine, Error, ErrorKind, FieldSet, GivenKey, OnError, Outcome, Session, TableSchema,
    Value, Verb, Write,
};
use std::sync::Arc;

fn push(batch: &mut Batch, table: &Arc<TableSchema>, verb: Verb, values: &[Value<'_>]) {
    let fields = match verb {
        Verb::Update | Verb::Upsert => table.updated_fields(),
        _ => FieldSet::EMPTY,
    };
    batch.push(&Write { table, verb, fields, values }).unwrap();
}

fn send(
    session: &dyn Session,
    batch: &Batch,
    on_error: OnError,
) -> (Vec<Result<Outcome, Error>>, Option<Error>) {
    let mut outcomes = Vec::new();
    let result = session.batch(batch, on_error, &mut |outcome| outcomes.push(outcome));
    (outcomes, result.err())
}

#[test]
fn keys_of_many_rows_are_told_in_order() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    insert(&*session, &table, &values(10, "a", None));
    let mut batch = Batch::new();
    for at in 0..1000 {
        // One given key between those that are made.
        push(
            &mut batch,
            &table,
            Verb::Insert,
            &values(if at == 500 { 5000 } else { 0 }, "b", None),
        );
    }
    let (outcomes, error) = send(&*session, &batch, OnError::Stop);
    assert!(error.is_none(), "{error:?}");
    for (at, outcome) in outcomes.into_iter().enumerate() {
        let at = at as i64;
        let key = match at {
            500 => None,
            0..500 => Some(GivenKey::Int(11 + at)),
            _ => Some(GivenKey::Int(4500 + at)),
        };
        assert_eq!(outcome.unwrap(), Outcome::Inserted(key), "row {at}");
    }
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1001));
}

#[test]
fn a_wrong_row_is_found_and_undoes_the_batch() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    let mut batch = Batch::new();
    for at in 0..600 {
        let email = format!("{}@x", if at == 555 { 20 } else { at });
        push(&mut batch, &table, Verb::Insert, &values(0, "b", Some(&email)));
    }
    let (_, error) = send(&*session, &batch, OnError::Stop);
    let error = error.unwrap();
    assert_eq!(place(&error), (ErrorKind::Duplicate, Some("person"), Some("email")));
    assert_eq!(error.row(), Some(555));
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(0));
    let (outcomes, error) = send(&*session, &batch, OnError::Continue);
    assert!(error.is_none());
    assert_eq!(outcomes.len(), 600);
    assert_eq!(outcomes[555].as_ref().unwrap_err().row(), Some(555));
    assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 599);
    assert_eq!(*outcomes[599].as_ref().unwrap(), Outcome::Inserted(Some(GivenKey::Int(599))));
}

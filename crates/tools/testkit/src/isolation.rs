//! Which anomalies transactions of an engine allow: each is tried by sessions of one thread, step by step.
//!
//! The names are those of Adya's *Weak Consistency* (1999), of Bailis's *Highly Available Transactions* (2013) and of the
//! SQL standard. A step that the engine rejects, or for which it would have to wait until another transaction ends,
//! prevents the anomaly: give the engine a short busy timeout.

use crate::check::{Check, Failure};
use crate::probe::{Table, Values};
use crate::row;
use bobak_core::{
    Assign, BulkChange, ColumnSchema, Comparison, Condition, Engine, ErrorKind, FieldSet, Result,
    SchemaChange, Select, Session, Source, TableSchema, TransactionControl, Value, ValueRef, Verb,
    Write,
};
use std::sync::Arc;

/// An anomaly, and whether it happens in these sessions.
type Anomaly = (&'static str, fn(&Sessions<'_>) -> Result<bool>);

/// In the order of the columns of the table in the documentation.
const ANOMALIES: [Anomaly; 11] = [
    ("G0", dirty_write),
    ("G1a", aborted_read),
    ("G1b", intermediate_read),
    ("G1c", circular_information_flow),
    ("OTV", observed_transaction_vanishes),
    ("PMP", predicate_read),
    ("PMP write", predicate_write),
    ("P4", lost_update),
    ("G-single", read_skew),
    ("G2-item", write_skew),
    ("G2", predicate_cycle),
];

/// Tries each anomaly on an empty database, and compares what happened with the row of `document` that begins with `name`.
///
/// # Errors
/// The row as it should be, if it is another one.
pub fn agrees_with_document(document: &str, engine: &dyn Engine, name: &str) -> Check {
    let names: Vec<_> = ANOMALIES.iter().map(|(name, _)| *name).collect();
    let head = format!("| transactions of | {} |", names.join(" | "));
    for line in [head, row(engine, name)?] {
        if !document.lines().any(|documented| documented == line) {
            return Err(Failure::new(format!("the document lacks this line:\n{line}")));
        }
    }
    Ok(())
}

fn row(engine: &dyn Engine, name: &str) -> Check<String> {
    let table = TableSchema::builder("account")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<i64>("amount"))
        .key(["id"])
        .given_key();
    let table = Arc::new(table.build()?);
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))])?;
    let mut found = format!("| {name} |");
    for (_, happens) in ANOMALIES {
        let fresh = engine.session()?;
        for id in 0..10 {
            write(&*fresh, &table, Verb::Delete, row![id])?;
        }
        for id in 1..=2 {
            write(&*fresh, &table, Verb::Insert, row![id, id * 10])?;
        }
        drop(fresh);
        let [a, b, c] = [engine.session()?, engine.session()?, engine.session()?];
        let happened = match happens(&Sessions { a, b, c, table: &table }) {
            Ok(happened) => happened,
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Serialization) => {
                false
            }
            Err(error) => return Err(error.into()),
        };
        found.push_str(if happened { " yes |" } else { " – |" });
    }
    Ok(found)
}

/// Sessions on one table, which has the amounts 10 and 20 in the rows 1 and 2.
struct Sessions<'e> {
    a: Box<dyn Session + 'e>,
    b: Box<dyn Session + 'e>,
    c: Box<dyn Session + 'e>,
    table: &'e Table,
}

impl Sessions<'_> {
    fn set(&self, session: &dyn Session, id: i64, amount: i64) -> Result<()> {
        write(session, self.table, Verb::Update, row![id, amount])
    }

    fn insert(&self, session: &dyn Session, id: i64, amount: i64) -> Result<()> {
        write(session, self.table, Verb::Insert, row![id, amount])
    }

    /// The amount of a row.
    fn amount(&self, session: &dyn Session, id: i64) -> Result<i64> {
        let mut amount = 0;
        session.get(self.table, &[Value::Int(id)], &mut |row| {
            if let ValueRef::Int(found) = row.get(1) {
                amount = found;
            }
            Ok(())
        })?;
        Ok(amount)
    }

    /// How many rows have an amount above 20.
    fn large(&self, session: &dyn Session) -> Result<usize> {
        let condition = Some(amount_is(Comparison::Greater, 20));
        let mut rows = 0;
        let select = Select { condition, ..Select::all(self.table) };
        session.query(&Source::Select(&select), &mut |_| {
            rows += 1;
            Ok(true)
        })?;
        Ok(rows)
    }
}

fn amount_is(comparison: Comparison, amount: i64) -> Condition {
    Condition::Compare { column: 1, comparison, value: Value::Int(amount) }
}

fn write(session: &dyn Session, table: &Table, verb: Verb, values: Values) -> Result<()> {
    let fields = match verb {
        Verb::Update => table.updated_fields(),
        _ => FieldSet::EMPTY,
    };
    session.write(&Write { table, verb, fields, values: &values }).map(drop)
}

fn begin(session: &dyn Session) -> Result<()> {
    session.control(TransactionControl::Begin)
}

fn commit(session: &dyn Session) -> Result<()> {
    session.control(TransactionControl::Commit)
}

/// Two transactions write two rows, and each row keeps the value of another one.
fn dirty_write(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    begin(b)?;
    all.set(a, 1, 11)?;
    all.set(b, 1, 12)?;
    all.set(b, 2, 12)?;
    commit(b)?;
    all.set(a, 2, 11)?;
    commit(a)?;
    Ok(all.amount(a, 1)? != all.amount(a, 2)?)
}

/// A transaction reads what another one then rolls back.
fn aborted_read(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    all.set(a, 1, 11)?;
    let read = all.amount(b, 1)?;
    a.control(TransactionControl::Rollback)?;
    Ok(read == 11)
}

/// A transaction reads what another one then overwrites itself.
fn intermediate_read(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    all.set(a, 1, 11)?;
    let read = all.amount(b, 1)?;
    all.set(a, 1, 12)?;
    commit(a)?;
    Ok(read == 11)
}

/// Each of two transactions reads what the other one wrote.
fn circular_information_flow(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    begin(b)?;
    all.set(a, 1, 11)?;
    all.set(b, 2, 22)?;
    let read = (all.amount(a, 2)?, all.amount(b, 1)?);
    commit(a)?;
    commit(b)?;
    Ok(read == (22, 11))
}

/// A transaction reads the writes of a second one, and then those of an earlier first one.
fn observed_transaction_vanishes(all: &Sessions<'_>) -> Result<bool> {
    let (a, b, c) = (&*all.a, &*all.b, &*all.c);
    begin(a)?;
    begin(b)?;
    begin(c)?;
    all.set(a, 1, 11)?;
    all.set(a, 2, 19)?;
    all.set(b, 1, 12)?;
    commit(a)?;
    let first = all.amount(c, 1)?;
    all.set(b, 2, 18)?;
    let second = all.amount(c, 2)?;
    commit(b)?;
    commit(c)?;
    Ok((first, second) == (12, 19))
}

/// A transaction asks twice which rows satisfy a condition, and finds others.
fn predicate_read(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    let before = all.large(a)?;
    all.insert(b, 3, 30)?;
    let after = all.large(a)?;
    commit(a)?;
    Ok(before != after)
}

/// A transaction reads all rows, and then changes those that satisfy a condition by what another one wrote since.
fn predicate_write(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    let before = all.amount(a, 1)?;
    let add = [Assign::Add { column: 1, value: Value::Int(10) }];
    b.change(&BulkChange { table: all.table, condition: None, assign: Some(&add) })?;
    let condition = amount_is(Comparison::Equal, 20);
    a.change(&BulkChange { table: all.table, condition: Some(&condition), assign: None })?;
    commit(a)?;
    Ok(before == 10 && all.amount(a, 1)? == 0)
}

/// Two transactions read a row, and both write what they computed from it.
fn lost_update(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    begin(b)?;
    let (from_a, from_b) = (all.amount(a, 1)?, all.amount(b, 1)?);
    all.set(a, 1, from_a + 1)?;
    commit(a)?;
    all.set(b, 1, from_b + 1)?;
    commit(b)?;
    Ok(all.amount(a, 1)? == 11)
}

/// A transaction reads one row before another transaction changes both, and the second row afterwards.
fn read_skew(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    let first = all.amount(a, 1)?;
    begin(b)?;
    all.set(b, 1, 12)?;
    all.set(b, 2, 18)?;
    commit(b)?;
    let second = all.amount(a, 2)?;
    commit(a)?;
    Ok((first, second) == (10, 18))
}

/// Two transactions read both rows, and each writes another one.
fn write_skew(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    begin(b)?;
    for session in [a, b] {
        all.amount(session, 1)?;
        all.amount(session, 2)?;
    }
    all.set(a, 1, 0)?;
    all.set(b, 2, 0)?;
    commit(a)?;
    commit(b)?;
    Ok(true)
}

/// Two transactions ask for rows that satisfy a condition, and each inserts one.
fn predicate_cycle(all: &Sessions<'_>) -> Result<bool> {
    let (a, b) = (&*all.a, &*all.b);
    begin(a)?;
    begin(b)?;
    all.large(a)?;
    all.large(b)?;
    all.insert(a, 3, 30)?;
    all.insert(b, 4, 40)?;
    commit(a)?;
    commit(b)?;
    Ok(true)
}

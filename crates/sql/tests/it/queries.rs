//! Random queries and changes: SQLite gives what the memory engine, the reference, gives.

use crate::engine::Rows;
use crate::random::{Random, condition, filled, value};
use bobak_core::{
    Assign, BulkChange, Engine, Expr, FieldSet, Order, SchemaChange, Select, Session, Source,
    TableSchema, Value, Verb, Write,
};
use bobak_memory::Memory;
use bobak_sql::{Dialect, change, select};
use std::sync::Arc;

fn remembered(table: &Arc<TableSchema>, rows: &Rows) -> Memory {
    let memory = Memory::new();
    memory.alter(&[SchemaChange::CreateTable(Arc::clone(table))]).unwrap();
    let session = memory.session().unwrap();
    for values in rows {
        let write = Write { table, verb: Verb::Insert, fields: FieldSet::EMPTY, values };
        session.write(&write).unwrap();
    }
    drop(session);
    memory
}

fn rows_of(session: &dyn Session, query: &Select) -> Result<Rows, String> {
    let mut rows = Vec::new();
    let done = session.query(&Source::Select(query), &mut |row| {
        rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    });
    done.map(|()| rows).map_err(|error| error.to_string())
}

pub fn query(random: &mut Random, table: &Arc<TableSchema>) -> Select {
    let places = |random: &mut Random, most: usize| -> Vec<usize> {
        let mut places: Vec<_> = (0..random.below(most)).map(|_| random.below(9)).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let grouped = random.below(3) > 0;
    let group = if grouped { places(random, 3) } else { Vec::new() };
    let shown = if grouped { group.clone() } else { places(random, 9) };
    let mut columns: Vec<Expr> = shown.into_iter().map(Expr::Column).collect();
    if grouped {
        for _ in 0..=random.below(4) {
            let (any, number) = (random.below(9), random.of(&[0, 4, 5]));
            columns.push(random.of(&[
                Expr::Count,
                Expr::CountOf(any),
                Expr::Sum(number),
                Expr::Avg(number),
                Expr::Min(any),
                Expr::Max(any),
            ]));
        }
    } else {
        columns.push(Expr::Column(0));
    }
    let tail = if grouped { group.clone() } else { vec![0] };
    let first = if grouped { Vec::new() } else { places(random, 3) };
    let mut order: Vec<Order> = Vec::new();
    for column in first.into_iter().chain(tail) {
        if order.iter().all(|step| step.column != column) {
            order.push(Order { column, descending: random.below(2) == 0 });
        }
    }
    Select {
        table: Arc::clone(table),
        columns,
        condition: (random.below(2) == 0).then(|| condition(random, 2)),
        group,
        order,
        limit: random.of(&[None, None, Some(0), Some(1), Some(7), Some(u64::MAX)]),
        offset: random.of(&[0, 0, 0, 1, 5]),
        search: None,
        nearest: None,
        lock: None,
    }
}

fn compare(sqlite: Result<Rows, String>, memory: Result<Rows, String>, about: &str) {
    match (sqlite, memory) {
        (Ok(found), Ok(expected)) => {
            // As text, 1 and 1.0 are not the same.
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{about}");
        }
        (Err(_), Err(_)) => {}
        (found, expected) => panic!("{found:?}, not {expected:?}: {about}"),
    }
}

#[test]
fn queries_give_what_memory_gives() {
    let mut random = Random(7);
    for _ in 0..20 {
        let (sqlite, table, rows) = filled(&mut random);
        let memory = remembered(&table, &rows);
        let session = memory.session().unwrap();
        for _ in 0..300 {
            let query = query(&mut random, &table);
            let statement = select(Dialect::Sqlite, &query);
            let about = format!("{statement:?}");
            compare(sqlite.statement(&statement), rows_of(&*session, &query), &about);
        }
    }
}

pub fn assign(random: &mut Random) -> Assign {
    let column = 1 + random.below(8);
    let null = random.below(8) == 0;
    match random.below(3) {
        0 => Assign::Set { column, value: value(random, column) },
        1 => Assign::Add {
            column: 4,
            value: if null {
                Value::Null
            } else {
                Value::Int(random.of(&[1, -1, 1 << 31, -1 << 31]))
            },
        },
        _ => {
            let column = random.of(&[5, 7]);
            let floats = [0.5, f64::INFINITY, f64::NEG_INFINITY].map(Value::Float);
            let integers = [1, i64::MAX, i64::MIN].map(Value::Int);
            let any = [&floats[..], &integers[..]].concat();
            let value = random.of(if column == 5 { &floats } else { &any });
            Assign::Add { column, value }
        }
    }
}

#[test]
fn changes_do_what_memory_does() {
    let mut random = Random(8);
    let mut done = 0;
    for _ in 0..60 {
        let (sqlite, table, rows) = filled(&mut random);
        let memory = remembered(&table, &rows);
        let session = memory.session().unwrap();
        for _ in 0..20 {
            let mut assigns: Vec<_> = (0..random.below(3)).map(|_| assign(&mut random)).collect();
            // Of two for one column the last counts: whether the other is tried is open.
            assigns.dedup_by_key(|assign| assign.column());
            let deletes = random.below(12) == 0;
            let condition = condition(&mut random, 2);
            let many = BulkChange {
                table: &table,
                condition: Some(&condition),
                assign: (!deletes).then_some(&assigns[..]),
            };
            let statement = change(Dialect::Sqlite, &many);
            let (here, there) = (sqlite.statement(&statement), session.change(&many));
            assert_eq!(here.is_ok(), there.is_ok(), "{statement:?}: {here:?}, {there:?}");
            done += usize::from(here.is_ok());
            let all = Select::all(&table);
            let found = sqlite.statement(&select(Dialect::Sqlite, &all));
            compare(found, rows_of(&*session, &all), &format!("{statement:?}"));
        }
    }
    assert!(done > 600, "{done}");
}

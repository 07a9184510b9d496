//! Typed queries and changes, whose statements are kept by their shape, do what the same statement does as a text.

use crate::support::{Rows, create, insert, memory, person, query};
use bobak_core::{
    Assign, BulkChange, ColumnSchema, Comparison, Condition, Engine, ErrorKind, Expr, Order,
    Select, Session, Source, TableSchema, TransactionControl, Value,
};
use bobak_sql::{Dialect, change, select};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

const NAMES: [&str; 7] = ["", "a", "A%", "ab", "b_", "\u{10ffff}", "it's"];

/// Numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        ((self.0 >> 33) as usize) % end
    }

    fn name(&mut self) -> String {
        NAMES[self.below(NAMES.len())].to_owned()
    }

    /// A condition over `name` and `amount`; those of one seed differ in their values alone.
    fn condition(&mut self, form: &mut Self, depth: usize) -> Condition {
        let comparison = [Comparison::Equal, Comparison::NotEqual, Comparison::Less];
        match form.below(if depth == 0 { 8 } else { 11 }) {
            0 | 1 => Condition::Compare {
                column: 1,
                comparison: comparison[form.below(3)],
                value: self.name().into(),
            },
            2 => {
                let amount = [Value::Null, Value::Float(0.0), Value::Float(2.5)];
                let value = amount[self.below(3)].clone();
                Condition::Compare { column: 3, comparison: comparison[form.below(3)], value }
            }
            // As many values as the values' own numbers say: 0 to 11.
            3 => {
                let values = (0..self.below(12)).map(|_| self.name().into()).collect();
                Condition::In { column: 1, values }
            }
            4 => Condition::LikeEscape {
                column: 1,
                pattern: "%!%".to_owned() + &self.name(),
                escape: '!',
            },
            5 => Condition::StartsWith { column: 1, prefix: self.name() },
            6 => Condition::EndsWith { column: 1, suffix: self.name() },
            7 => Condition::IsNull { column: 3 },
            8 => Condition::And(
                (0..form.below(3)).map(|_| self.condition(form, depth - 1)).collect(),
            ),
            9 => {
                Condition::Or((0..form.below(4)).map(|_| self.condition(form, depth - 1)).collect())
            }
            _ => Condition::Not(Box::new(self.condition(form, depth - 1))),
        }
    }
}

fn filled() -> (Sqlite, Arc<TableSchema>) {
    let (engine, table) = (memory(), person());
    let session = engine.session().unwrap();
    for id in 1..=40 {
        let name = NAMES[id as usize % NAMES.len()];
        let amount = if id % 3 == 0 { Value::Null } else { Value::Float(id as f64 % 4.0) };
        let row = [Value::Int(id), name.into(), Value::Null, amount, Value::Null, Value::Int(1)];
        insert(&*session, &table, &row);
    }
    drop(session);
    (engine, table)
}

fn selected(session: &dyn Session, select: &Select) -> bobak_core::Result<Rows> {
    let mut rows = Rows::new();
    session.query(&Source::Select(select), &mut |row| {
        rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

fn of(table: &Arc<TableSchema>, condition: Option<Condition>) -> Select {
    Select {
        table: Arc::clone(table),
        columns: vec![Expr::Column(0), Expr::Column(1)],
        search: None,
        nearest: None,
        condition,
        group: Vec::new(),
        order: vec![Order { column: 0, descending: false }],
        limit: None,
        offset: 0,
        lock: None,
    }
}

#[test]
fn queries_with_other_values_return_what_their_text_returns() {
    let (engine, table) = filled();
    let session = engine.session().unwrap();
    let mut random = Random(1);
    for form in 0..400 {
        for _ in 0..4 {
            let condition = random.condition(&mut Random(form * 7919), 2);
            let mut wanted = of(&table, Some(condition));
            wanted.limit = (form % 3 == 0).then(|| random.below(9) as u64);
            wanted.offset = if form % 4 == 0 { random.below(3) as u64 } else { 0 };
            let text = select(Dialect::Sqlite, &wanted);
            let expected = query(&*session, &text.text, &text.parameters).unwrap();
            assert_eq!(selected(&*session, &wanted).unwrap(), expected, "{text:?}");
        }
    }
}

#[test]
fn changes_with_other_values_do_what_their_text_does() {
    let (engine, table) = filled();
    let session = engine.session().unwrap();
    let mut random = Random(2);
    for form in 0..300 {
        for _ in 0..3 {
            let condition = random.condition(&mut Random(form * 7919), 1);
            let assign = [
                Assign::Set { column: 1, value: random.name().into() },
                Assign::Set { column: 3, value: Value::Float(random.below(4) as f64) },
            ];
            let assign = &assign[..form as usize % 3];
            let assign = (!assign.is_empty()).then_some(assign);
            let wanted = BulkChange { table: &table, condition: Some(&condition), assign };
            let outcome = |run: &dyn Fn() -> u64| {
                session.control(TransactionControl::Begin).unwrap();
                let changed = run();
                let rows = query(&*session, "SELECT * FROM person", &[]).unwrap();
                session.control(TransactionControl::Rollback).unwrap();
                (changed, rows)
            };
            let text = change(Dialect::Sqlite, &wanted);
            let parameters: Vec<_> = text.parameters.iter().map(Into::into).collect();
            let expected = outcome(&|| session.execute(&text.text, &parameters).unwrap());
            assert_eq!(outcome(&|| session.change(&wanted).unwrap()), expected, "{text:?}");
        }
    }
}

#[test]
fn a_changed_schema_has_statements_of_its_own() {
    let (engine, table) = filled();
    let session = engine.session().unwrap();
    let equals = |value: &str| {
        Some(Condition::Compare {
            column: 1,
            comparison: Comparison::Equal,
            value: value.to_owned().into(),
        })
    };
    assert_eq!(selected(&*session, &of(&table, equals("ab"))).unwrap().len(), 6);
    session.execute("CREATE INDEX by_name ON person (name)", &[]).unwrap();
    assert_eq!(selected(&*session, &of(&table, equals("a"))).unwrap().len(), 6);
    session.execute("ALTER TABLE person RENAME COLUMN name TO title", &[]).unwrap();
    let error = selected(&*session, &of(&table, equals("a"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    let renamed = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("title"))
        .key(["id"]);
    let renamed = Arc::new(renamed.build().unwrap());
    assert_eq!(selected(&*session, &of(&renamed, equals("a"))).unwrap().len(), 6);
    // The same columns in a table that is created again.
    session.execute("DROP TABLE car", &[]).unwrap();
    session.execute("DROP TABLE person", &[]).unwrap();
    assert!(selected(&*session, &of(&renamed, equals("a"))).is_err());
    create(&engine, &[&table]);
    assert_eq!(selected(&*session, &of(&table, equals("a"))).unwrap(), Rows::new());
}

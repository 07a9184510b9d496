//! Typed queries and changes, whose statements are kept by their shape, do what the memory engine does.

use crate::failures::through_proxy;
use crate::support::{Schema, url};
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinTable,
};
use bobak_core::{
    Assign, ColumnSchema, Comparison, Condition, Engine, ErrorKind, Join, Order, Result,
    SchemaChange, Select, Source, TableSchema, TransactionControl, Type, Value,
};
use bobak_memory::Memory;
use bobak_postgres::Postgres;
use bobak_testkit::{Probe, Table, Values, row};
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

    /// A value of a column; PostgreSQL's type has not all of them.
    fn value(&mut self, column: usize) -> Value<'static> {
        match (column, self.below(8)) {
            (_, 0) => Value::Null,
            (1, _) => self.name().into(),
            (3, other) => Value::Int(other as i64 - 2),
            (4, other) => Value::Int([-1, 0, 1, 60_000_000, 86_400_000_000][other % 5]),
            (_, other) => Value::Int(other as i64),
        }
    }

    /// A condition; those of one seed differ in their values alone.
    fn condition(&mut self, form: &mut Self, depth: usize) -> Condition {
        let comparison = [Comparison::Equal, Comparison::NotEqual, Comparison::Less];
        let column = form.below(5);
        let parts = |random: &mut Self, form: &mut Self| {
            (0..form.below(4)).map(|_| random.condition(form, depth - 1)).collect()
        };
        match form.below(if depth == 0 { 8 } else { 11 }) {
            0 | 1 => Condition::Compare {
                column,
                comparison: comparison[form.below(3)],
                value: self.value(column),
            },
            2 | 3 => {
                let values = (0..self.below(24)).map(|_| self.value(column)).collect();
                Condition::In { column, values }
            }
            4 => Condition::LikeEscape {
                column: 1,
                pattern: "%!%".to_owned() + &self.name(),
                escape: '!',
            },
            5 => Condition::StartsWith { column: 1, prefix: self.name() },
            6 => Condition::EndsWith { column: 1, suffix: self.name() },
            7 => Condition::IsNull { column },
            8 => Condition::And(parts(self, form)),
            9 => Condition::Or(parts(self, form)),
            _ => Condition::Not(Box::new(self.condition(form, depth - 1))),
        }
    }
}

fn table() -> Table {
    let table = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("name"))
        .column(ColumnSchema::of::<Option<i32>>("age"))
        .column(ColumnSchema::of::<Option<bool>>("is_member"))
        .column(ColumnSchema::new("hour", Type::Time).nullable(true))
        .key(["id"])
        .given_key()
        .index("person_age", ["age"]);
    Arc::new(table.build().unwrap())
}

fn fill(probe: &Probe<'_>, table: &Table) {
    for id in 1..=40 {
        let of = |value: i64, every: i64| match id % every {
            0 => Value::Null,
            _ => Value::Int(value),
        };
        let name = NAMES[id as usize % NAMES.len()];
        let values = row![id, name, of(id % 6, 5), of(id % 2, 4), of(id % 3 * 30_000_000, 7)];
        probe.insert(table, values).unwrap();
    }
}

fn filtered(table: &Table, condition: Condition) -> Select {
    Select { condition: Some(condition), ..Select::all(table) }
}

/// The engine on the test server, and the memory engine, with the same rows.
fn with_both(test: impl Fn(&Probe<'_>, &Probe<'_>, &Table)) {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (engine, memory, table) =
        (Postgres::open(&schema.url("")).unwrap(), Memory::new(), table());
    let probes = [&engine as &dyn Engine, &memory]
        .map(|engine| Probe::with_tables(engine, &[&table]).unwrap());
    probes.iter().for_each(|probe| fill(probe, &table));
    test(&probes[0], &probes[1], &table);
}

#[test]
fn queries_with_other_values_return_what_memory_returns() {
    with_both(|postgres, memory, table| {
        let mut random = Random(1);
        for form in 0..300 {
            for _ in 0..5 {
                let condition = random.condition(&mut Random(form * 7919), 2);
                let order = vec![Order { column: 0, descending: form % 2 == 0 }];
                let mut wanted = Select { order, ..filtered(table, condition) };
                wanted.limit = (form % 3 == 0).then(|| random.below(9) as u64);
                wanted.offset = if form % 4 == 0 { random.below(3) as u64 } else { 0 };
                let expected = memory.select(&wanted).unwrap();
                assert_eq!(postgres.select(&wanted).unwrap(), expected, "{wanted:?}");
            }
        }
    });
}

#[test]
fn changes_with_other_values_do_what_memory_does() {
    with_both(|postgres, memory, table| {
        let mut random = Random(2);
        for form in 0..150 {
            for _ in 0..4 {
                let condition = random.condition(&mut Random(form * 7919), 1);
                let assign = [
                    Assign::Set { column: 1, value: random.value(1) },
                    Assign::Add { column: 2, value: Value::Int(random.below(4) as i64) },
                ];
                let assign = &assign[..form as usize % 3];
                let outcome = |probe: &Probe<'_>| {
                    probe.control(TransactionControl::Begin).unwrap();
                    let condition = Some(condition.clone());
                    let changed = match assign {
                        [] => probe.delete_where(table, condition),
                        _ => probe.change(table, condition, assign),
                    };
                    let rows = probe.all(table).unwrap();
                    probe.control(TransactionControl::Rollback).unwrap();
                    (changed.unwrap(), rows)
                };
                assert_eq!(outcome(postgres), outcome(memory), "{condition:?} {assign:?}");
            }
        }
    });
}

fn equals(column: usize, value: impl Into<Value<'static>>) -> Condition {
    Condition::Compare { column, comparison: Comparison::Equal, value: value.into() }
}

#[test]
fn a_changed_table_has_statements_of_its_own() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("")).unwrap();
    let table = table();
    let probe = Probe::with_tables(&engine, &[&table]).unwrap();
    fill(&probe, &table);
    let named = |table: &Table, name: &'static str| {
        probe.select(&filtered(table, equals(1, name))).map(|rows: Vec<Values>| rows.len())
    };
    assert_eq!(named(&table, "ab").unwrap(), 6);
    let text = Source::Sql { text: "SELECT age FROM person", parameters: &[] };
    let read_by_cursor = || engine.session().unwrap().open(&text).map(drop);
    read_by_cursor().unwrap();
    // By another program.
    schema.admin(&format!("ALTER TABLE {}.person ALTER age TYPE bigint", schema.name)).unwrap();
    read_by_cursor().unwrap();
    assert_eq!(named(&table, "a").unwrap(), 6);
    // In another session of the engine, by SQL and by a change of the schema.
    engine.session().unwrap().execute("ALTER TABLE person RENAME name TO title", &[]).unwrap();
    assert_eq!(named(&table, "a").unwrap_err().kind(), ErrorKind::Schema);
    let renamed = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("title"))
        .key(["id"]);
    let wider = renamed.clone().column(ColumnSchema::of::<Option<i64>>("points"));
    let (renamed, wider) = (Arc::new(renamed.build().unwrap()), Arc::new(wider.build().unwrap()));
    assert_eq!(named(&renamed, "a").unwrap(), 6);
    let added = SchemaChange::AddColumn { table: Arc::clone(&wider), column: 2 };
    engine.alter(&[added]).unwrap();
    assert_eq!((named(&renamed, "a").unwrap(), named(&wider, "ab").unwrap()), (6, 6));
    // In a transaction that is rolled back.
    let drop = SchemaChange::DropTable(Arc::clone(&renamed));
    probe.control(TransactionControl::Begin).unwrap();
    probe.session.alter(&[drop]).unwrap();
    assert_eq!(named(&renamed, "ab").unwrap_err().kind(), ErrorKind::Schema);
    probe.control(TransactionControl::Rollback).unwrap();
    assert_eq!(named(&renamed, "ab").unwrap(), 6);
}

/// A join that selects one expression of a table.
fn of(table: &Table, expr: JoinExpr) -> Join {
    let table = JoinTable { table: Arc::clone(table), link: None, rows: None };
    Join { tables: vec![table], columns: vec![expr], ..Join::default() }
}

fn column(column: usize) -> JoinExpr {
    JoinExpr::Column(JoinColumn { table: 0, column })
}

/// The first values of a join's rows, which the server calculates.
fn joined(probe: &Probe<'_>, join: &Join) -> Result<Vec<Value<'static>>> {
    let mut values = Vec::new();
    let is_joined = probe.session.join(join, &mut |row| {
        values.push(row.get(0).to_owned());
        Ok(true)
    })?;
    assert!(is_joined);
    Ok(values)
}

#[test]
fn a_product_of_narrow_columns_is_exact() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("")).unwrap();
    let table = table();
    let probe = Probe::with_tables(&engine, &[&table]).unwrap();
    for id in 1..=2 {
        probe.insert(&table, row![id, "a", i64::from(i32::MAX), Value::Null, Value::Null]).unwrap();
    }
    let product =
        JoinExpr::Calculation(CalculationOperator::Times, Box::new((column(2), column(2))));
    let sum = JoinExpr::Aggregate(JoinAggregate::Sum, Box::new(product.clone()));
    let one = i64::from(i32::MAX).pow(2);
    assert_eq!(joined(&probe, &of(&table, product)).unwrap(), [one, one].map(Value::Int));
    assert_eq!(joined(&probe, &of(&table, sum.clone())).unwrap(), [Value::Int(2 * one)]);
    probe.insert(&table, row![3, "a", i64::from(i32::MAX), Value::Null, Value::Null]).unwrap();
    let error = joined(&probe, &of(&table, sum)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
}

/// A condition whose text is too long to be kept by the text.
fn long(condition: Condition) -> Condition {
    let same = Condition::CompareColumns { left: 2, comparison: Comparison::Equal, right: 2 };
    Condition::And(vec![condition, Condition::Or(vec![same; 2_000])])
}

#[test]
fn a_statement_of_a_known_shape_is_not_prepared_again() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (proxy, engine) = through_proxy(&schema, &url);
    let table = table();
    let probe = Probe::with_tables(&engine, &[&table]).unwrap();
    fill(&probe, &table);
    let select = |age: i64| {
        let query = Select { limit: Some(50), ..filtered(&table, long(equals(2, age))) };
        probe.select(&query).map(|rows| rows.len())
    };
    let change = |age: i64| {
        let assign = [Assign::Add { column: 2, value: Value::Int(0) }];
        probe.change(&table, Some(long(equals(2, age))), &assign).map(|rows| rows as usize)
    };
    let join = |age: i64| {
        let filters = vec![JoinCondition::Row(0, long(equals(2, age)))];
        joined(&probe, &Join { filters, ..of(&table, column(0)) }).map(|rows| rows.len())
    };
    let calls: [&dyn Fn(i64) -> Result<usize>; 3] = [&select, &change, &join];
    for call in calls {
        let trips = |age| {
            let before = proxy.round_trips();
            (call(age).unwrap(), proxy.round_trips() - before)
        };
        // The text is written and prepared once; then the values are sent.
        assert_eq!(trips(1).0, 6);
        assert_eq!(trips(2), (6, 1));
        assert_eq!(trips(77), (0, 1));
    }
}

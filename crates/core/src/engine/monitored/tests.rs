//! Tests of the monitor over an engine that answers nothing.

use super::MonitoredEngine;
use crate::statements::{CallSite, MonitorOptions, StatementMonitor, with_label};
use crate::{
    Capabilities, ColumnSchema, Condition, Engine, Error, ErrorKind, FieldSet, Interrupt, Outcome,
    Parameter, Result, Row, SchemaChange, Select, Session, Source, TableSchema, TransactionControl,
    Value, Verb, Write,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Reads return nothing; writes fail if the first value is 0; statements never end.
struct TestEngine;

impl Engine for TestEngine {
    fn name(&self) -> &'static str {
        "test"
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(TestSession))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }
}

struct TestSession;

impl Session for TestSession {
    fn control(&self, _: TransactionControl<'_>) -> Result<()> {
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        false
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        match write.values.first() {
            Some(Value::Int(0)) => Err(Error::new(ErrorKind::Duplicate, "it exists")),
            _ => Ok(Outcome::Changed(1)),
        }
    }

    fn query(&self, _: &Source<'_>, _: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()> {
        Ok(())
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        Ok(Vec::new())
    }

    fn alter(&self, _: &[SchemaChange]) -> Result<()> {
        Ok(())
    }

    fn execute(&self, _: &str, _: &[Parameter<'_>]) -> Result<u64> {
        loop {
            Interrupt::check()?;
        }
    }
}

fn table() -> Arc<TableSchema> {
    let table = TableSchema::builder("city").column(ColumnSchema::of::<i64>("id"));
    Arc::new(table.column(ColumnSchema::of::<String>("name")).key(["id"]).build().unwrap())
}

fn monitored(options: MonitorOptions) -> (MonitoredEngine, Arc<StatementMonitor>) {
    let monitor = StatementMonitor::new(options);
    (MonitoredEngine::new(Arc::new(TestEngine), Arc::clone(&monitor)), monitor)
}

fn write(engine: &dyn Engine, key: i64) -> Result<Outcome> {
    let (table, verb, fields) = (table(), Verb::Update, [1].into_iter().collect::<FieldSet>());
    let values = [Value::Int(key), Value::from("Bern")];
    engine.write(&Write { table: &table, verb, fields, values: &values })
}

fn select(engine: &dyn Engine, condition: Condition) {
    let query = crate::Query::<()>::all().limit(1);
    let mut select: Select = query.to_select(&table(), vec![crate::Expr::Column(1)]).unwrap();
    select.condition = Some(condition);
    let session = engine.session().unwrap();
    session.query(&Source::Select(&select), &mut |_| Ok(true)).unwrap();
}

#[test]
fn statements_are_counted_by_shape() {
    let (engine, monitor) = monitored(MonitorOptions::new());
    with_label("job", || write(&engine, 1)).unwrap();
    write(&engine, 2).unwrap();
    write(&engine, 0).unwrap_err();
    for value in [1, 2] {
        let values = vec![Value::Int(value); value as usize];
        select(&engine, Condition::In { column: 0, values });
    }
    select(&engine, Condition::Not(Box::new(Condition::IsNull { column: 1 })));
    let all = monitor.statistics();
    let of = |text: &str| all.iter().find(|stats| &*stats.text == text).unwrap();
    let update = of("UPDATE city SET name = ? WHERE id = ?");
    assert_eq!((update.count, update.errors, update.rows), (3, 1, 2));
    assert_eq!((&*update.verb, update.table.as_deref()), ("update", Some("city")));
    assert_eq!(update.last_error, Some(ErrorKind::Duplicate));
    assert_eq!(update.last_origin.as_ref().unwrap().to_string(), "job");
    assert_eq!(of("SELECT name FROM city WHERE id IN (?, …) ORDER BY id LIMIT ?").count, 2);
    assert_eq!(of("SELECT name FROM city WHERE NOT (name IS NULL) ORDER BY id LIMIT ?").count, 1);
    assert_eq!(all.len(), 3);
    monitor.reset();
    assert!(monitor.statistics().is_empty());
}

#[test]
fn memory_is_bounded() {
    let (engine, monitor) = monitored(MonitorOptions::new().max_shapes(3));
    let session = engine.session().unwrap();
    for name in 0..20 {
        let sql = format!("SELECT {}a{name} FROM t", "x".repeat(5_000));
        session.query(&Source::Sql { text: &sql, parameters: &[] }, &mut |_| Ok(true)).unwrap();
    }
    let all = monitor.statistics();
    assert_eq!(all.len(), 4);
    let others = all.iter().find(|stats| &*stats.verb == "other").unwrap();
    assert_eq!((others.count, &*others.text), (17, "other statements"));
    let kept = all.iter().filter(|stats| &*stats.verb == "select");
    assert!(kept.map(|stats| stats.text.chars().count()).eq([4_001; 3]));
}

#[test]
fn long_call_ends_and_is_reported() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let options = MonitorOptions::new().timeout(Duration::from_millis(20));
    let options = options.slow(Duration::from_millis(10), move |slow| {
        log.lock().unwrap().push(slow.to_string());
    });
    let (engine, _) = monitored(options);
    let execute = || {
        let _at = CallSite::enter();
        engine.session()?.execute("DELETE FROM t WHERE a = 'secret'", &[])
    };
    assert_eq!(execute().unwrap_err().kind(), ErrorKind::Timeout);
    write(&engine, 1).unwrap();
    let lines = lines.lock().unwrap();
    let line = lines.first().unwrap();
    assert!(line.contains(" ms, 0 rows, on test, failed: "), "{line}");
    assert!(line.contains(", from ") && line.contains("monitored/tests.rs:"), "{line}");
    assert!(line.ends_with(": DELETE FROM t WHERE a = ?"), "{line}");
    assert_eq!(lines.len(), 1);
}

#[cfg(feature = "tracing")]
#[test]
fn statement_is_a_span() {
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// The names of the fields that spans have recorded.
    #[derive(Clone, Default)]
    struct Names(Arc<Mutex<Vec<&'static str>>>);

    impl tracing::field::Visit for Names {
        fn record_debug(&mut self, field: &tracing::field::Field, _: &dyn std::fmt::Debug) {
            self.0.lock().unwrap().push(field.name());
        }
    }

    impl Subscriber for Names {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "bobak"
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            span.record(&mut self.clone());
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            values.record(&mut self.clone());
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    let names = Names::default();
    let (engine, _) = monitored(MonitorOptions::new());
    tracing::subscriber::with_default(names.clone(), || {
        with_label("job", || write(&engine, 0)).unwrap_err();
    });
    let expected = ["engine", "text", "table", "rows", "micros", "error", "origin"];
    assert_eq!(*names.0.lock().unwrap(), expected);
}

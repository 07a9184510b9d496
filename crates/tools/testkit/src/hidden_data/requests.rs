//! Random requests, and their responses as text.

use super::joins;
use super::model::tables;
use super::statements::statement;
use super::values::{self, condition};
use crate::check::{Check, Failure};
use crate::model::Random;
use crate::probe::{Table, Values};
use bobak_core::{
    Assign, BulkChange, ColumnSchema, Condition, Engine, Error, Expr, FieldSet, OnDelete, OnError,
    Order, Result, Row, RowBuffer, SchemaChange, Select, Session, Source, TableAlteration,
    TableSchema, TransactionControl, Value, Verb, Write, WriteBatch,
};
use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::Arc;

/// Sends `requests` random requests of a seed to both engines, which act for one client on the two databases.
///
/// # Errors
/// The first request that was handled differently, with both responses.
pub fn compare(engines: [&dyn Engine; 2], seed: u64, requests: usize) -> Check {
    let tables = tables()?;
    let [mut a, mut b] = engines.map(|engine| Client::new(engine, seed, tables.clone()));
    for number in 0..requests {
        let ((request, a), (_, b)) = (a.request(), b.request());
        if a != b {
            let message = format!(
                "request {number} of seed {seed} is handled by what the client may not see: {request}\n-> {a}\n-> {b}"
            );
            return Err(Failure::new(message));
        }
    }
    Ok(())
}

/// Sends the requests of a seed to one engine, whatever the responses are.
///
/// # Errors
/// Those of the tables' descriptions.
pub fn send(engine: &dyn Engine, seed: u64, requests: usize) -> Check {
    let mut client = Client::new(engine, seed, tables()?);
    (0..requests).for_each(|_| drop(client.request()));
    Ok(())
}

const VERBS: [Verb; 8] = [
    Verb::Insert,
    Verb::InsertOrIgnore,
    Verb::InsertOrReplace,
    Verb::Upsert,
    Verb::UpsertOn(0),
    Verb::UpsertOn(1),
    Verb::Update,
    Verb::Delete,
];

/// One client, at one of the databases.
struct Client<'e> {
    engine: &'e dyn Engine,
    session: Option<Box<dyn Session + 'e>>,
    random: Random,
    tables: Vec<Table>,
}

impl<'e> Client<'e> {
    fn new(engine: &'e dyn Engine, seed: u64, tables: Vec<Table>) -> Self {
        Self { engine, session: None, random: super::random(seed), tables }
    }

    /// Makes a request: a description, and the response.
    fn request(&mut self) -> (String, String) {
        if self.session.is_none() {
            match self.engine.session() {
                Ok(session) => self.session = Some(session),
                Err(error) => return ("session".to_owned(), described(&error)),
            }
        }
        let Some(session) = self.session.take() else { return Default::default() };
        let mut request = String::new();
        let out = &mut request;
        let response = match self.random.weighted(&[12, 22, 30, 12, 14, 20, 8, 10, 4, 14]) {
            0 => self.get(&*session, out),
            1 => self.select(&*session, out),
            2 => self.write(&*session, out),
            3 => self.change(&*session, out),
            4 => self.batch(&*session, out),
            5 => self.sql(&*session, out),
            6 => self.alter(&*session, out),
            7 => self.control(&*session, out),
            8 => self.list(&*session, out),
            _ => self.join(&*session, out),
        };
        // A new session now and then, which ends an open transaction.
        if !self.random.percent(3) {
            self.session = Some(session);
        }
        (request, response.unwrap_or_else(|error| described(&error)))
    }

    fn table(&mut self) -> Table {
        values::table(&mut self.random, &self.tables)
    }

    fn condition(&mut self, table: &TableSchema, depth: usize) -> Condition {
        condition(&mut self.random, table, depth)
    }

    fn column(&mut self, table: &TableSchema) -> usize {
        values::column(&mut self.random, table)
    }

    fn get(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let table = self.table();
        let keys = [1, 2, 3, 4, 7, 500, 1_000_101, 1_000_110, 2_000_000, 2_000_001];
        let key = [Value::Int(self.random.pick(&keys).copied().unwrap_or(1))];
        let _ = write!(out, "get {} {key:?}", table.name());
        let mut rows = String::new();
        let mut row = |row: &dyn Row| {
            note(&mut rows, row);
            Ok(())
        };
        let found = match self.random.percent(50) {
            true => session.get(&table, &key, &mut row),
            false => self.engine.get(&table, &key, &mut row),
        }?;
        Ok(format!("{found} {rows}"))
    }

    fn select(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let table = self.table();
        let mut select = Select::all(&table);
        if self.random.percent(70) {
            select.condition = Some(self.condition(&table, 2));
        }
        if self.random.percent(40) {
            let column = self.column(&table);
            let aggregates = [
                Expr::Count,
                Expr::CountOf(column),
                Expr::Sum(column),
                Expr::Min(column),
                Expr::Max(column),
            ];
            select.columns = self.random.pick(&aggregates).copied().into_iter().collect();
            select.order.clear();
        } else if self.random.percent(50) {
            let (column, descending) = (self.column(&table), self.random.percent(50));
            select.order.insert(0, Order { column, descending });
            select.limit = Some(self.random.below(8) as u64);
            select.offset = self.random.below(4) as u64;
        }
        let Select { columns, condition, order, limit, offset, .. } = &select;
        let _ = write!(
            out,
            "select {columns:?} from {} where {condition:?} order {order:?} {limit:?} {offset}",
            table.name()
        );
        read(session, &Source::Select(&select), self.random.percent(50))
    }

    fn join(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let join = joins::join(&mut self.random, &self.tables);
        let _ = write!(out, "{join:?}");
        let mut rows = String::new();
        let ran = session.join(&join, &mut |row| {
            note(&mut rows, row);
            Ok(true)
        })?;
        Ok(format!("{ran} {rows}"))
    }

    fn owned_write(&mut self) -> (Table, Verb, FieldSet, Values) {
        let table = self.table();
        let verb = self.random.pick(&VERBS).copied().unwrap_or(Verb::Insert);
        let mut values = values::values(&mut self.random, &table);
        let mut fields = FieldSet::EMPTY;
        match verb {
            Verb::Update | Verb::Upsert | Verb::UpsertOn(_) if self.random.percent(30) => {
                fields = [self.column(&table)].into_iter().collect();
            }
            Verb::Update | Verb::Upsert | Verb::UpsertOn(_) => fields = table.updated_fields(),
            Verb::Delete => values.truncate(1),
            _ => {}
        }
        (table, verb, fields, values)
    }

    fn write(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let (table, verb, fields, values) = self.owned_write();
        let _ = write!(out, "{verb:?} {} {fields:?} {values:?}", table.name());
        let write = Write { table: &table, verb, fields, values: &values };
        let done = match session.in_transaction() || self.random.percent(50) {
            true => session.write(&write),
            false => self.engine.write(&write),
        };
        done.map(|outcome| format!("{outcome:?}"))
    }

    fn change(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let table = self.table();
        let condition = self.random.percent(80).then(|| self.condition(&table, 1));
        let column = self.column(&table);
        let value =
            table.columns().get(column).map_or(Value::Null, |c| values::value(&mut self.random, c));
        let assign = match self.random.below(3) {
            0 => None,
            1 => Some([Assign::Set { column, value }]),
            _ => Some([Assign::Add { column, value: Value::Int(1) }]),
        };
        let assign = assign.as_ref().map(|assign| &assign[..]);
        let _ = write!(out, "change {} {condition:?} {assign:?}", table.name());
        let change = BulkChange { table: &table, condition: condition.as_ref(), assign };
        session.change(&change).map(|count| count.to_string())
    }

    fn batch(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let mut batch = WriteBatch::new();
        for _ in 0..self.random.between(1, 6) {
            let (table, verb, fields, values) = self.owned_write();
            let _ = write!(out, "{verb:?} {} {fields:?} {values:?}; ", table.name());
            batch.push(&Write { table: &table, verb, fields, values: &values })?;
        }
        let stops = self.random.percent(50);
        let on_error = if stops { OnError::Stop } else { OnError::Continue };
        let mut responses = String::new();
        let sent = session.batch(&batch, on_error, &mut |outcome| {
            let _ = match outcome {
                Ok(outcome) => write!(responses, "{outcome:?}; "),
                Err(error) => write!(responses, "{}; ", described(&error)),
            };
        });
        // Outcomes of rows that are undone reach the client, too.
        let _ = sent.map_err(|error| write!(responses, "{}", described(&error)));
        Ok(responses)
    }

    fn sql(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let table = values::name(&mut self.random);
        let text = statement(&mut self.random, &table);
        let _ = write!(out, "sql {text}");
        match self.random.percent(70) {
            true => read(
                session,
                &Source::Sql { text: &text, parameters: &[] },
                self.random.percent(50),
            ),
            false => session.execute(&text, &[]).map(|count| count.to_string()),
        }
    }

    fn alter(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let table = Arc::new(self.altered_table()?);
        let column = table.columns().len().saturating_sub(1);
        let index = table.indexes().len().saturating_sub(1);
        let history = self.random.percent(50);
        let shared = Arc::clone(&table);
        let change = match self.random.below(12) {
            0..=2 => SchemaChange::AddIndex { table: shared, index },
            3 | 4 => SchemaChange::AddColumn { table: shared, column },
            5 => SchemaChange::AddReference { table: shared, column },
            6 => SchemaChange::Track { table: shared, history },
            7 => SchemaChange::Untrack(shared),
            8 => SchemaChange::DropTable(self.table()),
            9 | 10 => SchemaChange::AlterTable(Arc::new(self.alteration(shared)?)),
            _ => SchemaChange::CreateTable(shared),
        };
        let (columns, indexes) = (change.table().columns(), change.table().indexes());
        let kind = std::mem::discriminant(&change);
        let columns: Vec<_> = columns.iter().map(|column| (&column.name, &column.check)).collect();
        let _ = write!(out, "alter {kind:?} {} {columns:?} {indexes:?}", change.table().name());
        session.alter(&[change]).map(|()| "altered".to_owned())
    }

    /// A change of a table as described, sometimes without one of its columns.
    fn alteration(&mut self, to: Arc<TableSchema>) -> Result<TableAlteration> {
        let from = self.table();
        let column = self.column(&from);
        let dropped = from.columns().get(column).filter(|_| self.random.percent(50));
        let names: Vec<_> = dropped.iter().map(|column| &*column.name).collect();
        TableAlteration::new(Arc::clone(&from), to, &[], &names)
    }

    /// A table with a new column and a new index, whose names, constraints and reference may meet hidden rows.
    fn altered_table(&mut self) -> Result<TableSchema> {
        let (base, name, index) =
            (self.table(), values::name(&mut self.random), values::name(&mut self.random));
        let name = if self.random.percent(30) { name } else { base.name().to_owned() };
        let mut builder = TableSchema::builder(name).key(["id"]);
        for column in base.columns() {
            builder = builder.column(column.clone());
        }
        let indexed = base.columns().get(self.column(&base)).map_or("id", |column| &column.name);
        let added = self.added_column();
        let indexed = [indexed.to_owned()];
        let builder = match self.random.percent(40) {
            true => builder.column(added).unique_index(index, indexed),
            false => builder.column(added).index(index, indexed),
        };
        builder.build()
    }

    fn added_column(&mut self) -> ColumnSchema {
        let mut added = ColumnSchema::of::<Option<i64>>(format!("added{}", self.random.below(3)));
        match self.random.below(6) {
            0 | 1 => {
                let to = values::name(&mut self.random);
                added = added.references(to, "id", OnDelete::Restrict);
            }
            2 => added = added.nullable(false),
            3 => added = added.nullable(false).default(1).check("total < 100"),
            4 => added = added.unique(),
            _ => {}
        }
        added
    }

    fn control(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let steps = [
            TransactionControl::Begin,
            TransactionControl::Commit,
            TransactionControl::Rollback,
            TransactionControl::Savepoint("vault"),
            TransactionControl::RollbackTo("vault"),
            TransactionControl::Release("vault"),
        ];
        let step = self.random.pick(&steps).copied().unwrap_or(TransactionControl::Begin);
        let _ = write!(out, "{step:?}");
        session.control(step).map(|()| session.in_transaction().to_string())
    }

    fn list(&mut self, session: &dyn Session, out: &mut String) -> Result<String> {
        let table = self.table();
        out.push_str("list");
        let mut tables = Vec::new();
        for table in session.tables()?.into_iter().chain(session.views()?) {
            let (columns, indexes) = (table.columns(), table.indexes());
            tables.push(format!(
                "{} {columns:?} {indexes:?} {:?}",
                table.name(),
                table.foreign_keys()
            ));
        }
        tables.sort();
        let (triggers, estimate) = (session.triggers()?, self.engine.estimate(&table));
        let (details, effects) = (session.schema_details()?, session.side_effects()?);
        Ok(format!("{tables:?} {triggers:?} {estimate:?} {details:?} {effects:?}"))
    }
}

/// All that an error tells.
fn described(error: &Error) -> String {
    let place = (error.table(), error.column(), error.row(), error.code());
    let mut text = format!("{:?} {error} {place:?}", error.kind());
    let mut source = error.source();
    while let Some(inner) = source {
        let _ = write!(text, ": {inner}");
        source = inner.source();
    }
    text
}

/// The rows of a source, in one of two ways.
fn read(session: &dyn Session, source: &Source<'_>, by_cursor: bool) -> Result<String> {
    let mut rows = String::new();
    if !by_cursor {
        session.query(source, &mut |row| {
            note(&mut rows, row);
            Ok(true)
        })?;
        return Ok(rows);
    }
    let mut cursor = session.open(source)?;
    let mut part = RowBuffer::default();
    loop {
        session.fetch(&mut cursor, &mut part)?;
        let mut any = false;
        while let Some(row) = part.next_row()? {
            note(&mut rows, &row);
            any = true;
        }
        if !any {
            session.close(&mut cursor);
            return Ok(rows);
        }
    }
}

fn note(rows: &mut String, row: &dyn Row) {
    for column in 0..row.len() {
        let _ = write!(rows, "{:?},", row.get(column));
    }
    rows.push('|');
}

//! A small shop database, and callers that use it.

use bobak_core::{
    BulkChange, ColumnSchema, Condition, Engine, Error, ErrorKind, FieldSet, OnDelete, OnError,
    Outcome, Result, Row, SchemaChange, Select, Source, TableSchema, Value, Verb, Write,
    WriteBatch,
};
use bobak_memory::Memory;
use bobak_permissions::{Access, Caller, ProtectedDatabase, new_token};
use bobak_sqlite::Sqlite;
use bobak_wire::Credentials;
use std::sync::Arc;

/// The engines that most tests run on.
pub fn on_each(test: impl Fn(&Shop)) {
    let sqlite = Sqlite::builder().open_memory().unwrap();
    for engine in [Arc::new(Memory::new()) as Arc<dyn Engine>, Arc::new(sqlite)] {
        eprintln!("on {}", engine.name());
        test(&Shop::new(engine));
    }
}

/// Tables `orders(id, owner, total, kept)` and `secret(id, owner)`, with some rows each.
pub struct Shop {
    pub database: Arc<ProtectedDatabase>,
    pub orders: Arc<TableSchema>,
    pub secret: Arc<TableSchema>,
}

impl Shop {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        let secret = TableSchema::builder("secret")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("owner"))
            .key(["id"]);
        let orders = TableSchema::builder("orders")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("owner"))
            .column(ColumnSchema::of::<i64>("total"))
            .column(ColumnSchema::of::<Option<i64>>("kept").references(
                "secret",
                "id",
                OnDelete::SetNull,
            ))
            .key(["id"]);
        let [orders, secret] = [orders, secret].map(|table| Arc::new(table.build().unwrap()));
        let create = [&secret, &orders].map(|table| SchemaChange::CreateTable(Arc::clone(table)));
        engine.alter(&create).unwrap();
        let shop = Self { database: ProtectedDatabase::new("shop", engine), orders, secret };
        let operator = shop.by(&Caller::operator());
        operator.insert(&shop.secret, vec![1.into(), text("ada")]).unwrap();
        for (id, owner, total) in [(1, "ada", 10), (2, "bob", 20), (3, "ada", 30)] {
            operator.insert_order(id, owner, total).unwrap();
        }
        shop
    }

    /// A caller with a token for these grants, whose name is `ada`.
    pub fn with(&self, grants: &str) -> As<'_> {
        self.by(&ada(grants))
    }

    pub fn by(&self, caller: &Caller) -> As<'_> {
        As { shop: self, engine: self.database.engine_for(caller) }
    }
}

pub fn ada(grants: &str) -> Caller {
    let (token, hash) = new_token().unwrap();
    let text = format!("role tester\n{grants}\ntoken ada {hash} roles tester with tenant = 7");
    Access::from_text(&text).unwrap().authenticate(&Credentials::Token(token), false).unwrap()
}

pub fn text(text: &str) -> Value<'static> {
    Value::from(text.to_owned())
}

pub type Values = Vec<Value<'static>>;

pub fn order(id: i64, owner: &str, total: i64) -> Values {
    vec![id.into(), text(owner), total.into(), Value::Null]
}

/// The calls of one caller.
pub struct As<'s> {
    pub shop: &'s Shop,
    pub engine: Arc<dyn Engine>,
}

impl As<'_> {
    pub fn write(&self, table: &Arc<TableSchema>, verb: Verb, values: &Values) -> Result<Outcome> {
        let sets = verb.sets_fields();
        let fields = if sets { table.updated_fields() } else { FieldSet::EMPTY };
        self.engine.write(&Write { table, verb, fields, values })
    }

    pub fn insert(&self, table: &Arc<TableSchema>, values: Values) -> Result<Outcome> {
        self.write(table, Verb::Insert, &values)
    }

    pub fn insert_order(&self, id: i64, owner: &str, total: i64) -> Result<Outcome> {
        self.insert(&self.shop.orders, order(id, owner, total))
    }

    pub fn change(
        &self,
        table: &Arc<TableSchema>,
        condition: Option<&str>,
        assign: Option<&[bobak_core::Assign]>,
    ) -> Result<u64> {
        let condition = condition.map(|text| Condition::parse(text, table).unwrap());
        let change = BulkChange { table, condition: condition.as_ref(), assign };
        self.engine.session()?.change(&change)
    }

    pub fn batch(
        &self,
        writes: &[(&Arc<TableSchema>, Verb, Values)],
        on_error: OnError,
    ) -> (Result<()>, Vec<Result<Outcome>>) {
        let mut batch = WriteBatch::new();
        for (table, verb, values) in writes {
            let sets = verb.sets_fields();
            let fields = if sets { table.updated_fields() } else { FieldSet::EMPTY };
            batch.push(&Write { table, verb: *verb, fields, values }).unwrap();
        }
        let mut outcomes = Vec::new();
        let session = self.engine.session();
        let sent = session.and_then(|session| {
            session.batch(&batch, on_error, &mut |outcome| outcomes.push(outcome))
        });
        (sent, outcomes)
    }

    /// Whether the row with this key exists.
    pub fn has(&self, table: &Arc<TableSchema>, id: i64) -> Result<bool> {
        let here = self.engine.get(table, &[id.into()], &mut |_| Ok(()))?;
        let session = self.engine.session()?;
        assert_eq!(session.get(table, &[id.into()], &mut |_| Ok(()))?, here);
        Ok(here)
    }

    /// The keys of all rows, read in three ways.
    pub fn ids(&self, table: &Arc<TableSchema>) -> Result<Vec<i64>> {
        let select = Select::all(table);
        let session = self.engine.session()?;
        let (mut ids, mut fetched) = (Vec::new(), Vec::new());
        session.query(&Source::Select(&select), &mut |row| {
            ids.push(first(row));
            Ok(true)
        })?;
        let mut cursor = session.open(&Source::Select(&select))?;
        let mut part = bobak_core::RowBuffer::default();
        session.fetch(&mut cursor, &mut part)?;
        while let Some(row) = part.next_row()? {
            fetched.push(first(&row));
        }
        assert_eq!(ids, fetched);
        let count = Select { columns: vec![bobak_core::Expr::Count], order: Vec::new(), ..select };
        session.query(&Source::Select(&count), &mut |row| {
            assert_eq!(first(row), ids.len() as i64);
            Ok(true)
        })?;
        Ok(ids)
    }

    pub fn sql(&self, sql: &str) -> Result<Vec<i64>> {
        let session = self.engine.session()?;
        let mut rows = Vec::new();
        session.query(&Source::Sql { text: sql, parameters: &[] }, &mut |row| {
            rows.push(first(row));
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The texts in the first column.
    pub fn text(&self, sql: &str) -> Result<Vec<String>> {
        let session = self.engine.session()?;
        let mut rows = Vec::new();
        session.query(&Source::Sql { text: sql, parameters: &[] }, &mut |row| {
            rows.push(format!("{:?}", row.get(0)));
            Ok(true)
        })?;
        Ok(rows)
    }

    pub fn execute(&self, sql: &str) -> Result<u64> {
        self.engine.session()?.execute(sql, &[])
    }
}

fn first(row: &dyn Row) -> i64 {
    match row.get(0) {
        bobak_core::ValueRef::Int(id) => id,
        other => panic!("{other:?} is no key"),
    }
}

/// The visible parts of an error.
pub fn shown(error: &Error) -> (ErrorKind, String, Option<i32>) {
    (error.kind(), error.to_string(), error.code())
}

#[track_caller]
pub fn assert_fails<R: std::fmt::Debug>(result: Result<R>, kind: ErrorKind) {
    assert_eq!(result.as_ref().map_err(Error::kind).map(drop), Err(kind), "{result:?}");
}

//! The tables that are there, as somebody may see them.

use crate::feed::Feed;
use crate::memory::Memory;
use crate::names;
use crate::problem::Problem;
use crate::work;
use bobak::aio::{RowWriter, Workers};
use bobak::changes::Change;
use bobak_core::{Engine, Error, ErrorKind, FieldSet, PartialInsert, Result, TableSchema, Value};
use bobak_text::json::write_string;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How old the knowledge of tables may be: another program may change them.
const FRESH: Duration = Duration::from_secs(1);
/// The age at which it is looked up again beside what it is used for, so that nobody waits where
/// there is much to do.
const RIPE: Duration = Duration::from_millis(500);

/// A database under its name, as one guest, or many, may see it.
pub(crate) struct Base {
    pub name: String,
    pub engine: Arc<dyn Engine>,
    /// Whether a short row is read quicker than another thread is woken.
    reads_at_once: bool,
    /// The line of single writes, where the engine takes one writer at a time anyhow.
    pub writer: Option<RowWriter>,
    pub feed: Feed,
    known: RwLock<Known>,
    /// Held by who looks tables up, so that others wait for what is found.
    look_up: tokio::sync::Mutex<()>,
    /// Whether they are looked up beside what is done.
    ripens: AtomicBool,
    /// How often tables were changed through this server, whoever did it.
    turns: Arc<AtomicU64>,
}

struct Known {
    model: Arc<Model>,
    /// When the look-up began.
    looked: Option<Instant>,
    /// The turn of that moment.
    turn: u64,
}

/// All tables.
#[derive(Default)]
pub(crate) struct Model {
    /// By their names in lower case, as engines compare them.
    tables: HashMap<String, Arc<Table>>,
}

/// A table, with what is needed of it over and over.
pub(crate) struct Table {
    pub schema: Arc<TableSchema>,
    /// The columns' names as they begin a member of an object.
    pub labels: Vec<String>,
    /// What each column of a new row holds that names it not.
    pub absent: Vec<Absent>,
    /// The columns that a whole row replaces.
    pub updated: FieldSet,
    /// Whether a row was seen that takes long to read and write.
    has_long_rows: AtomicBool,
    lacking: PartialInsert,
}

/// What a column holds where a new row does not name it.
pub(crate) enum Absent {
    /// Its default; NULL; or NULL for Bobak or the engine to fill.
    Value(Value<'static>),
    /// It must be named.
    Refused,
}

impl Base {
    pub fn new(name: &str, engine: Arc<dyn Engine>, feed: Feed, writers: &Workers) -> Self {
        let known = Known { model: Arc::default(), looked: None, turn: 0 };
        let capabilities = engine.capabilities();
        let writer = (!capabilities.concurrent_writers)
            .then(|| RowWriter::new(Arc::clone(&engine), writers));
        Self {
            name: name.to_owned(),
            engine,
            reads_at_once: capabilities.nonblocking_get,
            writer,
            feed,
            known: RwLock::new(known),
            look_up: tokio::sync::Mutex::default(),
            ripens: AtomicBool::new(false),
            turns: Arc::default(),
        }
    }

    /// The same database as another guest sees it.
    pub fn seen_through(&self, engine: Arc<dyn Engine>, feed: Feed, writers: &Workers) -> Self {
        Self { turns: Arc::clone(&self.turns), ..Self::new(&self.name, engine, feed, writers) }
    }

    /// Reads a row of a table: here where that takes less than to wake another thread, else on a
    /// worker.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn read<R: Send + 'static>(
        self: &Arc<Self>,
        table: &Table,
        read: impl FnOnce(&dyn Engine) -> Result<R, Problem> + Send + 'static,
    ) -> Result<R, Problem> {
        if self.reads_at_once && !table.has_long_rows() {
            return read(&*self.engine);
        }
        let base = Arc::clone(self);
        work::run(move || read(&*base.engine)).await
    }

    /// The table with this name.
    ///
    /// # Errors
    /// 404 where there is none that may be seen; the engine's where it can't be told.
    pub async fn table(self: &Arc<Self>, name: &str) -> Result<Arc<Table>, Problem> {
        match self.look(name) {
            (Some(table), Some(age)) if age < RIPE => return Ok(table),
            (Some(table), Some(age)) if age < FRESH => {
                self.ripen();
                return Ok(table);
            }
            // It may have been made just now.
            _ => {}
        }
        let model = self.model().await?;
        model.table(name).cloned().ok_or_else(|| Problem::no_table(name))
    }

    /// All tables, as they are now.
    ///
    /// # Errors
    /// The engine's.
    pub async fn model(self: &Arc<Self>) -> Result<Arc<Model>, Problem> {
        let asked = Instant::now();
        let _turn = self.look_up.lock().await;
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            // Others have waited too, and the first of them has looked.
            if self.age(&known).is_some() && known.looked.is_some_and(|looked| looked >= asked) {
                return Ok(Arc::clone(&known.model));
            }
        }
        let base = Arc::clone(self);
        // Others wait for it, who may have a worker: so whose turn it is does not matter.
        work::aside(move || Ok(base.refresh()?)).await
    }

    /// What is known of tables is old from now on, for all who see this database: they were changed.
    pub fn forget(&self) {
        self.turns.fetch_add(1, Ordering::Release);
    }

    /// A table as it is known, and how old that is.
    fn look(&self, name: &str) -> (Option<Arc<Table>>, Option<Duration>) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        (known.model.table(name).cloned(), self.age(&known))
    }

    /// `None` where nothing is known that holds.
    fn age(&self, known: &Known) -> Option<Duration> {
        let holds = known.turn == self.turns.load(Ordering::Acquire);
        known.looked.filter(|_| holds).map(|looked| looked.elapsed())
    }

    /// Has the tables looked up, once at a time, while nobody waits.
    fn ripen(self: &Arc<Self>) {
        if self.ripens.swap(true, Ordering::AcqRel) {
            return;
        }
        let base = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            // What is wrong is found by who needs it.
            let _ = base.refresh();
            base.ripens.store(false, Ordering::Release);
        });
    }

    /// Asks the engine. Tables that are as they were stay the very same, so that engines find their
    /// prepared statements again.
    pub fn refresh(&self) -> Result<Arc<Model>> {
        let (turn, looked) = (self.turns.load(Ordering::Acquire), Some(Instant::now()));
        let found = self.engine.tables()?;
        let before = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&known.model)
        };
        let mut tables = HashMap::with_capacity(found.len());
        for schema in found {
            let table = match before.table(schema.name()) {
                Some(same) if same.schema.same_as(&schema) => Arc::clone(same),
                _ => Arc::new(Table::new(Arc::new(schema))),
            };
            tables.insert(table.schema.name().to_ascii_lowercase(), table);
        }
        let model = Arc::new(Model { tables });
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Of two who look at once the later one is right.
        if known.looked < looked {
            *known = Known { model: Arc::clone(&model), looked, turn };
        }
        Ok(model)
    }
}

impl Model {
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.tables.get(&name.to_ascii_lowercase());
        }
        self.tables.get(name)
    }

    /// All of them, by name.
    pub fn sorted(&self) -> Vec<&Arc<Table>> {
        let mut tables: Vec<_> = self.tables.values().collect();
        tables.sort_by(|a, b| a.schema.name().cmp(b.schema.name()));
        tables
    }
}

impl Table {
    pub fn new(schema: Arc<TableSchema>) -> Self {
        let label = |name: &str| {
            let mut label = String::new();
            write_string(&mut label, name);
            label.push(':');
            label
        };
        let labels = schema.columns().iter().map(|column| label(&column.name)).collect();
        let absent = (0..schema.columns().len()).map(|place| absent(&schema, place)).collect();
        let updated = schema.updated_fields();
        let has_long_rows = AtomicBool::new(false);
        let lacking = PartialInsert::new(Arc::clone(&schema));
        Self { schema, labels, absent, updated, has_long_rows, lacking }
    }

    /// The description under which a new row is written that names these columns.
    pub fn schema_for(&self, given: FieldSet) -> Arc<TableSchema> {
        self.lacking.table(given)
    }

    fn has_long_rows(&self) -> bool {
        self.has_long_rows.load(Ordering::Relaxed)
    }

    /// Notes how long a row is as text: from the first long one on others are read by workers.
    pub fn note_length(&self, bytes: usize) {
        if !Memory::is_little(bytes) {
            self.has_long_rows.store(true, Ordering::Relaxed);
        }
    }

    /// The table as it was found when a change of it was read.
    pub fn as_of(self: &Arc<Self>, change: &Change) -> Arc<Self> {
        if change.table.columns().len() == self.schema.columns().len() {
            return Arc::clone(self);
        }
        Arc::new(Self::new(Arc::clone(&change.table)))
    }

    /// Whether Bobak or the engine gives the column its value where there is none.
    pub fn is_filled(&self, place: usize) -> bool {
        is_filled(&self.schema, place)
    }

    /// The columns' places from a list of [names](names).
    ///
    /// # Errors
    /// `Schema` for one that the table has not, `Syntax` for one that comes twice,
    /// or whose quotes are wrong.
    pub fn places(&self, names: &str) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for name in names::parts(names) {
            let name = names::unquoted(name)?;
            let place = self.schema.column(&name)?;
            if places.contains(&place) {
                return Err(twice(&name));
            }
            places.push(place);
        }
        Ok(places)
    }

    pub fn name_error(&self, error: Error) -> Error {
        error.in_table(self.schema.name())
    }
}

fn is_filled(schema: &TableSchema, place: usize) -> bool {
    let generated = schema.key_generation() != bobak_core::KeyGeneration::Given;
    generated && schema.key().contains(&place)
        || [schema.created_at(), schema.modified_at(), schema.version()].contains(&Some(place))
}

fn absent(schema: &TableSchema, place: usize) -> Absent {
    let Some(column) = schema.columns().get(place) else { return Absent::Refused };
    if schema.version() == Some(place) {
        return Absent::Value(Value::Int(0));
    }
    match &column.default {
        // A key that is made is not that of a default.
        Some(_) if is_filled(schema, place) => Absent::Value(Value::Null),
        Some(default) => match column.accept(default.clone()) {
            Ok(value) => Absent::Value(value),
            Err(_) => Absent::Refused,
        },
        None if column.nullable || column.default_sql.is_some() || is_filled(schema, place) => {
            Absent::Value(Value::Null)
        }
        None => Absent::Refused,
    }
}

/// The error for a name that an object would have two values under.
#[cold]
pub(crate) fn twice(name: &str) -> Error {
    Error::new(ErrorKind::Syntax, format!("'{name}' comes twice"))
}

/// The error for a column that must be named.
#[cold]
pub(crate) fn missing(table: &Table, place: usize) -> Error {
    let name = table.schema.columns().get(place).map_or("", |column| &column.name).to_owned();
    let message = "it has no value, has no default, and may not be NULL";
    table.name_error(Error::new(ErrorKind::Constraint, message).in_column(name))
}

//! The cached rows of one table by key, and the versions that keep stale rows out.

use super::counters::HitCounters;
use super::{CacheOptions, CacheStats};
use bobak_core::codec::{self, EncodedRow};
use bobak_core::{
    Collation, ColumnSchema, Comparison, Condition, Row, Storage, TableSchema, Value,
};
use quick_cache::{Weighter, sync::Cache};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of stripes of keys. A row is not cached while a row of its stripe is being written.
const STRIPES: usize = 64;

/// A table's cache.
#[derive(Debug)]
pub(crate) struct RecordCache {
    pub table: Arc<TableSchema>,
    /// The interval between checks of the change log.
    pub watch: Duration,
    rows: Cache<CacheKey, CachedRow, RowWeighter>,
    stripes: [Mutex<StripeWriters>; STRIPES],
    /// Whether different encoded keys may be equal to the engine: case-insensitive texts, and columns of any type.
    folds: bool,
    /// The layout of the table's own schema.
    layout: RowLayout,
    hasher: RandomState,
    time_to_live: Option<Duration>,
    counts: HitCounters,
}

/// A row's key: an integer, or other values as encoded by the row codec.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CacheKey {
    Int(i64),
    Encoded(Box<[u8]>),
}

#[derive(Clone, Debug)]
struct CachedRow {
    row: Arc<[u8]>,
    layout: RowLayout,
    until: Option<Instant>,
}

/// The names and types of the columns of a row, as a hash. Other schemas of a table have other rows: those of clients of a server,
/// and those from before it was altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLayout(u64);

/// Weighs a row by its bytes, but at least by an entry's share of the limit, so that one limit bounds bytes and entries.
#[derive(Clone, Debug)]
struct RowWeighter {
    least: u64,
}

/// Counts the writers of a stripe: running now, and ever.
#[derive(Debug, Default)]
struct StripeWriters {
    now: u32,
    ever: u64,
}

/// How many writers a stripe had ever had when a lookup began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripeVersion(u64);

/// The versions of all stripes; `None` for a stripe that is being written.
pub(crate) struct StripeVersions([Option<StripeVersion>; STRIPES]);

impl RecordCache {
    pub(crate) fn new(table: &Arc<TableSchema>, options: &CacheOptions) -> Self {
        let entries = usize::try_from(options.entries).unwrap_or(usize::MAX);
        let weigh = RowWeighter { least: (options.bytes / options.entries).max(1) };
        let folds = |column: &ColumnSchema| {
            // In a column of any type, 1 and 1.0 are one key.
            column.collation != Collation::Binary || column.ty.storage() == Storage::Any
        };
        let hasher = RandomState::new();
        Self {
            folds: key_columns(table).any(folds),
            layout: RowLayout::of(table, &hasher),
            table: Arc::clone(table),
            watch: options.watch,
            rows: Cache::with_weighter(entries, options.bytes, weigh),
            stripes: std::array::from_fn(|_| Mutex::default()),
            hasher,
            time_to_live: options.time_to_live,
            counts: HitCounters::default(),
        }
    }

    /// The layout of the rows that a schema has; `None` if it is the schema of another table, or has other keys.
    #[inline]
    pub(crate) fn layout_of(&self, table: &TableSchema) -> Option<RowLayout> {
        if self.table.id() == table.id() {
            return Some(self.layout);
        }
        let is_own = self.table.name().eq_ignore_ascii_case(table.name());
        (is_own && self.has_keys_of(table)).then(|| RowLayout::of(table, &self.hasher))
    }

    /// Whether a key has the same form in the rows of another schema of this table.
    pub(crate) fn has_keys_of(&self, table: &TableSchema) -> bool {
        let is_same = |(own, other): (&ColumnSchema, &ColumnSchema)| {
            own.name.eq_ignore_ascii_case(&other.name)
                && own.ty.storage() == other.ty.storage()
                && own.collation == other.collation
        };
        self.table.id() == table.id()
            || self.table.key().len() == table.key().len()
                && key_columns(&self.table).zip(key_columns(table)).all(is_same)
    }

    /// The row with this key, encoded by the row codec.
    #[inline]
    pub(crate) fn get(&self, key: &CacheKey, layout: RowLayout) -> Option<Arc<[u8]>> {
        let Some(kept) = self.rows.get(key).filter(|kept| kept.layout == layout) else {
            self.counts.miss();
            return None;
        };
        if kept.until.is_some_and(|until| until <= Instant::now()) {
            self.rows.remove(key);
            self.counts.miss();
            return None;
        }
        self.counts.hit();
        Some(kept.row)
    }

    /// Call this before reading a row in order to cache it. `None` while a row of its stripe is being written.
    pub(crate) fn version(&self, key: &CacheKey) -> Option<StripeVersion> {
        lock(&self.stripes[self.stripe(key)]).version()
    }

    /// As [`version`](Self::version), for all stripes, if the keys are not known yet.
    pub(crate) fn versions(&self) -> StripeVersions {
        StripeVersions(std::array::from_fn(|stripe| lock(&self.stripes[stripe]).version()))
    }

    /// Caches a row, unless a writer of its stripe started after `version` was read.
    pub(crate) fn keep(
        &self,
        key: CacheKey,
        row: &[u8],
        layout: RowLayout,
        version: StripeVersion,
    ) {
        // A time beyond the clock's range means no limit.
        let until = self.time_to_live.and_then(|time| Instant::now().checked_add(time));
        let kept = CachedRow { row: Arc::from(row), layout, until };
        // The stripe stays locked until the row is inserted: a writer that starts later removes it again, and no reader
        // sees it if a writer came first.
        let writers = lock(&self.stripes[self.stripe(&key)]);
        if writers.ever == version.0 {
            self.rows.insert(key, kept);
        }
    }

    /// Forgets the row with this key if it differs from the engine's, which another program has written.
    pub(crate) fn forget_outdated(&self, key: &CacheKey, current: Option<&[u8]>) {
        if self.rows.get(key).is_some_and(|kept| Some(&*kept.row) != current) {
            self.rows.remove(key);
        }
    }

    /// Whether each key has exactly one encoded form.
    pub(crate) fn has_plain_keys(&self) -> bool {
        !self.folds
    }

    /// Whether a row that a lookup of this key has found is kept under it. A database may find the row of another key, for example
    /// if it ignores the case of texts: writes to that key would leave this entry.
    pub(crate) fn is_key_of(&self, key: &CacheKey, table: &TableSchema, row: &[u8]) -> bool {
        self.folds || CacheKey::in_row(table, &EncodedRow::new(row)).as_ref() == Some(key)
    }

    pub(crate) fn begin_writing(&self, key: &CacheKey) {
        lock(&self.stripes[self.stripe(key)]).begin();
        self.rows.remove(key);
    }

    pub(crate) fn end_writing(&self, key: &CacheKey) {
        lock(&self.stripes[self.stripe(key)]).now -= 1;
    }

    pub(crate) fn begin_writing_all(&self) {
        self.stripes.iter().for_each(|stripe| lock(stripe).begin());
        self.rows.clear();
    }

    pub(crate) fn end_writing_all(&self) {
        self.stripes.iter().for_each(|stripe| lock(stripe).now -= 1);
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let (hits, misses) = self.counts.sums();
        CacheStats { hits, misses, entries: self.rows.len() as u64 }
    }

    /// The stripe that counts the writers of this key.
    pub(crate) fn stripe(&self, key: &CacheKey) -> usize {
        let place = match key {
            CacheKey::Int(key) => key.cast_unsigned(),
            CacheKey::Encoded(_) => self.hasher.hash_one(key),
        };
        (place % STRIPES as u64) as usize
    }
}

impl RowLayout {
    fn of(table: &TableSchema, hasher: &RandomState) -> Self {
        let mut hash = hasher.build_hasher();
        for column in table.columns() {
            (&column.name, column.ty).hash(&mut hash);
        }
        Self(hash.finish())
    }
}

impl StripeVersions {
    pub(crate) fn of(&self, stripe: usize) -> Option<StripeVersion> {
        self.0.get(stripe).copied().flatten()
    }
}

impl StripeWriters {
    fn version(&self) -> Option<StripeVersion> {
        (self.now == 0).then_some(StripeVersion(self.ever))
    }

    fn begin(&mut self) {
        self.now += 1;
        self.ever += 1;
    }
}

/// Whether a value of this form equals no value of another form.
const fn is_exact(storage: Storage, value: &Value<'_>) -> bool {
    matches!(
        (storage, value),
        (Storage::Int, Value::Int(_))
            | (Storage::Text, Value::Text(_))
            | (Storage::Bytes, Value::Bytes(_))
    )
}

/// The value that a condition wants a column to have.
fn equal_value(condition: &Condition, place: usize) -> Option<&Value<'static>> {
    match condition {
        Condition::Compare { column, comparison: Comparison::Equal, value } if *column == place => {
            Some(value)
        }
        Condition::And(parts) => parts.iter().find_map(|part| equal_value(part, place)),
        _ => None,
    }
}

fn key_columns(table: &TableSchema) -> impl Iterator<Item = &ColumnSchema> {
    table.key().iter().filter_map(|&place| table.columns().get(place))
}

/// Whether it is a zero of either sign.
fn is_zero(value: &Value<'_>) -> bool {
    matches!(value, Value::Float(0.0))
}

fn lock(stripe: &Mutex<StripeWriters>) -> MutexGuard<'_, StripeWriters> {
    // Each change is a single number, so a panic leaves it valid.
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CacheKey {
    /// The key with these values in key order; `None` if they cannot be encoded.
    #[inline]
    pub(crate) fn of(values: &[Value<'_>]) -> Option<Self> {
        if let [Value::Int(key)] = values {
            return Some(Self::Int(*key));
        }
        let mut bytes = Vec::new();
        // Engines treat both zeros as one key.
        if values.iter().any(is_zero) {
            let zero = |value: &_| is_zero(value).then_some(Value::Float(0.0));
            let values: Vec<Value<'_>> =
                values.iter().map(|value| zero(value).unwrap_or_else(|| value.clone())).collect();
            codec::encode_slice(&mut bytes, &values).ok()?;
        } else {
            codec::encode_slice(&mut bytes, values).ok()?;
        }
        Some(Self::Encoded(bytes.into()))
    }

    /// The key of a whole row.
    pub(crate) fn in_row(table: &TableSchema, row: &dyn Row) -> Option<Self> {
        let values: Vec<Value<'_>> =
            table.key().iter().map(|&place| Value::from(row.get(place))).collect();
        Self::of(&values)
    }

    /// The key of the one row that a condition may match; `None` if it may match others.
    pub(crate) fn in_condition(table: &TableSchema, condition: &Condition) -> Option<Self> {
        let value = |&place: &usize| {
            let storage = table.columns().get(place)?.ty.storage();
            equal_value(condition, place).filter(|value| is_exact(storage, value)).cloned()
        };
        let values = table.key().iter().map(value).collect::<Option<Vec<_>>>()?;
        Self::of(&values)
    }

    /// The key of a row that consists of the key columns alone, in key order.
    pub(crate) fn in_key_row(row: EncodedRow<'_>) -> Option<Self> {
        let values: Vec<Value<'_>> =
            (0..row.len()).map(|place| Value::from(row.value(place))).collect();
        Self::of(&values)
    }
}

impl Weighter<CacheKey, CachedRow> for RowWeighter {
    fn weight(&self, key: &CacheKey, kept: &CachedRow) -> u64 {
        let key = match key {
            CacheKey::Int(_) => 8,
            CacheKey::Encoded(bytes) => bytes.len(),
        };
        self.least.max((key + kept.row.len()) as u64)
    }
}

//! The rows of one table.

use super::ColumnFunction;
use super::limits::ValueLimits;
use super::random::Random;
use super::references::ReferencedKeys;
use super::value::ValueSource;
use bobak::engine::FieldSet;
use bobak::engine::codec::{encode_slice, split_first};
use bobak::schema::{ColumnRole, ColumnSchema, KeyGeneration, TableSchema};
use bobak::{Error, ErrorKind, Query, Result, Transaction, Value, ValueRef};
use bobak_engine_common::{RowRules, push_sort_key};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// How many rows are tried until one satisfies all rules.
const MAX_TRIES: u32 = 1_000;

/// Makes rows of one table.
pub struct TableSample<'s> {
    schema: Arc<TableSchema>,
    columns: Vec<Column<'s>>,
    pub references: Vec<ReferencedKeys>,
    uniques: Vec<UniqueColumns>,
    rules: RowRules,
    random: Random,
    /// The columns that have values.
    pub given: FieldSet,
}

enum Column<'s> {
    /// The engine or Bobak fills it.
    Filled,
    Generated(ValueSource),
    Function(&'s ColumnFunction),
}

/// Columns whose values differ together.
struct UniqueColumns {
    columns: Vec<usize>,
    /// Those whose texts are equal if they differ in case alone.
    ignores_case: Vec<usize>,
    /// Hashes of the values: one that two values have is at worst a value that is not used.
    used: HashSet<u64>,
}

impl<'s> TableSample<'s> {
    pub fn new(
        schema: &Arc<TableSchema>,
        limits: Vec<ValueLimits>,
        functions: &'s [(String, String, ColumnFunction)],
        seed: u64,
    ) -> Result<Self> {
        let folds = limits.iter().enumerate().filter(|(_, limits)| limits.ignores_case);
        let folded: Vec<usize> = folds.map(|(place, _)| place).collect();
        let mut columns = Vec::new();
        let mut given = FieldSet::EMPTY;
        for (place, (column, limits)) in schema.columns().iter().zip(limits).enumerate() {
            let is_function = |(table, name, _): &&(String, String, ColumnFunction)| {
                table.eq_ignore_ascii_case(schema.name()) && name.eq_ignore_ascii_case(&column.name)
            };
            let made =
                schema.key_generation() == KeyGeneration::Engine && schema.key().contains(&place);
            let kind = match functions.iter().find(is_function) {
                Some((.., function)) => Column::Function(function),
                None if made || column.role != ColumnRole::Plain || column.generated.is_some() => {
                    Column::Filled
                }
                None => Column::Generated(ValueSource::new(schema.name(), column, limits)),
            };
            if !matches!(kind, Column::Filled) {
                given.insert(place);
            }
            columns.push(kind);
        }
        let mut references: Vec<_> =
            schema.all_foreign_keys().iter().map(|key| ReferencedKeys::new(schema, key)).collect();
        // A wide key decides the columns that it shares with a narrow one.
        references.sort_by_key(|reference| std::cmp::Reverse(reference.columns.len()));
        let mut uniques: Vec<_> = schema
            .indexes()
            .iter()
            .filter(|i| i.unique && !schema.is_computed_index(i))
            .map(|i| i.columns.clone())
            .collect();
        if schema.key_generation() != KeyGeneration::Engine {
            uniques.push(schema.key().to_vec());
        }
        for unique in &uniques {
            for place in unique {
                if let Some(Column::Generated(source)) = columns.get_mut(*place) {
                    source.is_in_unique = true;
                    source.is_unique |= unique.len() == 1;
                }
            }
        }
        let used = |columns: Vec<usize>| UniqueColumns {
            ignores_case: columns.iter().filter(|at| folded.contains(at)).copied().collect(),
            columns,
            used: HashSet::new(),
        };
        Ok(Self {
            columns,
            references,
            uniques: uniques.into_iter().map(used).collect(),
            rules: RowRules::new(&with_known_checks(schema)?)?,
            random: Random::of(seed, schema.name()),
            schema: Arc::clone(schema),
            given,
        })
    }

    /// Reads the values of the rows that already exist.
    pub fn read_used(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if self.uniques.is_empty() {
            return Ok(());
        }
        let table = transaction.dynamic(self.schema.name())?;
        table.for_each_row(Query::all(), |row| {
            let values: Vec<_> = (0..row.len()).map(|place| row.get(place).to_owned()).collect();
            for unique in &mut self.uniques {
                if let Some(hash) = unique.hash(&self.schema, &values) {
                    unique.used.insert(hash);
                }
            }
            Ok(true)
        })
    }

    /// Reads the rows that foreign keys may refer to; `own` for those of the table itself.
    pub fn load(&mut self, transaction: &Transaction<'_>, own: bool) -> Result<()> {
        for reference in self.references.iter_mut().filter(|r| !own || r.is_own) {
            reference.load(transaction, &mut self.random)?;
        }
        Ok(())
    }

    /// The next row.
    ///
    /// # Errors
    /// `Constraint` or `Duplicate` if no row was found that satisfies all rules.
    pub fn row(&mut self, number: u64) -> Result<Vec<Value<'static>>> {
        let mut last = None;
        for tries in 0..MAX_TRIES {
            let row = self.try_row(number, tries)?;
            match row {
                Ok(row) => return Ok(row),
                Err(error) => last = Some(error),
            }
        }
        let error = last.unwrap_or_else(|| self.exhausted());
        let message = format!(
            "no values for row {number} after {MAX_TRIES} tries: {}; ask for fewer rows, or give the column values of your own",
            error.message()
        );
        let named = Error::new(error.kind(), message).in_table(self.schema.name().to_owned());
        Err(match error.column() {
            Some(column) => named.in_column(column.to_owned()),
            None => named,
        })
    }

    /// A row, or the rule that it does not satisfy.
    fn try_row(&mut self, number: u64, tries: u32) -> Result<Result<Vec<Value<'static>>>> {
        let mut row = vec![Value::Null; self.columns.len()];
        let mut set = Vec::new();
        for reference in &self.references {
            let filled = reference.fill(&mut row, &mut set, &mut self.random, (number, tries));
            if !filled.map_err(|error| error.in_table(self.schema.name().to_owned()))? {
                let message = "rows of two referenced tables do not go together";
                return Ok(Err(Error::new(ErrorKind::Constraint, message)));
            }
        }
        for (place, (column, kind)) in self.schema.columns().iter().zip(&self.columns).enumerate() {
            let value = match kind {
                Column::Generated(_) if set.contains(&place) => continue,
                Column::Filled => continue,
                Column::Generated(source) => source.value(&mut self.random, number, tries),
                Column::Function(function) => function(&mut self.random, number),
            };
            let value = column.accept(value);
            let value = value.map_err(|error| error.in_table(self.schema.name().to_owned()))?;
            if let Some(slot) = row.get_mut(place) {
                *slot = value;
            }
        }
        if let Err(error) = self.check(&row) {
            return Ok(Err(error));
        }
        let hashes: Vec<_> = self.uniques.iter().map(|u| u.hash(&self.schema, &row)).collect();
        let mut pairs = self.uniques.iter().zip(&hashes);
        if pairs.any(|(unique, hash)| hash.is_some_and(|hash| unique.used.contains(&hash))) {
            return Ok(Err(self.exhausted()));
        }
        for (unique, hash) in self.uniques.iter_mut().zip(hashes) {
            unique.used.extend(hash);
        }
        Ok(Ok(row))
    }

    fn exhausted(&self) -> Error {
        Error::new(ErrorKind::Duplicate, "all values that were tried exist already")
    }

    fn check(&self, row: &[Value<'static>]) -> Result<()> {
        let columns = self.schema.columns().iter().zip(row);
        // What the engine fills is not known yet.
        let stored: Vec<Value<'_>> = columns
            .map(|(column, value)| match value {
                Value::Null if !column.nullable => column.added_value(),
                value => Value::from(value.as_ref()),
            })
            .collect();
        let mut bytes = Vec::new();
        encode_slice(&mut bytes, &stored)?;
        self.rules.check(&self.schema, split_first(&bytes)?.0)
    }
}

impl UniqueColumns {
    /// A hash of the values; `None` if one is NULL, which no index compares.
    fn hash(&self, schema: &TableSchema, row: &[Value<'static>]) -> Option<u64> {
        let mut bytes = Vec::new();
        for place in &self.columns {
            let value = row.get(*place).filter(|value| !value.is_null())?;
            match value {
                Value::Text(text) if self.ignores_case.contains(place) => {
                    let folded = text.to_lowercase();
                    push_sort_key(&mut bytes, schema, *place, ValueRef::Text(&folded));
                }
                value => push_sort_key(&mut bytes, schema, *place, value.as_ref()),
            }
        }
        Some(BuildHasherDefault::<DefaultHasher>::default().hash_one(&bytes))
    }
}

/// The table without the CHECKs that only its engine understands: it rejects rows itself.
fn with_known_checks(schema: &Arc<TableSchema>) -> Result<TableSchema> {
    let is_known = |text: &str| bobak_core::check::CheckExpression::parse(text, schema).is_ok();
    TableSchema::clone(schema).map_columns(|mut column: ColumnSchema| {
        column.check = column.check.filter(|text| is_known(text));
        column
    })
}

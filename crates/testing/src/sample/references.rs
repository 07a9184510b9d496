//! The rows that foreign keys may refer to.

use super::random::Random;
use bobak::schema::{ForeignKey, TableSchema};
use bobak::{Error, ErrorKind, Query, Result, Transaction, Value};

/// The keys of a referenced table, for one foreign key.
pub struct ReferencedKeys {
    /// The foreign key's columns in the table.
    pub columns: Vec<usize>,
    /// The referenced table.
    pub table: String,
    /// Whether the table refers to itself.
    pub is_own: bool,
    referenced: Vec<String>,
    /// The columns that may be NULL: if one is, the others refer to nothing.
    nullable: Vec<usize>,
    /// Whether each row refers to another one: the keys are used in turn.
    is_unique: bool,
    values: Vec<Value<'static>>,
}

impl ReferencedKeys {
    pub fn new(table: &TableSchema, key: &ForeignKey) -> Self {
        let nullable = |place: &usize| table.columns().get(*place).is_some_and(|c| c.nullable);
        Self {
            nullable: key.columns.iter().filter(|place| nullable(place)).copied().collect(),
            is_own: key.table.eq_ignore_ascii_case(table.name()),
            is_unique: is_unique(table, &key.columns),
            columns: key.columns.clone(),
            table: key.table.to_string(),
            referenced: key.referenced.iter().map(ToString::to_string).collect(),
            values: Vec::new(),
        }
    }

    /// Reads the keys that there are.
    pub fn load(&mut self, transaction: &Transaction<'_>, random: &mut Random) -> Result<()> {
        let table = transaction.dynamic(&self.table)?;
        let places = self.referenced.iter().map(|name| table.schema().column(name));
        let places = places.collect::<Result<Vec<_>>>()?;
        self.values.clear();
        table.for_each_row(Query::all(), |row| {
            // A row with NULL in a unique key cannot be referred to.
            if places.iter().all(|place| !row.get(*place).is_null()) {
                self.values.extend(places.iter().map(|place| row.get(*place).to_owned()));
            }
            Ok(true)
        })?;
        if self.is_unique {
            let width = self.columns.len();
            for last in (1..self.len()).rev() {
                let other = random.below(last as u64 + 1) as usize;
                (0..width).for_each(|i| self.values.swap(last * width + i, other * width + i));
            }
        }
        Ok(())
    }

    /// Whether a row may refer to nothing, if these columns are set.
    fn is_nullable(&self, set: &[usize]) -> bool {
        self.nullable.iter().any(|place| !set.contains(place))
    }

    fn len(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    /// Sets the columns of a row; `false` if columns that another foreign key has set do not fit.
    pub fn fill(
        &self,
        row: &mut [Value<'static>],
        set: &mut Vec<usize>,
        random: &mut Random,
        (number, tries): (u64, u32),
    ) -> Result<bool> {
        if self.columns.iter().all(|place| set.contains(place)) {
            return Ok(true);
        }
        let count = self.len() as u64;
        if count == 0 && !self.is_nullable(set) {
            let message = format!(
                "a row needs a row of '{}' to refer to, and there is none: ask for rows of that table too",
                self.table
            );
            return Err(Error::new(ErrorKind::Constraint, message));
        }
        if count == 0 || self.is_nullable(set) && random.percent(10) {
            // The other columns get values of their own.
            let free: Vec<_> =
                self.nullable.iter().filter(|at| !set.contains(at)).copied().collect();
            for &place in &free {
                if let Some(slot) = row.get_mut(place) {
                    *slot = Value::Null;
                }
            }
            set.extend(free);
            return Ok(true);
        }
        let chosen =
            if self.is_unique && tries == 0 { number % count } else { random.below(count) };
        let width = self.columns.len();
        let values = self.values.iter().skip(chosen as usize * width);
        for (place, value) in self.columns.iter().zip(values) {
            let Some(slot) = row.get_mut(*place) else { continue };
            if set.contains(place) && slot != value {
                return Ok(false);
            }
            slot.clone_from(value);
        }
        set.extend(&self.columns);
        Ok(true)
    }
}

/// Whether the values of these columns are different in all rows.
pub fn is_unique(table: &TableSchema, columns: &[usize]) -> bool {
    let covered = |unique: &[usize]| unique.iter().all(|place| columns.contains(place));
    covered(table.key()) || table.indexes().iter().any(|i| i.unique && covered(&i.columns))
}

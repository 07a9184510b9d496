//! Comparing a replica with its source.

use super::pair::TablePair;
use super::{PAGE_CHANGES, Replica};
use crate::copy::{sum_row, walk};
use bobak_core::{Error, ErrorKind, Result, Select, Session, TransactionControl};

/// The result of a successful comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaCheck {
    /// The number of the change after which both were compared.
    pub position: u64,
    /// The tables, in the order of their names.
    pub tables: Vec<CheckedTable>,
}

/// A table that is the same in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTable {
    /// Its name.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
    /// The checksum over all values. It may differ in other versions of Bobak.
    pub checksum: u64,
}

impl Replica {
    /// Applies the remaining changes, and compares all rows of both databases: their number, and a checksum over their
    /// values.
    ///
    /// The source is read in one transaction. If its engine has one writer at a time, other writers wait meanwhile.
    ///
    /// # Errors
    /// `Conflict` for the first table that differs; as [`step`](Self::step).
    pub fn check(&mut self) -> Result<ReplicaCheck> {
        self.step(std::time::Duration::ZERO)?;
        let from = std::sync::Arc::clone(&self.from);
        let source = from.session()?;
        source.control(TransactionControl::Begin)?;
        let checked = self.check_in(&*source);
        // It has written nothing.
        let _ = source.control(TransactionControl::Rollback);
        checked
    }

    fn check_in(&mut self, source: &dyn Session) -> Result<ReplicaCheck> {
        let logs = bobak_changes::logs_in(source)?;
        let replicated = logs.iter().filter(|log| self.replicates(log.table.name()));
        let wanted: Vec<_> = replicated.cloned().collect();
        let mut position = self.position.unwrap_or(0);
        let more = |position| bobak_changes::page(source, &logs, &wanted, position, PAGE_CHANGES);
        loop {
            let page = more(position)?;
            if page.next == position {
                break;
            }
            let mut made = Some(self.made);
            let done =
                super::apply::apply(&*self.to, &self.pairs, position, page, &mut made, more)?;
            (position, self.position, self.made) =
                (done.position, Some(done.position), made.flatten());
        }
        let target = self.to.session()?;
        let mut tables = Vec::with_capacity(self.pairs.len());
        for pair in &self.pairs {
            tables.push(compare(source, &*target, pair)?);
        }
        Ok(ReplicaCheck { position, tables })
    }

    fn replicates(&self, table: &str) -> bool {
        self.pairs.iter().any(|pair| pair.source.name().eq_ignore_ascii_case(table))
    }
}

/// Compares the rows of a table in both.
fn compare(source: &dyn Session, target: &dyn Session, pair: &TablePair) -> Result<CheckedTable> {
    let (mut rows, mut checksum) = (0_u64, 0_u64);
    walk(source, &Select::all(&pair.source), |row| {
        let mut values = Vec::new();
        pair.columns.values(row, &mut values)?;
        rows += 1;
        checksum = checksum.wrapping_add(sum_row(&pair.columns, &values.as_slice()));
        Ok(())
    })?;
    let (mut found, mut sum) = (0_u64, 0_u64);
    walk(target, &Select::all(&pair.target), |row| {
        found += 1;
        sum = sum.wrapping_add(sum_row(&pair.columns, row));
        Ok(())
    })?;
    let table = pair.source.name().to_owned();
    if (rows, checksum) == (found, sum) {
        return Ok(CheckedTable { table, rows, checksum });
    }
    let message = format!(
        "the target differs from the source: {found} rows with the checksum {sum:016x}, {rows} with \
         {checksum:016x} in the source"
    );
    Err(Error::new(ErrorKind::Conflict, message).in_table(table))
}

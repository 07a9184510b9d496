//! The statements that a connection runs.

use super::Connection;
use crate::names::Names;
use crate::values::{Blobs, result_row};
use crate::wire::ReceivedRows;
use bobak_core::{Interrupt, Result, Row, TableSchema, Type};
use bobak_engine_common::{
    EachRow, ServerCondition, StatementConnection, StatementDialect, StatementValue, kept_type,
    kept_types, scan_with,
};

impl StatementConnection for Connection {
    type Dialect = Names;

    fn dialect(&self) -> Names {
        self.names
    }

    fn run(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<u64> {
        let statement = self.prepared(table, sql)?;
        if statement.has_cursor {
            let of = table.map(|table| (table, &[][..]));
            return self.each(of, sql, values, &mut |_| Ok(true)).map(|()| 0);
        }
        let message = self.message(&statement, table, values)?;
        let transaction = self.current()?;
        self.patiently(table, |channel| channel.execute(transaction, &statement, &message))
    }

    fn each(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let table = of.map(|(table, _)| table);
        let types = of.map(|(table, shown)| kept_types(table, shown));
        let statement = self.prepared(table, sql)?;
        let message = self.message(&statement, table, values)?;
        let transaction = self.current()?;
        let mut view = result_row(&statement.columns, types.as_deref());
        let (mut rows, mut blobs) = (ReceivedRows::default(), Blobs::default());
        if !statement.has_cursor {
            return self.one(table, &statement, &message, &mut view, row);
        }
        let mut has_more = self.patiently(table, |channel| {
            rows.clear();
            channel.open_cursor(transaction, &statement, &message, &mut rows)
        })?;
        let read = loop {
            match self.hand_out(transaction, &statement, &rows, &mut blobs, &mut view, row) {
                Ok(true) if has_more => {}
                other => break other.map(drop),
            }
            if let Err(error) = Interrupt::check() {
                break Err(error);
            }
            rows.clear();
            match self.patiently(table, |channel| channel.fetch(&statement, &mut rows)) {
                Ok(more) => has_more = more,
                Err(error) => break Err(error),
            }
        };
        self.channel.close(statement.handle);
        read
    }

    /// Of 64-bit integers, Firebird's indexes have the smallest in a wrong place: it comes first here.
    fn scan(
        &mut self,
        table: &TableSchema,
        condition: &ServerCondition<'_>,
        most: Option<u64>,
        each: &mut EachRow<'_>,
    ) -> Result<()> {
        let first = table.key().first().filter(|first| {
            kept_type(table, **first) == Type::I64 && !condition.fixed.contains(first)
        });
        let is_sorted = table.key().iter().all(|place| self.names.is_sorted(table, *place));
        let Some(&first) = first.filter(|_| is_sorted) else {
            return scan_with(self, table, condition, (None, most), each).map(drop);
        };
        let name = self.names.column(table, first);
        for operator in ["=", "<>"] {
            let part = format!("{name} {operator} {}", i64::MIN);
            if !scan_with(self, table, condition, (Some(&part), most), each)? {
                break;
            }
        }
        Ok(())
    }
}

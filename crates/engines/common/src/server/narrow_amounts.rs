//! Columns of other programs that have fewer decimals than Bobak's money.

use bobak_core::{Assign, Error, ErrorKind, Result, Row, TableSchema, Type, Value, ValueRef};

/// The money columns of a table that have fewer than four decimals on its server, such as a `DECIMAL(10,2)`. The server
/// rounds what is written to them, without an error, so an engine checks amounts before it sends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NarrowAmounts {
    /// Each column's place, and its smallest amount in ten-thousandths.
    columns: Vec<(usize, i64)>,
}

impl NarrowAmounts {
    /// Those of a table, whose columns have the numbers of decimals that `decimals` returns, if it knows them.
    #[must_use]
    pub fn new(table: &TableSchema, decimals: impl Fn(usize) -> Option<u32>) -> Self {
        let money = table.columns().iter().enumerate().filter(|(_, c)| c.ty == Type::Currency);
        let narrow = money.filter_map(|(place, _)| {
            let missing = 4_u32.checked_sub(decimals(place)?).filter(|missing| *missing > 0)?;
            Some((place, 10_i64.pow(missing)))
        });
        Self { columns: narrow.collect() }
    }

    /// Checks the amounts of a row that is inserted or updated.
    ///
    /// # Errors
    /// `OutOfRange` for an amount with more decimals than its column.
    pub fn check_row(&self, table: &TableSchema, row: &dyn Row) -> Result<()> {
        let mut places = self.columns.iter().map(|(place, _)| *place);
        places.try_for_each(|place| self.check_value(table, place, row.get(place)))
    }

    /// Checks a value that a column gets.
    ///
    /// # Errors
    /// `OutOfRange` for an amount with more decimals than its column.
    pub fn check_value(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Result<()> {
        let column = self.columns.iter().find(|(narrow, _)| *narrow == place);
        match (column, value) {
            (Some((_, smallest)), ValueRef::Int(amount)) if amount % smallest != 0 => {
                Err(too_exact(table, place, amount))
            }
            _ => Ok(()),
        }
    }

    /// Checks the amounts that columns are set to, or that are added to them.
    ///
    /// # Errors
    /// `OutOfRange` for an amount with more decimals than its column.
    pub fn check_assigned(&self, table: &TableSchema, assigned: &[Assign]) -> Result<()> {
        self.columns.iter().try_for_each(|&(place, smallest)| {
            let amount = assigned.iter().find_map(|assign| match assign {
                Assign::Set { column, value: Value::Int(amount) }
                | Assign::Add { column, value: Value::Int(amount) }
                    if *column == place =>
                {
                    Some(*amount)
                }
                _ => None,
            });
            match amount.filter(|amount| amount % smallest != 0) {
                Some(amount) => Err(too_exact(table, place, amount)),
                None => Ok(()),
            }
        })
    }
}

#[cold]
fn too_exact(table: &TableSchema, place: usize, amount: i64) -> Error {
    let amount = bobak_core::Currency::from_scaled(amount);
    let message = format!(
        "{amount} has more decimals than the column, and the server would round it: round it first, or give the \
         column four decimals"
    );
    let error = Error::new(ErrorKind::OutOfRange, message).in_table(table.name().to_owned());
    match table.columns().get(place) {
        Some(column) => error.in_column(column.name.to_string()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::ColumnSchema;

    #[test]
    fn amounts_with_more_decimals_are_rejected() {
        let table = TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("price", Type::Currency).nullable(true))
            .column(ColumnSchema::new("exact", Type::Currency))
            .key(["id"])
            .build()
            .unwrap();
        let narrow = NarrowAmounts::new(&table, |place| Some(if place == 1 { 2 } else { 4 }));
        let row = |price: Value<'static>| [Value::Int(3), price, Value::Int(1)];
        for price in [Value::Null, Value::Int(0), Value::Int(-100), Value::Int(123_400)] {
            narrow.check_row(&table, &&row(price)[..]).unwrap();
        }
        for price in [1, -1, 10, -50] {
            let error = narrow.check_row(&table, &&row(Value::Int(price))[..]).unwrap_err();
            assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("price")));
            let assigned = [Assign::Add { column: 1, value: Value::Int(price) }];
            assert!(narrow.check_assigned(&table, &assigned).is_err());
        }
        let exact = [Assign::Set { column: 2, value: Value::Int(1) }];
        narrow.check_assigned(&table, &exact).unwrap();
        assert_eq!(NarrowAmounts::new(&table, |_| None), NarrowAmounts::default());
    }
}

//! Encrypting stored values again, with the current key.

use super::table_cipher::TableCipher;
use bobak_core::{
    FieldSet, Interrupt, Result, Row, RowBuffer, Select, Session, Source, Value, Verb, Write,
};

/// What was done with a batch of rows.
pub(crate) struct DoneBatch {
    pub written: u64,
    /// The key of its last row; `None` if it had none.
    pub last: Option<Vec<Value<'static>>>,
}

/// Encrypts the values of the rows of a query again that are not encrypted with the current key.
///
/// # Errors
/// Those of [`TableCipher::open`] and of the engine.
pub(crate) fn reencrypt_batch(
    session: &dyn Session,
    cipher: &TableCipher,
    select: &Select,
) -> Result<DoneBatch> {
    let table = &cipher.stored;
    let mut rows = RowBuffer::default();
    session.query(&Source::Select(select), &mut |row| rows.push(row).map(|()| true))?;
    let mut done = DoneBatch { written: 0, last: None };
    while let Some(row) = rows.next_row()? {
        Interrupt::check()?;
        let mut values: Vec<Value<'_>> =
            (0..row.len()).map(|column| row.value(column).into()).collect();
        let of_row = |column: usize| row.get(column);
        let mut fields = FieldSet::EMPTY;
        for (place, own) in cipher.encrypted() {
            let stored = row.value(place);
            if !cipher.is_current(own, stored) {
                let plain = cipher.open(place, own, stored, of_row)?;
                fields.insert(place);
                if let Some(slot) = values.get_mut(place) {
                    *slot = cipher.seal(place, own, plain.as_ref(), of_row)?;
                }
            }
        }
        if fields != FieldSet::EMPTY {
            session.write(&Write { table, verb: Verb::Update, fields, values: &values })?;
            done.written += 1;
        }
        let key = table.key().iter().map(|&column| row.value(column).to_owned());
        done.last = Some(key.collect());
    }
    Ok(done)
}

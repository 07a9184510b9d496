//! What the server says of a prepared statement, and of what it has done.

use super::message::{FieldDescription, result_format};

/// What the client requests of a prepared statement: its kind, then its columns and its parameters.
pub(super) const DESCRIBE: [u8; 18] =
    [21, 4, 7, 9, 11, 12, 13, 14, 19, 8, 5, 7, 9, 11, 12, 13, 14, 8];
/// A prepared statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirebirdStatement {
    pub handle: i32,
    pub columns: Vec<FieldDescription>,
    pub parameters: Vec<FieldDescription>,
    /// Whether its rows are fetched, or come with the execution.
    pub has_cursor: bool,
    pub(super) format: Vec<u8>,
}

/// The items of a description: a number, its length in two bytes, its value.
struct Items<'a>(&'a [u8]);

impl<'a> Items<'a> {
    fn number(bytes: &[u8]) -> i32 {
        bytes.iter().rev().fold(0, |number, byte| (number << 8) | i32::from(*byte))
    }

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&item, rest) = self.0.split_first()?;
        // Marks without a value: the select list, the parameters, the end of one, the end.
        if matches!(item, 1 | 2 | 4 | 5 | 8) {
            self.0 = rest;
            return Some((item, &[]));
        }
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (value, later) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        self.0 = later;
        Some((item, value))
    }
}

/// The statement of a description.
pub(super) fn describe(handle: i32, data: &[u8]) -> FirebirdStatement {
    let mut prepared = FirebirdStatement { handle, ..FirebirdStatement::default() };
    let (mut items, mut is_parameter) = (Items(data), false);
    while let Some((item, value)) = items.next() {
        let number = Items::number(value.get(..4).unwrap_or(value));
        let list = if is_parameter { &mut prepared.parameters } else { &mut prepared.columns };
        match item {
            21 => prepared.has_cursor = matches!(number, 1 | 12),
            4 => is_parameter = false,
            5 => is_parameter = true,
            9 => list.push(FieldDescription::default()),
            _ => {
                let Some(last) = list.last_mut() else { continue };
                match item {
                    11 => last.ty = number & !1,
                    12 => last.subtype = number,
                    13 => last.scale = number,
                    14 => last.length = number,
                    19 => last.name = String::from_utf8_lossy(value).into_owned(),
                    _ => {}
                }
            }
        }
    }
    prepared.format = result_format(&prepared.columns);
    prepared
}

/// The rows that a statement has inserted, updated and deleted.
pub(super) fn rows_written(data: &[u8]) -> u64 {
    let mut items = Items(data);
    let mut rows = 0;
    if let Some((23, counts)) = items.next() {
        let mut counts = Items(counts);
        while let Some((item, value)) = counts.next() {
            if matches!(item, 14..=16) {
                rows += u64::try_from(Items::number(value)).unwrap_or(0);
            }
        }
    }
    rows
}

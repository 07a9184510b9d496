//! A row that a server has sent, as Bobak's.

use bobak_core::{
    Error, ErrorKind, Result, ResultColumn, Row, Type, Value, ValueRef, stored_literal,
};

/// A value of a [`ServerRow`], in the form that its type has for Bobak. Texts and bytes are from one place in the row's
/// bytes to another.
#[derive(Clone, Copy, Debug)]
pub enum ServerValue {
    /// NULL.
    Null,
    /// What Bobak stores as an integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text in UTF-8.
    Text(usize, usize),
    /// Bytes.
    Bytes(usize, usize),
}

impl ServerValue {
    /// The value, unless it is NaN.
    fn checked(self) -> Result<Self> {
        match self {
            Self::Float(float) if float.is_nan() => {
                let message = "the server has NaN, which is no value here";
                Err(Error::new(ErrorKind::OutOfRange, message))
            }
            value => Ok(value),
        }
    }
}

/// A row that is handed out, and filled again for the next.
#[derive(Debug, Default)]
pub struct ServerRow {
    columns: Vec<ResultColumn>,
    /// Whether a schema gave the types: rows of tables do not repeat them.
    is_typed: bool,
    values: Vec<ServerValue>,
    bytes: Vec<u8>,
}

impl ServerRow {
    /// Rows with these columns; `is_typed` if a schema gave their types.
    #[must_use]
    pub const fn new(columns: Vec<ResultColumn>, is_typed: bool) -> Self {
        Self { columns, is_typed, values: Vec::new(), bytes: Vec::new() }
    }

    /// Rows whose columns have these names, and these types if no schema gives theirs.
    pub fn described(
        columns: impl Iterator<Item = (String, Type)>,
        types: Option<&[Type]>,
    ) -> Self {
        let known = |at: usize| types.and_then(|types| types.get(at).copied());
        let columns = columns
            .enumerate()
            .map(|(at, (name, ty))| ResultColumn::new(name, known(at).unwrap_or(ty)));
        Self::new(columns.collect(), types.is_some())
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Begins the next row, some of whose values are in `bytes`.
    pub fn begin(&mut self, bytes: &[u8]) {
        self.values.clear();
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the next value; `read` is given the type of its column.
    ///
    /// # Errors
    /// Those of `read`, with the column; `OutOfRange` for NaN.
    pub fn push(
        &mut self,
        read: impl FnOnce(&mut Self, Type) -> Result<ServerValue>,
    ) -> Result<()> {
        let at = self.values.len();
        let ty = self.columns.get(at).map_or(Type::Any, |column| column.ty);
        let value = read(self, ty).and_then(ServerValue::checked).map_err(|error| {
            let name = self.columns.get(at).map_or("", |column| &*column.name);
            error.in_column(name.to_owned())
        })?;
        self.values.push(value);
        Ok(())
    }

    /// Appends to the row's bytes; returns where they start and end.
    pub fn append(&mut self, bytes: &[u8]) -> (usize, usize) {
        self.append_with(|own| own.extend_from_slice(bytes))
    }

    /// Appends what `write` appends; returns where that starts and ends.
    pub fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> (usize, usize) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        (start, self.bytes.len())
    }

    /// Appends bytes that are a value.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> ServerValue {
        let (start, end) = self.append(bytes);
        ServerValue::Bytes(start, end)
    }

    /// The text between two places: an amount, if another program keeps the column's amounts as texts.
    ///
    /// # Errors
    /// `Corrupt` if it is not UTF-8, `Mismatch` if it is no amount.
    pub fn text(&self, start: usize, end: usize, ty: Type) -> Result<ServerValue> {
        let text = std::str::from_utf8(self.part(start, end))
            .map_err(|_| Error::new(ErrorKind::Corrupt, "the text is not UTF-8"))?;
        if ty == Type::Currency
            && let Value::Int(scaled) = stored_literal(ty, text)?
        {
            return Ok(ServerValue::Int(scaled));
        }
        Ok(ServerValue::Text(start, end))
    }

    /// The text of a number, of which so many digits are decimals, without zeros at their end.
    pub fn number_text(&mut self, digits: i128, decimals: usize) -> ServerValue {
        let text = format!("{:0>width$}", digits.unsigned_abs(), width = decimals + 1);
        let (whole, part) = text.split_at(text.len() - decimals);
        let sign = if digits < 0 { "-" } else { "" };
        let part = part.trim_end_matches('0');
        let point = if part.is_empty() { "" } else { "." };
        let (start, end) = self.append(format!("{sign}{whole}{point}{part}").as_bytes());
        ServerValue::Text(start, end)
    }

    fn part(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }
}

impl Row for ServerRow {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        match self.values.get(column) {
            None | Some(ServerValue::Null) => ValueRef::Null,
            Some(ServerValue::Int(integer)) => ValueRef::Int(*integer),
            Some(ServerValue::Float(float)) => ValueRef::Float(*float),
            // It was looked at when it was taken.
            Some(&ServerValue::Text(start, end)) => {
                ValueRef::Text(std::str::from_utf8(self.part(start, end)).unwrap_or_default())
            }
            Some(&ServerValue::Bytes(start, end)) => ValueRef::Bytes(self.part(start, end)),
        }
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| &*column.name)
    }

    fn ty(&self, column: usize) -> Type {
        let known = self.columns.get(column).filter(|_| !self.is_typed);
        known.map_or(Type::Any, |column| column.ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_zeros_at_the_end_of_their_decimals() {
        let mut row = ServerRow::new(vec![ResultColumn::new("n", Type::Text)], true);
        for (digits, decimals, expected) in
            [(1_500, 3, "1.5"), (-5, 3, "-0.005"), (100, 0, "100"), (0, 2, "0"), (2_000, 3, "2")]
        {
            row.begin(&[]);
            row.push(|row, _| Ok(row.number_text(digits, decimals))).unwrap();
            assert_eq!(row.get(0), ValueRef::Text(expected));
        }
    }

    #[test]
    fn nan_is_no_value() {
        let mut row = ServerRow::new(vec![ResultColumn::new("f", Type::F64)], true);
        row.push(|_, _| Ok(ServerValue::Float(f64::INFINITY))).unwrap();
        row.begin(&[]);
        let error = row.push(|_, _| Ok(ServerValue::Float(f64::NAN))).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("f")));
    }
}

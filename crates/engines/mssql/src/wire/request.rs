//! Requests as bytes: calls with parameters, and rows of a bulk load.

use super::bytes::push_text;
use super::collation::CollationBytes;
use super::types::SentKind;
use super::values::TdsValue;

/// The number of the procedure `sp_executesql`.
const EXECUTE_SQL: u16 = 10;
/// The most units of a text with a length of its own.
const UNITS: usize = 4_000;

/// What is before a request: the transaction that it belongs to, and that it is the only one.
pub(super) fn headers(transaction: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(22_u32.to_le_bytes());
    out.extend(18_u32.to_le_bytes());
    out.extend(2_u16.to_le_bytes());
    out.extend(transaction.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out
}

/// A call of `sp_executesql`: the text, whose parameters are `@P1`, `@P2` and so on, and their values.
pub(crate) fn push_call(out: &mut Vec<u8>, sql: &str, values: &[(SentKind, TdsValue<'_>)]) {
    out.extend(u16::MAX.to_le_bytes());
    out.extend(EXECUTE_SQL.to_le_bytes());
    out.extend([0; 2]);
    push_parameter(out, text_kind(sql), TdsValue::Text(sql));
    if values.is_empty() {
        return;
    }
    let declared = (1..).zip(values).map(|(at, (kind, _))| format!("@P{at} {}", kind.name()));
    let declared = declared.collect::<Vec<_>>().join(",");
    push_parameter(out, text_kind(&declared), TdsValue::Text(&declared));
    for (kind, value) in values {
        push_parameter(out, *kind, *value);
    }
}

fn text_kind(text: &str) -> SentKind {
    SentKind::Text((text.len() <= UNITS).then_some(UNITS as u16))
}

/// A parameter without a name, at the next place.
fn push_parameter(out: &mut Vec<u8>, kind: SentKind, value: TdsValue<'_>) {
    out.extend([0, 0]);
    kind.push(out, CollationBytes::default());
    value.push(kind, out);
}

/// A column of a bulk load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BulkColumn {
    pub name: String,
    pub kind: SentKind,
    pub is_nullable: bool,
}

impl BulkColumn {
    /// The number of the type, if its values have no length of their own.
    fn fixed(&self) -> Option<u8> {
        self.kind.fixed_id().filter(|_| !self.is_nullable)
    }
}

/// The columns of a bulk load.
pub(crate) fn push_bulk_head(out: &mut Vec<u8>, columns: &[BulkColumn], collation: [u8; 5]) {
    out.push(0x81);
    out.extend(u16::try_from(columns.len()).unwrap_or(u16::MAX - 1).to_le_bytes());
    for column in columns {
        out.extend([0; 4]);
        out.extend([8 | u8::from(column.is_nullable), 0]);
        match column.fixed() {
            Some(id) => out.push(id),
            None => column.kind.push(out, CollationBytes(collation)),
        }
        out.push(u8::try_from(column.name.encode_utf16().count()).unwrap_or(u8::MAX));
        push_text(out, &column.name);
    }
}

/// A row of a bulk load.
pub(crate) fn push_bulk_row(out: &mut Vec<u8>, columns: &[BulkColumn], values: &[TdsValue<'_>]) {
    out.push(0xd1);
    for (column, value) in columns.iter().zip(values) {
        match column.fixed() {
            Some(_) => value.push_plain(column.kind, out),
            None => value.push(column.kind, out),
        }
    }
}

/// The end of a bulk load's rows.
pub(crate) fn push_bulk_end(out: &mut Vec<u8>) {
    out.push(0xfd);
    out.extend([0; 12]);
}

/// A request about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionStep<'n> {
    /// Begins one, at the isolation level of this number.
    Begin(u8),
    Commit,
    /// Rolls all back, or back to the savepoint of this name.
    Rollback(&'n str),
    Save(&'n str),
}

impl TransactionStep<'_> {
    pub(super) fn push(self, out: &mut Vec<u8>) {
        let (request, name): (u16, &str) = match self {
            Self::Begin(_) => (5, ""),
            Self::Commit => (7, ""),
            Self::Rollback(name) => (8, name),
            Self::Save(name) => (9, name),
        };
        out.extend(request.to_le_bytes());
        if let Self::Begin(level) = self {
            out.push(level);
        }
        let mut text = Vec::new();
        push_text(&mut text, name);
        out.push(u8::try_from(text.len()).unwrap_or(0));
        out.extend(text);
        // No transaction is begun at once after the end.
        if matches!(self, Self::Commit | Self::Rollback(_)) {
            out.push(0);
        }
    }
}

//! What the driver and the database say of themselves.

use crate::driver::{Buffer, BufferForm, Channel, OdbcError, OdbcStatement};
use crate::values::ValueForms;
use bobak_sql::Dialect;
use odbc_sys::InfoType;
use std::sync::Arc;

/// A database whose ways are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProductKind {
    Postgres,
    /// MariaDB and MySQL.
    MySql,
    Sqlite,
    /// Any other: only what every database does is expected of it.
    Other,
}

impl ProductKind {
    /// The kind of a database, by the name and the version that its driver reports.
    pub(crate) fn of(name: &str, version: &str) -> Self {
        let lower = name.to_lowercase();
        match lower.as_str() {
            _ if lower.contains("postgres") => Self::Postgres,
            _ if lower.contains("mysql") || is_mariadb(name, version) => Self::MySql,
            _ if lower.contains("sqlite") => Self::Sqlite,
            _ => Self::Other,
        }
    }
}

fn is_mariadb(name: &str, version: &str) -> bool {
    [name, version].iter().any(|text| text.to_lowercase().contains("mariadb"))
}

/// The database behind a driver.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub kind: ProductKind,
    /// The dialect that the statements for single rows are written in. Of a database that is not known, SQLite's: it is
    /// standard SQL there.
    pub dialect: Dialect,
    /// Whether a value of a block of rows can be read in parts.
    pub reads_in_blocks: bool,
    /// The forms of the values that are read.
    pub forms: ValueForms,
    /// Whether the driver has transactions.
    pub has_transactions: bool,
}

/// `SQL_GD_BLOCK` and `SQL_GD_BOUND`.
const IN_BLOCKS: u32 = 4 | 8;

impl Product {
    pub(crate) fn of(channel: &Arc<Channel>) -> Self {
        let (name, version) = (channel.text(InfoType::DbmsName), channel.text(InfoType::DbmsVer));
        let kind = ProductKind::of(&name, &version);
        let dialect = match kind {
            ProductKind::Postgres => Dialect::Postgres,
            ProductKind::MySql if is_mariadb(&name, &version) => Dialect::MariaDb,
            ProductKind::MySql => Dialect::MySql,
            ProductKind::Sqlite | ProductKind::Other => Dialect::Sqlite,
        };
        Self {
            kind,
            dialect,
            // MariaDB's driver says so, but gives the wrong part of the value.
            reads_in_blocks: kind != ProductKind::MySql
                && channel.number(InfoType::GetDataExtensions) & IN_BLOCKS == IN_BLOCKS,
            forms: result_forms(kind, channel),
            has_transactions: channel.number(InfoType::TransactionCapable) & 0xffff != 0,
        }
    }
}

fn result_forms(kind: ProductKind, channel: &Arc<Channel>) -> ValueForms {
    let mut forms = ValueForms::of_parameters(kind);
    if kind == ProductKind::Postgres && gives_utf8(channel).unwrap_or(false) {
        forms.text = BufferForm::Utf8;
    }
    // Where it is tested: of a date 0000-00-00, other drivers may make NULL.
    if channel.text(InfoType::DriverName).to_lowercase().contains("maodbc") {
        forms.moment = BufferForm::Moment;
    }
    forms
}

/// Whether psqlodbc gives texts of bytes as UTF-8, which is quicker than UTF-16. It depends on the locale of the process.
fn gives_utf8(channel: &Arc<Channel>) -> Result<bool, OdbcError> {
    const TEXT: &str = "Zürich 日本 🗻";
    let mut statement = OdbcStatement::new(channel)?;
    statement.run(&format!("SELECT '{TEXT}'"))?;
    statement.bind(vec![Buffer::new(BufferForm::Utf8, 2 * TEXT.len(), 1)], 1)?;
    statement.fetch()?;
    Ok(statement.column(0).and_then(|column| column.get(0)) == Some(TEXT.as_bytes()))
}

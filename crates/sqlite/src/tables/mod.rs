//! stub
use crate::connection::Connection;
use bobak_core::{Result, TableSchema};
pub(crate) fn read(_connection: &mut Connection) -> Result<Vec<TableSchema>> {
    Ok(Vec::new())
}

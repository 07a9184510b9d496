//! What the analysis asks about tables and views.

use bobak_core::{Result, Type};

/// The tables and views that a statement may name.
pub trait Relations {
    /// The table or view of this name; in this schema, if one is given.
    ///
    /// # Errors
    /// Any of reading the schema: the analysis fails with it.
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Relation>>;
}

/// A table or a view.
#[derive(Clone, Debug)]
pub enum Relation {
    /// A table with its columns.
    Table(Vec<TableColumn>),
    /// A view with the names of its columns and the text of its `CREATE VIEW`, in stored units.
    View(Vec<String>, String),
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The name.
    pub name: String,
    /// The type of the values, `None` if they have none or are stored as text.
    pub ty: Option<Type>,
    /// Whether `SELECT *` omits it.
    pub hidden: bool,
    /// Whether it is computed: an `INSERT` without column names omits it.
    pub generated: bool,
}

//! SQL texts of programs in stored units, and the types of their rows.

use bobak_core::{Error, ErrorKind, Result, ResultColumn, Row, Type, ValueRef};
use bobak_sql_typing::Relation;
use std::collections::HashMap;
use std::sync::Arc;

/// What SQLite runs for a text, and the types of its result.
#[derive(Debug, Default)]
pub(crate) struct TypedText {
    /// `None` if it is the text itself.
    pub rewritten: Option<Box<str>>,
    /// The types of the result columns. Empty if none is known.
    pub types: Vec<Type>,
}

/// The same text with parameters of other types.
pub(crate) type TextsByTypes = Vec<(Box<[Type]>, Arc<TypedText>)>;

/// The analyzed texts of a connection, and what they name.
#[derive(Debug, Default)]
pub(crate) struct TypedTexts {
    /// What every text that is not analyzed has: shared, so that it costs no allocation.
    pub unchanged: Arc<TypedText>,
    /// Whether texts are analyzed; otherwise they are in stored units.
    pub enabled: bool,
    pub texts: HashMap<Box<str>, TextsByTypes>,
    /// Tables and views by their names in lower case, in the order in which SQLite looks for them.
    /// `None` until they are read.
    pub names: Option<HashMap<String, Vec<NamedRelation>>>,
    /// SQLite's version number of the main schema, which other connections change, too.
    pub version: i64,
}

#[derive(Debug)]
pub(crate) struct NamedRelation {
    pub schema: String,
    /// The text of a view.
    pub view: Option<String>,
    /// Read when it is first needed.
    pub relation: Option<Relation>,
}

impl TypedText {
    /// The text that SQLite runs.
    pub(crate) fn text<'a>(&'a self, original: &'a str) -> &'a str {
        self.rewritten.as_deref().unwrap_or(original)
    }

    pub(crate) const fn is_rewritten(&self) -> bool {
        self.rewritten.is_some()
    }

    /// The columns of the result, which have these names.
    pub fn columns(&self, names: Vec<String>) -> Vec<ResultColumn> {
        let ty = |place| self.types.get(place).copied().unwrap_or(Type::Any);
        let columns = names.into_iter().enumerate();
        columns.map(|(place, name)| ResultColumn::new(name, ty(place))).collect()
    }

    /// Gives types to the rows that `row` is called with.
    pub(crate) fn rows<'a>(
        &'a self,
        row: &'a mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> impl FnMut(&dyn Row) -> Result<bool> + 'a {
        move |found| {
            if self.types.is_empty() {
                return row(found);
            }
            check_amounts(found, &self.types)?;
            row(&TypedRow { row: found, types: &self.types })
        }
    }
}

impl TypedTexts {
    /// Forgets everything: tables were created or dropped.
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
        self.names = None;
    }
}

/// SQLite makes a float of a sum that overflows.
fn check_amounts(row: &dyn Row, types: &[Type]) -> Result<()> {
    for (place, ty) in types.iter().enumerate() {
        if *ty == Type::Currency && matches!(row.get(place), ValueRef::Float(_)) {
            let message = "the amount is beyond ±922337203685477.5807";
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
    }
    Ok(())
}

struct TypedRow<'a> {
    row: &'a dyn Row,
    types: &'a [Type],
}

impl Row for TypedRow<'_> {
    fn len(&self) -> usize {
        self.row.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.row.get(column)
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.row.name(column)
    }

    fn ty(&self, column: usize) -> Type {
        self.types.get(column).copied().unwrap_or(Type::Any)
    }
}

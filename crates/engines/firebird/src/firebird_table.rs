//! A table as Firebird's catalog has it: the types of its columns, and the names of what was added to it.

use crate::catalog::{integer, text};
use crate::comment::TableComment;
use crate::connection::Connection;
use crate::names::{Names, is_substitute};
use crate::table_rules::TableRule;
use bobak_core::{Result, Row, TableSchema, Type};
use bobak_engine_common::{StatementConnection, StatementDialect, StatementValue};

const COMMENT: &str = "SELECT RDB$DESCRIPTION FROM RDB$RELATIONS WHERE RDB$RELATION_NAME = ?";

const COLUMNS: &str = "SELECT TRIM(R.RDB$FIELD_NAME), F.RDB$FIELD_TYPE, \
    COALESCE(F.RDB$FIELD_SUB_TYPE, 0), COALESCE(F.RDB$FIELD_SCALE, 0), \
    COALESCE(F.RDB$FIELD_PRECISION, 0), COALESCE(F.RDB$CHARACTER_LENGTH, 0), \
    COALESCE(F.RDB$CHARACTER_SET_ID, 0), COALESCE(R.RDB$NULL_FLAG, F.RDB$NULL_FLAG, 0), \
    CASE WHEN R.RDB$DEFAULT_SOURCE IS NULL THEN 0 ELSE 1 END \
    FROM RDB$RELATION_FIELDS R JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
    WHERE R.RDB$RELATION_NAME = ? ORDER BY R.RDB$FIELD_POSITION";

const CONSTRAINTS: &str = "SELECT TRIM(RDB$CONSTRAINT_NAME) \
    FROM RDB$RELATION_CONSTRAINTS WHERE RDB$RELATION_NAME = ? AND RDB$CONSTRAINT_TYPE <> 'NOT NULL'";

const INDEXES: &str = "SELECT TRIM(I.RDB$INDEX_NAME), TRIM(COALESCE(S.RDB$FIELD_NAME, '')) \
    FROM RDB$INDICES I LEFT JOIN RDB$INDEX_SEGMENTS S ON S.RDB$INDEX_NAME = I.RDB$INDEX_NAME \
    WHERE I.RDB$RELATION_NAME = ? ORDER BY I.RDB$INDEX_NAME, S.RDB$FIELD_POSITION";

const TRIGGERS: &str = "SELECT TRIM(RDB$TRIGGER_NAME) FROM RDB$TRIGGERS \
    WHERE RDB$RELATION_NAME = ? AND COALESCE(RDB$SYSTEM_FLAG, 0) = 0";

const GRANTS: &str = "SELECT TRIM(P.RDB$USER) FROM RDB$USER_PRIVILEGES P \
    JOIN RDB$RELATIONS R ON R.RDB$RELATION_NAME = P.RDB$RELATION_NAME \
    WHERE P.RDB$RELATION_NAME = ? AND P.RDB$OBJECT_TYPE = 0 AND P.RDB$USER <> R.RDB$OWNER_NAME";

/// A column of the catalog.
#[derive(Debug)]
pub(crate) struct FirebirdColumn {
    pub name: String,
    /// As `columns::sql_type` writes it.
    pub sql_type: String,
    pub is_required: bool,
    pub has_default: bool,
}

/// A table of the catalog.
#[derive(Debug, Default)]
pub(crate) struct FirebirdTable {
    pub comment: Option<TableComment>,
    pub columns: Vec<FirebirdColumn>,
    pub constraints: Vec<String>,
    /// With their columns; those of expressions have none.
    pub indexes: Vec<(String, Vec<String>)>,
    pub triggers: Vec<String>,
    /// The users that others have given permissions.
    pub grantees: Vec<String>,
}

impl FirebirdTable {
    /// Reads a table by its name in the catalog.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub(crate) fn read(connection: &mut Connection, name: &str) -> Result<Self> {
        let mut table = Self::default();
        let key = [StatementValue::of_type(Type::Text, name)];
        let mut ask = |sql: &str, each: &mut dyn FnMut(&dyn Row)| {
            connection.each(None, sql, &key, &mut |row| {
                each(row);
                Ok(true)
            })
        };
        ask(COMMENT, &mut |row| table.comment = TableComment::read(&text(row, 0)))?;
        ask(COLUMNS, &mut |row| table.columns.push(column(row)))?;
        ask(INDEXES, &mut |row| {
            let (name, column) = (text(row, 0), text(row, 1));
            match table.indexes.last_mut() {
                Some((known, columns)) if *known == name => columns.push(column),
                _ => table.indexes.push((name, vec![column])),
            }
        })?;
        table.constraints = connection.texts(CONSTRAINTS, &key)?;
        table.triggers = connection.texts(TRIGGERS, &key)?;
        table.grantees = connection.texts(GRANTS, &key)?;
        Ok(table)
    }

    /// A column by its name in the catalog.
    pub(crate) fn column(&self, name: &str) -> Option<&FirebirdColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The statement that drops a rule; `None` if there is none of that name.
    pub(crate) fn drop_rule(
        &self,
        names: Names,
        table: &TableSchema,
        rule: &str,
    ) -> Option<String> {
        if self.constraints.iter().any(|known| known == rule) {
            return Some(format!(
                "ALTER TABLE {} DROP CONSTRAINT {rule}",
                names.quoted(table.name())
            ));
        }
        let is_index = self.indexes.iter().any(|(known, _)| known == rule);
        is_index.then(|| format!("DROP INDEX {rule}"))
    }

    /// Whether a rule is there, or one of another program for the same columns.
    pub(crate) fn has(&self, names: Names, table: &TableSchema, rule: &TableRule) -> bool {
        let columns = rule.columns.iter().filter_map(|place| table.columns().get(*place));
        let columns: Vec<_> = columns.map(|column| names.stored(&column.name)).collect();
        self.constraints.contains(&rule.name)
            || self.indexes.iter().any(|(name, known)| {
                *name == rule.name
                    || !is_substitute(name) && !columns.is_empty() && *known == columns
            })
    }

    /// The name of a constraint or an index that is none of these rules.
    pub(crate) fn unknown_rule(&self, rules: &[TableRule]) -> Option<&str> {
        let indexes = self.indexes.iter().map(|(name, _)| name);
        let mut all = self.constraints.iter().chain(indexes);
        all.find(|name| !rules.iter().any(|rule| rule.name == **name)).map(String::as_str)
    }
}

fn column(row: &dyn Row) -> FirebirdColumn {
    let (scale, length) = (-integer(row, 3), integer(row, 5));
    let charset = match integer(row, 6) {
        1 => "OCTETS".to_owned(),
        4 => "UTF8".to_owned(),
        other => other.to_string(),
    };
    let sql_type = match integer(row, 1) {
        7 | 8 | 16 if scale > 0 => format!("NUMERIC({}, {scale})", integer(row, 4)),
        7 => "SMALLINT".to_owned(),
        8 => "INTEGER".to_owned(),
        16 => "BIGINT".to_owned(),
        27 => "DOUBLE PRECISION".to_owned(),
        12 => "DATE".to_owned(),
        23 => "BOOLEAN".to_owned(),
        14 => format!("CHAR({length}) CHARACTER SET {charset}"),
        37 => format!("VARCHAR({length}) CHARACTER SET {charset}"),
        261 if integer(row, 2) == 1 => format!("BLOB SUB_TYPE TEXT CHARACTER SET {charset}"),
        261 if integer(row, 2) == 0 => "BLOB SUB_TYPE BINARY".to_owned(),
        other => format!("type {other}"),
    };
    FirebirdColumn {
        name: text(row, 0),
        sql_type,
        is_required: integer(row, 7) != 0,
        has_default: integer(row, 8) != 0,
    }
}

/// The names of the tables whose change has not ended, with their comments.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn unfinished(connection: &mut Connection) -> Result<Vec<(String, TableComment)>> {
    let sql = format!(
        "SELECT TRIM(RDB$RELATION_NAME), RDB$DESCRIPTION FROM RDB$RELATIONS \
         WHERE RDB$DESCRIPTION STARTING WITH '{}' ORDER BY RDB$RELATION_ID",
        crate::comment::UNFINISHED
    );
    let mut found = Vec::new();
    connection.each(None, &sql, &[], &mut |row| {
        if let Some(comment) = TableComment::read(&text(row, 1)) {
            found.push((text(row, 0), comment));
        }
        Ok(true)
    })?;
    found.retain(|(_, comment)| comment.connection().is_some());
    Ok(found)
}

/// The number of this connection.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn own_number(connection: &mut Connection) -> Result<i64> {
    let found = connection.integers(None, "SELECT CURRENT_CONNECTION FROM RDB$DATABASE", &[])?;
    Ok(found.first().copied().unwrap_or(0))
}

/// The numbers of the connections that are there.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn connections(connection: &mut Connection) -> Result<Vec<i64>> {
    connection.integers(None, "SELECT MON$ATTACHMENT_ID FROM MON$ATTACHMENTS", &[])
}

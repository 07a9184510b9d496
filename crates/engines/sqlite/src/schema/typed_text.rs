//! SQL text of programs in stored units: see `bobak_sql_typing`.
//!
//! A text is analyzed when it first runs on a connection, and again after the schema changed.

use crate::connection::Connection;
use crate::connection::typed_text_cache::{NamedRelation, TypedText};
use bobak_core::sql_token::SqlSyntax;
use bobak_core::{Result, SqlAction, SqlAuthorizer, Type, Value, Verb};
use bobak_sql::{Dialect, LONG_DECIMAL, first_word, parse_declared, quote};
use bobak_sql_typing::{Relation, Relations, TableColumn, analyze, needs_analysis};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The most texts that are kept.
const MAX_TEXTS: usize = 256;
/// The first words of statements that change which tables there are.
const SCHEMA_WORDS: [&str; 5] = ["create", "drop", "alter", "attach", "detach"];
/// No schema has this version.
const UNKNOWN_VERSION: i64 = i64::MIN;

impl Connection {
    /// A program's text in stored units, with parameters of these types. With an authorizer, only tables that it lets
    /// the statement read or write have types: what a text is rewritten to must not depend on others.
    ///
    /// # Errors
    /// SQLite's errors about the text as it was written, and those of the analysis.
    pub(crate) fn typed_text(
        &mut self,
        sql: &str,
        parameters: &[Type],
        authorizer: Option<&dyn SqlAuthorizer>,
    ) -> Result<Arc<TypedText>> {
        if !self.typed_texts.enabled {
            return Ok(Arc::clone(&self.typed_texts.unchanged));
        }
        let version = self.first_integer("PRAGMA main.schema_version")?;
        if version != self.typed_texts.version {
            self.typed_texts.clear();
            self.typed_texts.version = version;
        }
        // Only this connection changes temporary tables, and which databases are attached.
        let syntax = SqlSyntax::Sqlite;
        let first = first_word(syntax, sql);
        if SCHEMA_WORDS.iter().any(|word| first.eq_ignore_ascii_case(word)) {
            self.typed_texts.version = UNKNOWN_VERSION;
        }
        if authorizer.is_some() {
            return self.analyze_text(sql, parameters, authorizer).map(Arc::new);
        }
        let known = self.typed_texts.texts.get(sql);
        let mut known = known.into_iter().flatten();
        if let Some((_, typed)) = known.find(|(types, _)| **types == *parameters) {
            return Ok(Arc::clone(typed));
        }
        let typed = Arc::new(self.analyze_text(sql, parameters, None)?);
        let texts = &mut self.typed_texts.texts;
        if texts.len() >= MAX_TEXTS {
            texts.clear();
        }
        texts.entry(sql.into()).or_default().push((parameters.into(), Arc::clone(&typed)));
        Ok(typed)
    }

    fn analyze_text(
        &mut self,
        sql: &str,
        parameters: &[Type],
        authorizer: Option<&dyn SqlAuthorizer>,
    ) -> Result<TypedText> {
        let known = |ty: &Type| (*ty != Type::Any).then_some(*ty);
        let parameters: Vec<Option<Type>> = parameters.iter().map(known).collect();
        let relations = ConnectionRelations { connection: RefCell::new(self), authorizer };
        let needed = needs_analysis(sql, &relations, &parameters)?;
        // A pragma may take effect as it is prepared.
        let syntax = SqlSyntax::Sqlite;
        if !needed || first_word(syntax, sql).eq_ignore_ascii_case("pragma") {
            return Ok(TypedText::default());
        }
        // SQLite reports what is wrong with the text as it was written.
        relations.connection.borrow_mut().text_statement(sql)?;
        let analysis = analyze(sql, &relations, &parameters)?;
        let types = analysis.columns.iter().map(|ty| ty.unwrap_or(Type::Any)).collect();
        Ok(TypedText { rewritten: analysis.sql.map(String::into_boxed_str), types })
    }

    fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        if self.typed_texts.names.is_none() {
            self.typed_texts.names = Some(self.relation_names()?);
        }
        let key = name.to_lowercase();
        let is_wanted = |found: &&mut NamedRelation| {
            schema.is_none_or(|schema| found.schema.eq_ignore_ascii_case(schema))
        };
        let names = self.typed_texts.names.as_mut();
        let Some(all) = names.and_then(|names| names.get_mut(&key)) else { return Ok(None) };
        let Some(found) = all.iter_mut().find(is_wanted) else { return Ok(None) };
        if let Some(relation) = &found.relation {
            return Ok(Some(relation.clone()));
        }
        let (schema, view) = (found.schema.clone(), found.view.clone());
        let columns = self.table_columns(&schema, name)?;
        let relation = match view {
            Some(sql) => {
                Relation::View(columns.into_iter().map(|column| column.name).collect(), sql)
            }
            None => Relation::Table(columns),
        };
        let names = self.typed_texts.names.as_mut().and_then(|names| names.get_mut(&key));
        let mut all = names.into_iter().flatten();
        if let Some(found) = all.find(|found| found.schema == schema) {
            found.relation = Some(relation.clone());
        }
        Ok(Some(relation))
    }

    /// All tables and views.
    fn relation_names(&mut self) -> Result<HashMap<String, Vec<NamedRelation>>> {
        let databases =
            self.all_rows("SELECT name FROM pragma_database_list ORDER BY seq <> 1, seq", &[])?;
        let mut names: HashMap<String, Vec<NamedRelation>> = HashMap::new();
        for schema in databases.into_iter().filter_map(|row| text(row.into_iter().next())) {
            let quoted = quote(Dialect::Sqlite, &schema);
            let sql = format!(
                "SELECT name, iif(type = 'view', sql, NULL) FROM {quoted}.sqlite_schema \
                 WHERE type IN ('table', 'view')"
            );
            for row in self.all_rows(&sql, &[])? {
                let mut cells = row.into_iter();
                let Some(name) = text(cells.next()) else { continue };
                let (schema, view) = (schema.clone(), text(cells.next()));
                let found = NamedRelation { schema, view, relation: None };
                names.entry(name.to_lowercase()).or_default().push(found);
            }
        }
        Ok(names)
    }

    fn table_columns(&mut self, schema: &str, table: &str) -> Result<Vec<TableColumn>> {
        let sql = "SELECT name, type, hidden FROM pragma_table_xinfo(?1, ?2)";
        let rows = self.all_rows(sql, &[Value::from(table), Value::from(schema)])?;
        let column = |row: Vec<Value<'static>>| {
            let mut cells = row.into_iter();
            let name = text(cells.next())?;
            let declared_type = text(cells.next())?;
            let declared = parse_declared(Dialect::Sqlite, &declared_type);
            let ty = if declared_type == LONG_DECIMAL { Type::Decimal } else { declared.ty };
            let hidden = cells.next();
            Some(TableColumn {
                name,
                ty: Some(ty).filter(|_| !declared.as_text).filter(|ty| *ty != Type::Any),
                hidden: hidden == Some(Value::Int(1)),
                generated: matches!(hidden, Some(Value::Int(2 | 3))),
            })
        };
        Ok(rows.into_iter().filter_map(column).collect())
    }
}

fn text(cell: Option<Value<'static>>) -> Option<String> {
    match cell {
        Some(Value::Text(text)) => Some(text.into_owned()),
        _ => None,
    }
}

/// The tables and views of a connection.
struct ConnectionRelations<'c> {
    connection: RefCell<&'c mut Connection>,
    authorizer: Option<&'c dyn SqlAuthorizer>,
}

impl ConnectionRelations<'_> {
    /// Whether the authorizer lets the statement use the table in any way.
    fn is_allowed(
        &self,
        authorizer: &dyn SqlAuthorizer,
        schema: Option<&str>,
        name: &str,
    ) -> Result<bool> {
        let mut connection = self.connection.borrow_mut();
        let database = match schema {
            Some(schema) => schema.to_owned(),
            None if connection.extension.is_some() => connection.database_of(name)?,
            None => String::new(),
        };
        if database.is_empty() || database.eq_ignore_ascii_case("main") {
            let uses = [SqlAction::Read, SqlAction::Insert, SqlAction::Update, SqlAction::Delete];
            return Ok(uses.into_iter().any(|uses| authorizer.check(uses(name)).is_ok()));
        }
        let verbs = [None, Some(Verb::Insert), Some(Verb::Update), Some(Verb::Delete)];
        let foreign = |verb| SqlAction::Foreign { database: &database, table: name, verb };
        Ok(verbs.into_iter().any(|verb| authorizer.check(foreign(verb)).is_ok()))
    }
}

impl Relations for ConnectionRelations<'_> {
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        if let Some(authorizer) = self.authorizer
            && !self.is_allowed(authorizer, schema, name)?
        {
            return Ok(None);
        }
        self.connection.borrow_mut().relation(schema, name)
    }
}

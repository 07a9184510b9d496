//! The parameters that ask for related rows: `expand`, and those of relations, such as `line.limit`.

use crate::database::relations::{TableRelation, TableStep};
use crate::database::schema_cache::VisibleTables;
use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::parameters::QueryParameters;
use crate::request::selection::RowSelection;
use crate::settings::Settings;
use bobak_core::ErrorKind;
use bobak_text::json::write_string;
use hyper::StatusCode;
use std::sync::Arc;

/// The parameters that a relation has.
const OF_RELATIONS: [&str; 5] = ["columns", "filter", "order", "limit", "offset"];

/// Related rows that a request asks for.
pub(crate) struct Expansion {
    pub relation: TableRelation,
    /// Its name as a JSON object member: in quotes, with a colon.
    pub label: String,
    /// Which related rows; limit and offset apply to those of each row.
    pub selection: RowSelection,
    pub columns: Vec<usize>,
    /// Rows related to the related ones.
    pub inner: Vec<Self>,
}

/// The relations of a request, from its parameters.
struct ExpansionParser<'a> {
    parameters: &'a mut QueryParameters,
    tables: &'a VisibleTables,
    settings: &'a Settings,
    /// How many relations were taken.
    count: usize,
}

impl Expansion {
    /// Takes `expand` and the parameters of relations.
    ///
    /// # Errors
    /// 400 for an unknown relation, an invalid value, and more relations than the settings allow.
    pub fn take_all(
        parameters: &mut QueryParameters,
        tables: &VisibleTables,
        table: &Arc<CachedTable>,
        settings: &Settings,
    ) -> Result<Vec<Self>, Problem> {
        let list = parameters.take("expand").unwrap_or_default();
        let mut paths: Vec<String> =
            column_list::split(&list).filter(|path| !path.is_empty()).map(str::to_owned).collect();
        for name in parameters.names() {
            if let Some((path, last)) = name.rsplit_once('.')
                && OF_RELATIONS.contains(&last)
            {
                paths.push(path.to_owned());
            }
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        ExpansionParser { parameters, tables, settings, count: 0 }.level("", &paths, table, 1)
    }

    /// The table of the related rows.
    pub fn table(&self) -> Result<&Arc<CachedTable>, Problem> {
        self.relation.table().ok_or_else(Problem::not_found)
    }
}

impl ExpansionParser<'_> {
    /// The relations of one level, whose paths begin with `prefix`.
    fn level(
        &mut self,
        prefix: &str,
        paths: &[&str],
        table: &Arc<CachedTable>,
        depth: usize,
    ) -> Result<Vec<Expansion>, Problem> {
        let mut expansions: Vec<Expansion> = Vec::new();
        for path in paths {
            let first = path.split('.').next().unwrap_or_default();
            let relation = self.tables.relation(table, first);
            let relation =
                relation.ok_or_else(|| no_relation(first, self.tables.relations_of(table)))?;
            if expansions.iter().any(|other| other.relation.name == relation.name) {
                continue;
            }
            self.count += 1;
            if depth > self.settings.expand_depth || self.count > self.settings.expand_relations {
                let message = format!(
                    "at most {} relations may be expanded, nested at most {} deep",
                    self.settings.expand_relations, self.settings.expand_depth
                );
                return Err(Problem::bad_request(message));
            }
            let is_first = |path: &&str| {
                path.split('.').next().is_some_and(|name| name.eq_ignore_ascii_case(first))
            };
            let rest = paths.iter().filter(|path| is_first(path));
            let rest: Vec<&str> =
                rest.filter_map(|path| path.split_once('.')).map(|(_, rest)| rest).collect();
            expansions.push(self.expansion(
                &format!("{prefix}{first}."),
                relation,
                &rest,
                depth,
            )?);
        }
        Ok(expansions)
    }

    fn expansion(
        &mut self,
        prefix: &str,
        relation: TableRelation,
        paths: &[&str],
        depth: usize,
    ) -> Result<Expansion, Problem> {
        let table = Arc::clone(relation.table().ok_or_else(Problem::not_found)?);
        let selection =
            RowSelection::take_related(self.parameters, prefix, &table, Some(self.tables))?;
        let columns = match self.parameters.take(&format!("{prefix}columns")) {
            Some(list) => column_list::positions(&table, &list)?,
            None => (0..table.schema.columns().len()).collect(),
        };
        let inner = self.level(prefix, paths, &table, depth + 1)?;
        let mut label = String::new();
        write_string(&mut label, &relation.name);
        label.push(':');
        Ok(Expansion { relation, label, selection, columns, inner })
    }
}

impl VisibleTables {
    /// The relation of a table with this name, in any case.
    pub fn relation(&self, table: &CachedTable, name: &str) -> Option<TableRelation> {
        let mut relations = self.relations_of(table).iter();
        relations.find(|relation| relation.name.eq_ignore_ascii_case(name)).cloned()
    }

    /// The steps along a path of relations with points between them.
    pub fn steps(&self, table: &CachedTable, path: &str) -> Option<Vec<TableStep>> {
        let (mut steps, mut at) = (Vec::new(), None::<Arc<CachedTable>>);
        for name in path.split('.') {
            let relation = self.relation(at.as_deref().unwrap_or(table), name)?;
            at = relation.table().cloned();
            steps.extend(relation.steps);
        }
        Some(steps)
    }
}

/// The same for a relation that does not exist and one to a table that the client may not see.
fn no_relation(name: &str, relations: &[TableRelation]) -> Problem {
    let names: Vec<&str> = relations.iter().map(|relation| relation.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let message = format!("the table has no relation '{name}'; its relations: {names}");
    Problem::new(StatusCode::BAD_REQUEST, ErrorKind::Schema, message)
}

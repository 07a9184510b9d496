//! The steps that lead from a database to a model.

use super::plan_options::{Drops, PlanOptions, PossibleRename};
use super::simulate::simulate;
use super::step::{MigrationStep, find};
use super::table_parts::search_of;
use super::text::index_step;
use bobak_core::check::CheckExpression;
use bobak_core::{ColumnSchema, Error, ErrorKind, Result, TableSchema};
use std::fmt;
use std::sync::Arc;

/// The steps that lead from a database to a model, in order. Its `Display` is a line for each, as in a
/// migration's file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MigrationPlan {
    /// The steps.
    pub steps: Vec<MigrationStep>,
    /// The steps that undo them, in the order in which they run; `None` if one cannot be undone.
    pub undo: Option<Vec<MigrationStep>>,
    /// What the database has and the model has not, and what is kept since the plan may not drop it: a
    /// sentence for each.
    pub kept: Vec<String>,
    /// What may be renamed, and is added here and kept or dropped there. `bobak migrate diff` asks; a program says
    /// it by an attribute of the record or by [`PlanOptions`].
    pub possible_renames: Vec<PossibleRename>,
}

impl fmt::Display for MigrationPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

/// Compares a model with the tables of a database.
///
/// A table or column that is renamed in the model (see
/// [`TableSchemaBuilder::renamed_from`](bobak_core::TableSchemaBuilder::renamed_from)) is renamed in the
/// database if it has the former name and not the new one. `options` may be [`Drops`] alone.
///
/// # Errors
/// `Unsupported` if the key of a table differs; `Schema` for a model that is not consistent, or options that name
/// what is not there.
pub fn plan(
    model: &[Arc<TableSchema>],
    stored: &[TableSchema],
    options: impl Into<PlanOptions>,
) -> Result<MigrationPlan> {
    let own = |table: &&TableSchema| table.name() != super::ledger::LEDGER;
    let tables: Vec<_> = stored.iter().filter(own).cloned().collect();
    let (plan, options) = (MigrationPlan::default(), options.into());
    let mut planner = Planner { before: Vec::new(), tables, plan, options };
    planner.rename_tables(model)?;
    planner.find_renamed_tables(model);
    for table in in_order(model) {
        match find(&planner.tables, table.name()) {
            Err(_) => planner.push(MigrationStep::CreateTable(table))?,
            Ok(_) => planner.adapt(&table)?,
        }
    }
    planner.drop_tables(model)?;
    let Planner { before, mut plan, options, .. } = planner;
    options.check(|from, to| plan.steps.iter().any(|step| step.is_rename(from, to)))?;
    let undo = plan.steps.iter().zip(&before).rev();
    plan.undo = undo.map(|(step, before)| step.inverse(before)).collect();
    Ok(plan)
}

struct Planner {
    /// The tables before each step.
    before: Vec<Vec<TableSchema>>,
    tables: Vec<TableSchema>,
    plan: MigrationPlan,
    options: PlanOptions,
}

impl Planner {
    fn push(&mut self, step: MigrationStep) -> Result<()> {
        let after = simulate(&self.tables, &step)?;
        self.before.push(std::mem::replace(&mut self.tables, after));
        self.plan.steps.push(step);
        Ok(())
    }

    fn stored(&self, table: &TableSchema) -> Result<TableSchema> {
        find(&self.tables, table.name()).cloned()
    }

    fn rename_tables(&mut self, model: &[Arc<TableSchema>]) -> Result<()> {
        for table in model {
            let former = self.options.former_table(table.name()).map(str::to_owned);
            let former = former.as_deref().or_else(|| table.former_name());
            let Some(former) = former else { continue };
            let is_wanted = model.iter().any(|other| other.name().eq_ignore_ascii_case(former));
            if !is_wanted
                && find(&self.tables, former).is_ok()
                && find(&self.tables, table.name()).is_err()
            {
                let (from, to) = (former.to_owned(), table.name().to_owned());
                self.push(MigrationStep::RenameTable { from, to })?;
            }
        }
        Ok(())
    }

    fn drop_tables(&mut self, model: &[Arc<TableSchema>]) -> Result<()> {
        let extra: Vec<_> = self.extra_tables(model).cloned().map(Arc::new).collect();
        // Children before their parents.
        for table in in_order(&extra).into_iter().rev() {
            let by_default = self.options.drops == Drops::Tables;
            if self.options.drops_name(table.name(), by_default) {
                self.push(MigrationStep::DropTable(table.name().to_owned()))?;
            } else {
                self.plan.kept.push(format!("table {} is not in the model", table.name()));
            }
        }
        Ok(())
    }

    /// The tables that the model does not have.
    fn extra_tables(&self, model: &[Arc<TableSchema>]) -> impl Iterator<Item = &TableSchema> {
        let is_extra = move |table: &&TableSchema| {
            model.iter().all(|wanted| !wanted.name().eq_ignore_ascii_case(table.name()))
        };
        self.tables.iter().filter(is_extra)
    }

    /// Notes the tables that may have new names.
    fn find_renamed_tables(&mut self, model: &[Arc<TableSchema>]) {
        // More than half of the columns of the smaller table are in the other one.
        let is_similar = |table: &TableSchema, other: &TableSchema| {
            let is_common = |column: &&ColumnSchema| {
                let found = table.column(&column.name).ok();
                let found = found.and_then(|place| table.columns().get(place));
                found.is_some_and(|found| found.ty == column.ty)
            };
            let common = other.columns().iter().filter(is_common).count();
            2 * common > table.columns().len().min(other.columns().len())
        };
        let mut renames = Vec::new();
        for wanted in model.iter().filter(|wanted| find(&self.tables, wanted.name()).is_err()) {
            for stored in self.extra_tables(model) {
                let is_open = !self.options.is_settled(stored.name());
                if is_open && is_similar(stored, wanted) {
                    let (from, to) = (stored.name().to_owned(), wanted.name().to_owned());
                    renames.push(PossibleRename { table: None, from, to });
                }
            }
        }
        self.plan.possible_renames.append(&mut renames);
    }

    /// Notes the columns that may have new names.
    fn find_renamed_columns(&mut self, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        for added in wanted.columns().iter().filter(|to| stored.column(&to.name).is_err()) {
            for column in stored.columns().iter().filter(|from| wanted.column(&from.name).is_err())
            {
                let table = Some(wanted.name().to_owned());
                let (from, to) = (column.name.to_string(), added.name.to_string());
                let rename = PossibleRename { table, from, to };
                if column.ty == added.ty && !self.options.is_settled(&rename.name()) {
                    self.plan.possible_renames.push(rename);
                }
            }
        }
        Ok(())
    }

    /// Changes a table that is there.
    fn adapt(&mut self, wanted: &Arc<TableSchema>) -> Result<()> {
        self.rename_columns(wanted)?;
        self.find_renamed_columns(wanted)?;
        self.check_key(wanted)?;
        self.adapt_foreign_keys(wanted)?;
        self.drop_indexes(wanted)?;
        self.drop_expressions(wanted)?;
        self.drop_search(wanted)?;
        self.drop_columns(wanted)?;
        self.change_columns(wanted)?;
        let stored = self.stored(wanted)?;
        for index in wanted.indexes() {
            if stored.indexes().iter().all(|other| !other.name.eq_ignore_ascii_case(&index.name)) {
                self.push(index_step(wanted, index))?;
            }
        }
        match search_step(wanted) {
            Some(step) if stored.search().is_none() => self.push(step),
            _ => Ok(()),
        }
    }

    /// Drops a search over other columns or of another language, and one that is not wanted.
    fn drop_search(&mut self, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        if stored.search().is_none() || is_same_search(&stored, wanted) {
            return Ok(());
        }
        let table = stored.name().to_owned();
        if wanted.search().is_none() && self.options.drops == Drops::Nothing {
            self.plan.kept.push(format!("the search of {table} is not in the model"));
            return Ok(());
        }
        self.push(MigrationStep::DropSearch { table })
    }

    fn rename_columns(&mut self, wanted: &TableSchema) -> Result<()> {
        for (place, column) in wanted.columns().iter().enumerate() {
            let former = self.options.former_column(wanted.name(), &column.name).map(str::to_owned);
            let former = former.as_deref().or_else(|| wanted.former_column_name(place));
            let Some(former) = former else { continue };
            let stored = self.stored(wanted)?;
            if wanted.column(former).is_err()
                && stored.column(former).is_ok()
                && stored.column(&column.name).is_err()
            {
                let (from, to) = (former.to_owned(), column.name.to_string());
                let table = wanted.name().to_owned();
                self.push(MigrationStep::RenameColumn { table, from, to })?;
            }
        }
        Ok(())
    }

    /// Drops the generated columns that have another expression, or none, in the model: they are added again. A column
    /// that becomes generated loses its values.
    fn drop_expressions(&mut self, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        for column in stored.columns() {
            let Some(place) = wanted.column(&column.name).ok() else { continue };
            let model = wanted.column_at(place)?;
            if model.generated_text(wanted) == column.generated_text(&stored) {
                continue;
            }
            let (table, name) = (wanted.name().to_owned(), column.name.to_string());
            let is_lost = column.generated.is_none() || model.generated.is_none();
            let by_default = self.options.drops != Drops::Nothing;
            if is_lost && !self.options.drops_name(&format!("{table}.{name}"), by_default) {
                let message = "the column becomes generated, or an ordinary one: its values are lost, so permit that \
                               it is dropped";
                let error = Error::new(ErrorKind::Unsupported, message);
                return Err(error.in_table(table).in_column(name));
            }
            self.drop_indexes_over(&name, wanted)?;
            self.push(MigrationStep::DropColumn { table, column: name })?;
        }
        Ok(())
    }

    /// Drops the indexes over a column, which are added again.
    fn drop_indexes_over(&mut self, column: &str, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        let place = stored.column(column)?;
        for index in stored.indexes().iter().filter(|index| index.columns.contains(&place)) {
            let is_rule = index.unique
                && index.columns == [place]
                && stored.columns().get(place).is_some_and(|column| column.unique);
            if !is_rule {
                let (table, name) = (stored.name().to_owned(), index.name.to_string());
                self.push(MigrationStep::DropIndex { table, name })?;
            }
        }
        Ok(())
    }

    fn drop_columns(&mut self, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        // Generated columns before those that they are computed from.
        let (first, then): (Vec<_>, Vec<_>) =
            stored.columns().iter().partition(|column| column.generated.is_some());
        for column in first.into_iter().chain(then) {
            if wanted.column(&column.name).is_ok() {
                continue;
            }
            let table = wanted.name().to_owned();
            let by_default = self.options.drops != Drops::Nothing;
            if !self.options.drops_name(&format!("{table}.{}", column.name), by_default) {
                let is_required = !column.nullable && column.default.is_none();
                let note = if is_required { ", and inserts must set it" } else { "" };
                let name = &column.name;
                self.plan.kept.push(format!("column {table}.{name} is not in the model{note}"));
            } else {
                let column = column.name.to_string();
                self.push(MigrationStep::DropColumn { table, column })?;
            }
        }
        Ok(())
    }

    fn change_columns(&mut self, wanted: &TableSchema) -> Result<()> {
        for (place, column) in wanted.columns().iter().enumerate() {
            let (stored, table) = (self.stored(wanted)?, wanted.name().to_owned());
            let Ok(found) = stored.column(&column.name) else {
                let before = place.checked_sub(1).and_then(|before| wanted.columns().get(before));
                let after = before.map(|column| column.name.to_string());
                let column = column.clone();
                self.push(MigrationStep::AddColumn { table, column, after, fill: None })?;
                continue;
            };
            if !is_same(wanted, column, &stored, stored.column_at(found)?) {
                let column = column.clone();
                self.push(MigrationStep::ChangeColumn { table, column })?;
            }
        }
        Ok(())
    }

    /// Drops the indexes that have other columns, and those that are not wanted.
    fn drop_indexes(&mut self, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        for index in stored.indexes() {
            let columns = |table: &TableSchema, places: &[usize]| -> Vec<String> {
                let columns = places.iter().filter_map(|place| table.columns().get(*place));
                columns.map(|column| column.name.to_ascii_lowercase()).collect()
            };
            // A unique column's index goes and comes with its rule.
            let is_rule = matches!(index.columns[..], [place] if index.unique
                && stored.columns().get(place).is_some_and(|column| column.unique));
            let same = wanted.indexes().iter().find(|other| other.name == index.name);
            let is_wanted = same.map(|other| {
                other.unique == index.unique
                    && columns(wanted, &other.columns) == columns(&stored, &index.columns)
            });
            let (table, name) = (stored.name().to_owned(), index.name.to_string());
            match is_wanted {
                _ if is_rule => {}
                Some(true) => {}
                None if self.options.drops == Drops::Nothing => {
                    self.plan.kept.push(format!("index {name} of {table} is not in the model"));
                }
                _ => self.push(MigrationStep::DropIndex { table, name })?,
            }
        }
        Ok(())
    }

    /// Adds the foreign keys of several columns that the model has, and drops others if asked to; keys may become such that
    /// are never reused.
    fn adapt_foreign_keys(&mut self, wanted: &TableSchema) -> Result<()> {
        self.drop_foreign_keys(wanted)?;
        let stored = self.stored(wanted)?;
        let (model, found) = (described_keys(wanted), described_keys(&stored));
        for (key, described) in wanted.foreign_keys().iter().zip(&model) {
            if !found.contains(described) {
                let (table, columns) = (stored.name().to_owned(), names_of(wanted, &key.columns));
                self.push(MigrationStep::AddForeignKey { table, columns, key: key.clone() })?;
            }
        }
        if wanted.never_reuses_keys() && !stored.never_reuses_keys() {
            let table = stored.name().to_owned();
            self.push(MigrationStep::ChangeKeyReuse { table, never: true })?;
        }
        Ok(())
    }

    /// Drops the foreign keys of several columns that the model does not have if asked to, and those that act otherwise.
    fn drop_foreign_keys(&mut self, wanted: &TableSchema) -> Result<()> {
        let stored = self.stored(wanted)?;
        let (model, found) = (described_keys(wanted), described_keys(&stored));
        // One of the same columns that acts otherwise is replaced.
        let is_replaced = |columns: &[String]| {
            let mut wanted_keys = wanted.foreign_keys().iter();
            wanted_keys.any(|key| names_of(wanted, &key.columns) == columns)
        };
        for (key, described) in stored.foreign_keys().iter().zip(&found) {
            let (table, columns) = (stored.name().to_owned(), names_of(&stored, &key.columns));
            if model.contains(described) {
                continue;
            }
            if self.options.drops != Drops::Nothing || is_replaced(&columns) {
                self.push(MigrationStep::DropForeignKey { table, columns })?;
            } else {
                let sentence = format!("foreign key {described} of {table} is not in the model");
                self.plan.kept.push(sentence);
            }
        }
        Ok(())
    }

    fn check_key(&self, wanted: &TableSchema) -> Result<()> {
        let names = |table: &TableSchema| -> Vec<String> {
            let key = table.key().iter().filter_map(|place| table.columns().get(*place));
            key.map(|column| column.name.to_ascii_lowercase()).collect()
        };
        let (model, stored) = (names(wanted), names(&self.stored(wanted)?));
        if model == stored {
            return Ok(());
        }
        let (model, stored) = (model.join(", "), stored.join(", "));
        let message = format!(
            "the key is {model} in the record and {stored} in the table: create another table and \
             copy the rows"
        );
        Err(Error::new(ErrorKind::Unsupported, message).in_table(wanted.name().to_owned()))
    }
}

/// The step that makes a table searchable as this one is.
fn search_step(table: &TableSchema) -> Option<MigrationStep> {
    let (columns, language) = search_of(table)?;
    Some(MigrationStep::AddSearch { table: table.name().to_owned(), columns, language })
}

/// Whether two tables are searched by the same columns in the same language.
fn is_same_search(a: &TableSchema, b: &TableSchema) -> bool {
    let lower = |table: &TableSchema| {
        let (columns, language) = search_of(table)?;
        let columns = columns.into_iter().map(|name| name.to_ascii_lowercase());
        Some((columns.collect::<Vec<_>>(), language))
    };
    lower(a) == lower(b)
}

/// Whether two columns have the same rules.
fn is_same(
    model_table: &TableSchema,
    model: &ColumnSchema,
    stored_table: &TableSchema,
    stored: &ColumnSchema,
) -> bool {
    let check = |table: &TableSchema, column: &ColumnSchema| {
        column.check.as_deref().map(|text| {
            let parsed = CheckExpression::parse(text, table);
            parsed.map_or_else(|_| text.to_owned(), |check| check.to_text(table))
        })
    };
    // A column that was added has a default in SQLite, for the rows that were there.
    let is_added = model.default.is_none() && stored.default == Some(model.added_value());
    let plain = |column: &ColumnSchema| ColumnSchema {
        name: "".into(),
        declared: None,
        default: if is_added { None } else { column.default.clone() },
        default_sql: None,
        check: None,
        generated: None,
        reference: column.reference.clone().map(|mut reference| {
            reference.table = reference.table.to_ascii_lowercase().into();
            reference.column = reference.column.to_ascii_lowercase().into();
            reference.on_delete = reference.on_delete.compared();
            reference
        }),
        ..column.clone()
    };
    plain(model) == plain(stored) && check(model_table, model) == check(stored_table, stored)
}

/// The foreign keys of several columns, as texts that are equal if the keys are.
fn described_keys(table: &TableSchema) -> Vec<String> {
    let described = table.foreign_keys().iter().map(|key| {
        let own = key.columns.iter().filter_map(|place| table.columns().get(*place));
        let mut pairs: Vec<_> = own.map(|column| &column.name).zip(&key.referenced).collect();
        pairs.sort();
        let (own, referenced): (Vec<_>, Vec<_>) =
            pairs.into_iter().map(|(own, to)| (own.to_string(), to.to_string())).unzip();
        let on_delete = key.on_delete.compared();
        let actions = format!("on delete {on_delete:?}, on update {:?}", key.on_update);
        let deferred = if key.deferred { ", deferred" } else { "" };
        let keys = format!("({}) to {} ({})", own.join(", "), key.table, referenced.join(", "));
        format!("{keys}, {actions}{deferred}").to_ascii_lowercase()
    });
    described.collect()
}

/// Tables after those that they reference, unless references are circular.
fn in_order(tables: &[Arc<TableSchema>]) -> Vec<Arc<TableSchema>> {
    let mut waiting = tables.to_vec();
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let references = |table: &TableSchema, other: &TableSchema| {
            let keys = table.all_foreign_keys();
            keys.iter().any(|key| key.table.eq_ignore_ascii_case(other.name()))
        };
        let is_ready = |table: &Arc<TableSchema>| {
            waiting.iter().all(|other| Arc::ptr_eq(table, other) || !references(table, other))
        };
        let place = waiting.iter().position(is_ready).unwrap_or(0);
        ordered.push(waiting.remove(place));
    }
    ordered
}

/// The names of columns.
fn names_of(table: &TableSchema, columns: &[usize]) -> Vec<String> {
    let columns = columns.iter().filter_map(|place| table.columns().get(*place));
    columns.map(|column| column.name.to_string()).collect()
}

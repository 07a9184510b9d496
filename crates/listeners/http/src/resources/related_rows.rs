//! Loads the related rows that a request asks for, and writes them into the rows: one query for each step of a relation,
//! however many rows there are.

use crate::database::relations::TableStep;
use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::write::write_row;
use crate::problem::Problem;
use crate::request::expansion::Expansion;
use crate::request::selection::RowSelection;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Collation, Condition, Engine, ErrorKind, Expr, FoldedValue, Result, Row, RowBuffer, Select,
    Session, Source, SubQuery, SubQueryRows, Value, ValueRef,
};
use std::collections::HashMap;

/// Rows of a table, with the positions in the table of their columns.
pub(crate) struct LevelRows {
    columns: Vec<usize>,
    rows: RowBuffer,
    /// Where each row begins.
    starts: Vec<usize>,
}

/// The related rows of all rows of one level.
pub(crate) struct RelatedRows {
    rows: LevelRows,
    /// The columns of the rows above that link them.
    from: Vec<usize>,
    collations: Vec<Collation>,
    /// The numbers of the related rows, in their order, by the values of those columns.
    links: HashMap<LinkKey, Vec<usize>>,
    inner: Vec<Self>,
}

/// The values of the columns that link rows: the first, and the others, if there are several.
type LinkKey = (FoldedValue, Vec<FoldedValue>);

/// Runs the queries of one request.
pub(crate) struct RelatedLoader<'a> {
    pub session: &'a dyn Session,
    /// Whether the engine runs subqueries itself.
    subqueries: bool,
    /// How many rows all queries together may still return.
    left: u64,
    limit: u64,
    /// The approximate most bytes of the rows of one relation.
    max_bytes: usize,
}

/// The columns to read for these expansions besides those to write, which come first.
pub(crate) fn with_links(columns: &[usize], expansions: &[Expansion]) -> Vec<usize> {
    let mut all = columns.to_vec();
    for step in expansions.iter().filter_map(|one| one.relation.steps.first()) {
        add_missing(&mut all, &step.from);
    }
    all
}

fn add_missing(columns: &mut Vec<usize>, added: &[usize]) {
    for column in added {
        if !columns.contains(column) {
            columns.push(*column);
        }
    }
}

impl LevelRows {
    pub fn new(columns: Vec<usize>) -> Self {
        Self { columns, rows: RowBuffer::default(), starts: Vec::new() }
    }

    pub fn push(&mut self, row: &dyn Row) -> Result<()> {
        self.starts.push(self.rows.as_bytes().len());
        self.rows.push(row)
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The size of the encoded rows.
    pub fn bytes(&self) -> usize {
        self.rows.as_bytes().len()
    }

    pub fn row(&self, number: usize) -> EncodedRow<'_> {
        self.rows.row_at(self.starts.get(number).copied().unwrap_or(usize::MAX))
    }

    fn value(&self, number: usize, column: usize) -> ValueRef<'_> {
        let start = self.starts.get(number).copied().unwrap_or(usize::MAX);
        match self.columns.iter().position(|other| *other == column) {
            Some(position) => self.rows.row_at(start).value(position),
            None => ValueRef::Null,
        }
    }

    /// The values of columns, unless one is NULL.
    fn key(&self, number: usize, columns: &[usize], collations: &[Collation]) -> Option<LinkKey> {
        let mut values = columns
            .iter()
            .zip(collations)
            .map(|(column, collation)| FoldedValue::new(self.value(number, *column), *collation));
        Some((values.next()??, values.collect::<Option<_>>()?))
    }

    /// The distinct values of each of some columns.
    fn lists(&self, columns: &[usize], collations: &[Collation]) -> Vec<Vec<Value<'static>>> {
        let of = |(column, collation): (&usize, &Collation)| self.values(*column, *collation);
        columns.iter().zip(collations).map(of).collect()
    }

    /// The distinct values of a column.
    fn values(&self, column: usize, collation: Collation) -> Vec<Value<'static>> {
        let mut seen = HashMap::new();
        for number in 0..self.len() {
            let value = self.value(number, column);
            if let Some(folded) = FoldedValue::new(value, collation) {
                seen.entry(folded).or_insert_with(|| value.to_owned());
            }
        }
        seen.into_values().collect()
    }
}

impl<'a> RelatedLoader<'a> {
    /// A loader of at most `limit` rows, and of about `max_bytes` for one relation.
    pub fn new(
        engine: &dyn Engine,
        session: &'a dyn Session,
        limit: u64,
        max_bytes: usize,
    ) -> Self {
        let subqueries = engine.capabilities().subqueries;
        Self { session, subqueries, left: limit, limit, max_bytes }
    }

    /// Counts the rows of the relations from the beginning, for another query of the same rows.
    pub const fn start_again(&mut self) {
        self.left = self.limit;
    }

    /// Replaces the subqueries of a query by their values if the engine does not run them, or must not: then each is a
    /// query of its own, of the rows that the client may read.
    pub fn resolve(&mut self, mut select: Select) -> Result<Select, Problem> {
        if let Some(condition) = select.condition.take() {
            select.condition = Some(self.condition(condition)?);
        }
        Ok(select)
    }

    fn condition(&mut self, condition: Condition) -> Result<Condition, Problem> {
        if self.subqueries || !condition.has_subquery() {
            return Ok(condition);
        }
        let mut problem = None;
        let mut run = |column: usize, query: SubQuery| {
            self.with_values(column, &query).map_err(|error| {
                let shown = error.error().to_bare();
                problem = Some(error);
                shown
            })
        };
        let replaced = condition.replace_subqueries(&mut run);
        replaced.map_err(|error| problem.unwrap_or_else(|| error.into()))
    }

    fn with_values(&mut self, column: usize, query: &SubQuery) -> Result<Condition, Problem> {
        let mut rows = SubQueryRows::new(query, column);
        self.run(&query.to_select(), &mut |row| {
            rows.push(row);
            Ok(0)
        })?;
        Ok(rows.into_condition())
    }

    /// Loads the rows that are related to some rows, and those that are related to them.
    ///
    /// # Errors
    /// The engine's; 413 for more rows than the limit.
    pub fn load(
        &mut self,
        expansions: &[Expansion],
        above: &LevelRows,
    ) -> Result<Vec<RelatedRows>, Problem> {
        expansions.iter().map(|expansion| self.load_one(expansion, above)).collect()
    }

    fn load_one(
        &mut self,
        expansion: &Expansion,
        above: &LevelRows,
    ) -> Result<RelatedRows, Problem> {
        let mut steps = expansion.relation.steps.iter();
        let (Some(first), last) = (steps.next(), steps.next()) else {
            return Err(Problem::not_found());
        };
        let mut columns = with_links(&expansion.columns, &expansion.inner);
        let linked = &last.unwrap_or(first).to;
        add_missing(&mut columns, linked);
        let collations = collations_of(first);
        let keys = above.lists(&first.from, &collations);
        let through = match last {
            Some(last) => Some((first, last, self.pairs(first, last, keys.clone())?)),
            None => None,
        };
        let wanted = match &through {
            Some((_, last, pairs)) => pairs.lists(&last.from, &collations_of(last)),
            None => keys,
        };
        let rows = self.rows_with(expansion, columns, linked, wanted, through.is_none())?;
        let mut related = RelatedRows {
            from: first.from.clone(),
            collations,
            links: HashMap::new(),
            inner: self.load(&expansion.inner, &rows)?,
            rows,
        };
        related.link(linked, through);
        Ok(related)
    }

    /// The related rows with values of some lists in their columns. Of several columns these may be more than the related
    /// ones.
    fn rows_with(
        &mut self,
        expansion: &Expansion,
        columns: Vec<usize>,
        linked: &[usize],
        lists: Vec<Vec<Value<'static>>>,
        is_direct: bool,
    ) -> Result<LevelRows, Problem> {
        let mut rows = LevelRows::new(columns);
        if !lists.iter().any(Vec::is_empty) {
            let is_single = lists.iter().all(|values| values.len() == 1) && is_direct;
            let linked = in_lists(linked, lists);
            let select = related_select(expansion, &rows.columns, linked, is_single)?;
            let select = self.resolve(select)?;
            self.run(&select, &mut |row| rows.push(row).map(|()| rows.bytes()))?;
        }
        Ok(rows)
    }

    /// The rows of a link table with these keys: their columns of the first step, then those of the last.
    fn pairs(
        &mut self,
        first: &TableStep,
        last: &TableStep,
        keys: Vec<Vec<Value<'static>>>,
    ) -> Result<LevelRows, Problem> {
        let mut pairs = LevelRows::new([&*first.to, &last.from].concat());
        if !keys.iter().any(Vec::is_empty) {
            let select = Select {
                columns: pairs.columns.iter().copied().map(Expr::Column).collect(),
                condition: Some(in_lists(&first.to, keys)),
                ..Select::all(&first.table.schema)
            };
            self.run(&select, &mut |row| pairs.push(row).map(|()| pairs.bytes()))?;
        }
        Ok(pairs)
    }

    fn run(
        &mut self,
        select: &Select,
        each: &mut dyn FnMut(&dyn Row) -> Result<usize>,
    ) -> Result<(), Problem> {
        let mut is_full = false;
        self.session.query(&Source::Select(select), &mut |row| {
            is_full = self.left == 0 || each(row)? > self.max_bytes;
            self.left = self.left.saturating_sub(1);
            Ok(!is_full)
        })?;
        if is_full {
            let (limit, bytes) = (self.limit, self.max_bytes);
            let message = format!(
                "the relations lead to more than {limit} rows, or {bytes} bytes: use a filter, or a \
                 list with fewer rows"
            );
            return Err(Problem::too_large(message));
        }
        Ok(())
    }
}

impl RelatedRows {
    /// Links the rows to those above by the values of columns, or by the pairs of a link table.
    fn link(&mut self, linked: &[usize], through: Option<(&TableStep, &TableStep, LevelRows)>) {
        let Some((first, last, pairs)) = through else {
            (0..self.rows.len()).for_each(|number| {
                self.add(self.rows.key(number, linked, &self.collations), number)
            });
            return;
        };
        let collations = collations_of(last);
        let mut above: HashMap<LinkKey, Vec<usize>> = HashMap::new();
        for pair in 0..pairs.len() {
            if let Some(key) = pairs.key(pair, &last.from, &collations) {
                above.entry(key).or_default().push(pair);
            }
        }
        for number in 0..self.rows.len() {
            let key = self.rows.key(number, linked, &collations);
            for &pair in key.and_then(|key| above.get(&key)).into_iter().flatten() {
                self.add(pairs.key(pair, &first.to, &self.collations), number);
            }
        }
    }

    fn add(&mut self, key: Option<LinkKey>, number: usize) {
        if let Some(key) = key {
            self.links.entry(key).or_default().push(number);
        }
    }
}

/// The collations of the columns that a step leads to.
fn collations_of(step: &TableStep) -> Vec<Collation> {
    let columns = step.table.schema.columns();
    let collation =
        |at: &usize| columns.get(*at).map(|column| column.collation).unwrap_or_default();
    step.to.iter().map(collation).collect()
}

/// The condition that each column has a value of its list.
fn in_lists(columns: &[usize], lists: Vec<Vec<Value<'static>>>) -> Condition {
    let parts = columns.iter().zip(lists);
    let mut parts: Vec<_> =
        parts.map(|(&column, values)| Condition::In { column, values }).collect();
    match parts.len() {
        1 => parts.remove(0),
        _ => Condition::And(parts),
    }
}

/// The query for the related rows by a condition of the linked columns. For a single row above, the limit applies to all rows.
fn related_select(
    expansion: &Expansion,
    columns: &[usize],
    linked: Condition,
    is_single: bool,
) -> Result<Select, Problem> {
    let table = expansion.table()?;
    let RowSelection { condition, order, limit, offset, .. } = &expansion.selection;
    let columns = columns.iter().copied().map(Expr::Column).collect();
    let all = RowSelection {
        condition: condition.clone(),
        order: order.clone(),
        limit: limit.filter(|_| is_single).map(|limit| limit.saturating_add(*offset)),
        ..RowSelection::default()
    };
    let mut select = all.query().to_select(&table.schema, columns)?;
    select.condition = Some(match select.condition.take() {
        Some(condition) => Condition::And(vec![linked, condition]),
        None => linked,
    });
    Ok(select)
}

/// Writes rows with their related rows as JSON.
pub(crate) struct ExpandedWriter<'a> {
    pub out: &'a mut String,
    pub numbers: NumberFormat,
    /// The approximate maximum length of `out`. A row that is related to many others is written for each of them.
    pub max_length: usize,
}

impl ExpandedWriter<'_> {
    /// Appends a row as an object, with its related rows.
    ///
    /// # Errors
    /// 413 if the text becomes too long.
    pub fn write(
        &mut self,
        (table, columns): (&CachedTable, &[usize]),
        (rows, number): (&LevelRows, usize),
        (expansions, related): (&[Expansion], &[RelatedRows]),
    ) -> Result<(), Problem> {
        if self.out.len() > self.max_length {
            let limit = self.max_length;
            let message = format!("a row with its related rows is longer than {limit} bytes");
            return Err(Problem::too_large(message));
        }
        let start = self.out.len();
        let values: Vec<Value<'_>> =
            columns.iter().map(|&column| rows.value(number, column).into()).collect();
        write_row(self.out, table, columns.iter().copied(), self.numbers, &values.as_slice());
        self.out.pop();
        for (expansion, related) in expansions.iter().zip(related) {
            if self.out.len() > start + 1 {
                self.out.push(',');
            }
            self.out.push_str(&expansion.label);
            let key = rows.key(number, &related.from, &related.collations);
            self.write_related(expansion, related, key.as_ref())?;
        }
        self.out.push('}');
        Ok(())
    }

    /// Appends the rows that are related by a key: an array, or an object or `null`.
    fn write_related(
        &mut self,
        expansion: &Expansion,
        related: &RelatedRows,
        key: Option<&LinkKey>,
    ) -> Result<(), Problem> {
        let table = expansion.table()?;
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let selection = &expansion.selection;
        let found = key.and_then(|key| related.links.get(key)).map_or(&[][..], Vec::as_slice);
        let found = found.get(number(selection.offset)..).unwrap_or_default();
        let is_one = expansion.relation.is_one;
        let most =
            selection.limit.map_or(usize::MAX, number).min(if is_one { 1 } else { usize::MAX });
        let found = found.get(..most).unwrap_or(found);
        self.out.push_str(match (is_one, found) {
            (false, _) => "[",
            (true, []) => "null",
            (true, _) => "",
        });
        for (index, row) in found.iter().enumerate() {
            self.out.push_str(if index == 0 { "" } else { "," });
            let (own, inner) =
                ((&**table, &*expansion.columns), (&*expansion.inner, &*related.inner));
            self.write(own, (&related.rows, *row), inner)?;
        }
        self.out.push_str(if is_one { "" } else { "]" });
        Ok(())
    }
}

/// Makes all queries of a session see one state of the database, if the engine has read-only transactions.
///
/// # Errors
/// The engine's.
pub(crate) fn begin_snapshot(session: &dyn Session) -> Result<()> {
    match session.begin_reading() {
        // A restricted client gets `Denied` if a transaction would block writers.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied) => Ok(()),
        begun => begun,
    }
}

/// The row with a key as JSON, with its related rows; `None` if it does not exist.
///
/// # Errors
/// The engine's; 413 for more related rows or bytes than the limits.
pub(crate) fn find(
    engine: &dyn Engine,
    (table, columns): (&CachedTable, &[usize]),
    key: &[Value<'static>],
    expansions: &[Expansion],
    (numbers, (max_rows, max_length)): (NumberFormat, (u64, usize)),
) -> Result<Option<String>, Problem> {
    let session = engine.session()?;
    begin_snapshot(&*session)?;
    // All columns, in their order.
    let mut rows = LevelRows::new((0..table.schema.columns().len()).collect());
    if !session.get(&table.schema, key, &mut |row| rows.push(row))? {
        return Ok(None);
    }
    let related =
        RelatedLoader::new(engine, &*session, max_rows, max_length).load(expansions, &rows)?;
    let mut body = String::with_capacity(1_024);
    let mut writer = ExpandedWriter { out: &mut body, numbers, max_length };
    writer.write((table, columns), (&rows, 0), (expansions, &related))?;
    body.push('\n');
    Ok(Some(body))
}

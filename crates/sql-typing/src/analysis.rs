//! From the text of a statement to the text that SQLite runs.

use crate::analyzer::Analyzer;
use crate::kind::{ValueKind, has_unit, unsupported};
use crate::large_stack::with_stack;
use crate::parser::parse;
use crate::relations::{Relation, Relations};
use crate::rewrite::Rewrite;
use crate::tree::{ParsedStatement, RowStatement, UpdateParts};
use crate::vocabulary::SHARED_FUNCTIONS;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use bobak_core::{ErrorKind, Result, Type};

/// The deepest nesting of parentheses. The parser is recursive, and has a limit of its own for chains of operators.
const MAX_DEPTH: usize = 32;
/// Enough for that depth in a debug build, where a level takes 100 kB. It is reserved, not touched.
const STACK: usize = 64 << 20;

/// What the analysis of a statement found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The text in stored units, for SQLite. `None` if the statement is the same there.
    pub sql: Option<String>,
    /// The types of the result columns, as far as they are known. Empty if none is.
    pub columns: Vec<Option<Type>>,
}

/// Analyzes one statement, which SQLite has accepted as it is, and rewrites it for stored units.
///
/// `parameters` has the type of each parameter, if it is known; a parameter's value is then in the
/// stored form of its type. A statement that names no table or view with amounts, dates, times or
/// UUIDs, no function of the shared vocabulary, and has no parameter of such a type, is left alone.
///
/// ```
/// # use bobak_core::{Result, Type};
/// # use bobak_sql_typing::{Relations, Relation, TableColumn, analyze};
/// struct Account;
///
/// impl Relations for Account {
///     fn relation(&self, _: Option<&str>, name: &str) -> Result<Option<Relation>> {
///         let balance = TableColumn {
///             name: "balance".to_owned(),
///             ty: Some(Type::Currency),
///             hidden: false,
///             generated: false,
///         };
///         Ok((name == "account").then(|| Relation::Table(vec![balance])))
///     }
/// }
///
/// let analysis = analyze("SELECT balance FROM account WHERE balance > 5", &Account, &[])?;
/// let sql = "SELECT balance FROM account WHERE balance > 50000";
/// assert_eq!(analysis.sql.as_deref(), Some(sql));
/// assert_eq!(analysis.columns, [Some(Type::Currency)]);
/// # Ok::<(), bobak_core::Error>(())
/// ```
///
/// # Errors
/// `Mismatch` if the statement compares or combines values of types that cannot be, or has a
/// malformed literal; `Unsupported` if it cannot be analyzed; any of the relations.
pub fn analyze(
    sql: &str,
    relations: &dyn Relations,
    parameters: &[Option<Type>],
) -> Result<Analysis> {
    let has_units = has_units(sql, relations, parameters)?;
    if !has_units && !may_read_what_it_updates(sql) {
        return Ok(Analysis::default());
    }
    let run = |relations: &dyn Relations| rewrite(sql, relations, parameters);
    match with_stack(STACK, relations, run) {
        Err(error) if !has_units && error.kind() == ErrorKind::Unsupported => {
            Ok(Analysis::default())
        }
        analysis => analysis,
    }
}

fn rewrite(sql: &str, relations: &dyn Relations, parameters: &[Option<Type>]) -> Result<Analysis> {
    let parsed = parse(sql)?;
    let mut analyzer = Analyzer::new(relations, parameters, Rewrite::new(sql, &parsed.parameters));
    if let ParsedStatement::Rows(RowStatement::Update(update)) = &parsed.statement
        && reads_what_it_updates(sql, update)
    {
        analyzer.rewrite.insert(update.from_place, " FROM (SELECT 1)");
    }
    let columns = analyzer.statement(&parsed.statement)?;
    let types = columns.list.iter().map(|column| match column.kind {
        ValueKind::Of(ty) => Some(ty),
        ValueKind::Plain | ValueKind::Null => None,
    });
    let columns = if columns.open { Vec::new() } else { types.collect() };
    Ok(Analysis { sql: analyzer.rewrite.finish(parsed.end), columns })
}

/// Whether [`analyze`] may rewrite the statement: it names a view, or a table with amounts, dates,
/// times or UUIDs, has a parameter of such a type, or updates rows by a subquery.
///
/// # Errors
/// `Unsupported` for such a statement that is nested too deeply; any of the relations.
pub fn needs_analysis(
    sql: &str,
    relations: &dyn Relations,
    parameters: &[Option<Type>],
) -> Result<bool> {
    Ok(has_units(sql, relations, parameters)? || may_read_what_it_updates(sql))
}

fn has_units(sql: &str, relations: &dyn Relations, parameters: &[Option<Type>]) -> Result<bool> {
    Ok(parameters.iter().flatten().any(|ty| has_unit(*ty)) || names_units(sql, relations)?)
}

/// Whether the statement names a view, a table that has a column in another unit, a function of the
/// shared vocabulary, or a type of CAST that SQLite does not have.
fn names_units(sql: &str, relations: &dyn Relations) -> Result<bool> {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut found, mut has_cast, mut after_as) = (false, false, false);
    let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant().peekable();
    while let Some(token) = tokens.next() {
        if token.is_operator("(") {
            depth += 1;
            deepest = deepest.max(depth);
        } else if token.is_operator(")") {
            depth = depth.saturating_sub(1);
        }
        let is_name = matches!(
            token.kind,
            SqlTokenKind::Word | SqlTokenKind::QuotedName | SqlTokenKind::Text
        );
        has_cast |= token.is_word("cast");
        let next = tokens.peek().copied();
        let is_next = |operator: &str| next.is_some_and(|next| next.is_operator(operator));
        found |= is_shared_name(&token) && is_next("(");
        found |= has_cast && after_as && is_cast_type(&token) && (is_next(")") || is_next("("));
        after_as = token.is_word("as");
        if let (true, false, Some(name)) = (is_name, found, name_of(&token)) {
            found = match relations.relation(None, &name)? {
                Some(Relation::Table(columns)) => {
                    columns.iter().any(|column| column.ty.is_some_and(has_unit))
                }
                Some(Relation::View(..)) => true,
                None => false,
            };
        }
    }
    if deepest > MAX_DEPTH && found {
        return Err(unsupported("a statement with amounts, dates or times is nested too deeply"));
    }
    Ok(found)
}

/// Whether it may be a call of the shared vocabulary.
fn is_shared_name(token: &SqlToken<'_>) -> bool {
    SHARED_FUNCTIONS.iter().any(|(name, _)| token.is_word(name))
}

/// Whether it may be a type of CAST that SQLite does not have.
fn is_cast_type(token: &SqlToken<'_>) -> bool {
    const TYPES: [&str; 7] =
        ["date", "time", "datetime", "timestamp", "uuid", "decimal", "numeric"];
    TYPES.iter().any(|name| token.is_word(name))
}

/// Whether the text is an UPDATE with a subquery, which can be parsed.
fn may_read_what_it_updates(sql: &str) -> bool {
    let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant();
    let is = |token: &SqlToken<'_>, word: &str| {
        token.kind == SqlTokenKind::Word && token.text.eq_ignore_ascii_case(word)
    };
    tokens.next().is_some_and(|first| is(&first, "update"))
        && tokens.any(|token| is(&token, "select"))
        && sql.matches('(').count() <= MAX_DEPTH
}

/// Whether a new value of an UPDATE comes from a subquery over the same table. SQLite computes it when the rows
/// before are updated already, unless there is a FROM clause; servers and virtual tables compute all values first.
fn reads_what_it_updates(sql: &str, update: &UpdateParts<'_>) -> bool {
    let table = update.target.table.name.to_ascii_lowercase();
    let reads = |text: &str| text.contains("select") && text.contains(&table);
    let mut values = update.sets.iter().filter_map(|set| sql.get(set.value.span.clone()));
    update.from.is_none() && values.any(|value| reads(&value.to_ascii_lowercase()))
}

fn name_of(token: &SqlToken<'_>) -> Option<String> {
    match token.kind {
        // SQLite accepts a name in single quotes.
        SqlTokenKind::Text => Some(token.unquoted().into_owned()),
        _ => token.name().map(|name| name.into_owned()),
    }
}

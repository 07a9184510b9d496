//! A statement as a tree: what the analysis of types looks at.
//!
//! The rest of a statement, such as `INDEXED BY` or the frame of a window, is in its text alone: a rewritten
//! statement is the text with other expressions, see [`Rewrite`](crate::rewrite::Rewrite).

mod statement;

pub(crate) use statement::{
    DeleteParts, InsertParts, ParsedStatement, RowStatement, SetClause, TargetTable, TriggerParts,
    UpdateParts, UpsertPart,
};

use std::ops::Range;

/// A name, without its quotes.
#[derive(Debug)]
pub(crate) struct SqlName {
    pub text: String,
    /// Whether it is in double quotes: SQLite reads an unknown one as text.
    pub is_double_quoted: bool,
}

/// An expression, and where it is in the text.
#[derive(Debug)]
pub(crate) struct ParsedExpr<'a> {
    pub span: Range<usize>,
    pub kind: ExprKind<'a>,
}

/// The forms of expressions.
#[derive(Debug)]
pub(crate) enum ExprKind<'a> {
    Number(&'a str),
    /// Text in single quotes.
    Text(String),
    Blob,
    Null,
    /// TRUE or FALSE.
    Truth,
    /// `CURRENT_DATE` and the like.
    Current,
    /// A parameter's place, from 0 on.
    Parameter(usize),
    /// A column, and the table or alias before it.
    Column(Option<String>, SqlName),
    /// Expressions in parentheses: one, or those of a row value.
    Row(Vec<ParsedExpr<'a>>),
    Unary(SignOperator, Box<ParsedExpr<'a>>),
    Collate(Box<ParsedExpr<'a>>),
    Binary(Box<ParsedExpr<'a>>, PairOperator, Box<ParsedExpr<'a>>),
    Case(CaseParts<'a>),
    Cast(Box<ParsedExpr<'a>>, CastType),
    Call(CallParts<'a>),
    Subquery(Box<ParsedSelect<'a>>),
    Exists(Box<ParsedSelect<'a>>),
    /// BETWEEN: the value, and both ends.
    Between(Box<[ParsedExpr<'a>; 3]>),
    InList(Box<ParsedExpr<'a>>, Vec<ParsedExpr<'a>>),
    InSelect(Box<ParsedExpr<'a>>, Box<ParsedSelect<'a>>),
    /// IN with a table, or with a table-valued function.
    InTable(Box<ParsedExpr<'a>>, TableName, Vec<ParsedExpr<'a>>),
    /// LIKE, GLOB, REGEXP and MATCH, and what follows ESCAPE.
    Like(Box<[ParsedExpr<'a>; 2]>, Option<Box<ParsedExpr<'a>>>),
    /// ISNULL, NOTNULL and NOT NULL.
    NullTest(Box<ParsedExpr<'a>>),
    /// RAISE, and its message.
    Raise(Option<Box<ParsedExpr<'a>>>),
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignOperator {
    Negative,
    Positive,
    Invert,
    Not,
}

/// An operator with two operands, as far as types depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairOperator {
    And,
    Or,
    Compare,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    /// `||`, `->` and `->>`.
    Join,
    /// `&`, `|`, `<<` and `>>`.
    Bits,
}

/// CASE.
#[derive(Debug)]
pub(crate) struct CaseParts<'a> {
    pub base: Option<Box<ParsedExpr<'a>>>,
    /// WHEN and THEN.
    pub branches: Vec<(ParsedExpr<'a>, ParsedExpr<'a>)>,
    pub otherwise: Option<Box<ParsedExpr<'a>>>,
}

/// The type that follows AS in CAST.
#[derive(Debug)]
pub(crate) struct CastType {
    /// In upper case.
    pub name: String,
    /// How many numbers follow in parentheses, and the last of them.
    pub size: Option<(usize, String)>,
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct CallParts<'a> {
    /// In lower case.
    pub name: String,
    /// Where the name ends in the text.
    pub name_end: usize,
    /// Whether its argument is `*`.
    pub is_star: bool,
    pub arguments: Vec<ParsedExpr<'a>>,
    /// ORDER BY among the arguments, and WITHIN GROUP.
    pub order: Vec<ParsedExpr<'a>>,
    pub filter: Option<Box<ParsedExpr<'a>>>,
    /// The window of OVER, unless it is a name.
    pub over: Option<Box<WindowParts<'a>>>,
}

/// The definition of a window.
#[derive(Debug)]
pub(crate) struct WindowParts<'a> {
    pub partition: Vec<ParsedExpr<'a>>,
    pub order: Vec<ParsedExpr<'a>>,
    /// Whether its frame is a RANGE.
    pub is_range: bool,
    /// The offsets before PRECEDING and FOLLOWING.
    pub offsets: Vec<ParsedExpr<'a>>,
}

/// The name of a table, and the schema before it.
#[derive(Clone, Debug)]
pub(crate) struct TableName {
    pub schema: Option<String>,
    pub name: String,
}

/// SELECT or VALUES, with all that belongs to it.
#[derive(Debug)]
pub(crate) struct ParsedSelect<'a> {
    pub with: Vec<NamedSelect<'a>>,
    /// The parts of UNION, EXCEPT and INTERSECT: at least one.
    pub arms: Vec<SelectArm<'a>>,
    pub order: Vec<ParsedExpr<'a>>,
    /// LIMIT and OFFSET.
    pub limit: Vec<ParsedExpr<'a>>,
}

/// A common table expression.
#[derive(Debug)]
pub(crate) struct NamedSelect<'a> {
    pub name: String,
    pub columns: Vec<String>,
    pub select: ParsedSelect<'a>,
}

/// One SELECT or VALUES.
#[derive(Debug)]
pub(crate) enum SelectArm<'a> {
    Values(Vec<Vec<ParsedExpr<'a>>>),
    Select(Box<SelectParts<'a>>),
}

/// The clauses of a SELECT.
#[derive(Debug)]
pub(crate) struct SelectParts<'a> {
    pub columns: Vec<ResultTerm<'a>>,
    pub from: Option<FromTables<'a>>,
    pub filter: Option<ParsedExpr<'a>>,
    pub group: Vec<ParsedExpr<'a>>,
    pub having: Option<ParsedExpr<'a>>,
    pub windows: Vec<WindowParts<'a>>,
}

/// A result column of a SELECT, as written.
#[derive(Debug)]
pub(crate) enum ResultTerm<'a> {
    Star,
    TableStar(String),
    /// An expression, and its alias.
    Value(ParsedExpr<'a>, Option<String>),
}

/// FROM.
#[derive(Debug)]
pub(crate) struct FromTables<'a> {
    pub first: FromTable<'a>,
    pub joins: Vec<JoinedSource<'a>>,
}

/// A table of a join.
#[derive(Debug)]
pub(crate) struct JoinedSource<'a> {
    pub is_natural: bool,
    pub table: FromTable<'a>,
    pub on: Option<ParsedExpr<'a>>,
    pub using: Vec<String>,
}

/// A source of rows in FROM, and its alias.
#[derive(Debug)]
pub(crate) struct FromTable<'a> {
    pub source: RowSource<'a>,
    pub alias: Option<String>,
}

/// A source of rows.
#[derive(Debug)]
pub(crate) enum RowSource<'a> {
    Table(TableName),
    /// A table-valued function.
    Call(String, Vec<ParsedExpr<'a>>),
    Select(Box<ParsedSelect<'a>>),
    /// Joins in parentheses.
    Joins(Box<FromTables<'a>>),
}

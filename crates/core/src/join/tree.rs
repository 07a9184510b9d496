//! Untyped expressions and conditions over the rows of a join.

use super::{Join, JoinColumn, JoinSubquery, JoinWindow, TextTest};
use crate::{Comparison, Condition, DatePart, DateUnit, Error, ErrorKind, Result, Type, Value};

/// An expression over the rows of a join.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinExpr {
    /// A column's value.
    Column(JoinColumn),
    /// A value of a type, in its stored form.
    Value(Value<'static>, Type),
    /// Two numbers calculated; NULL if one of them is NULL, or if a number is divided by 0.
    Calculation(CalculationOperator, Box<(JoinExpr, JoinExpr)>),
    /// An aggregate over the values of an expression that are not NULL.
    Aggregate(JoinAggregate, Box<JoinExpr>),
    /// A function of other expressions.
    Function(JoinFunction, Vec<JoinExpr>),
    /// The value of the first branch whose condition is true; else the last expression.
    Case(Vec<(JoinCondition, JoinExpr)>, Box<JoinExpr>),
    /// The first column of a query's first row; NULL if it has no row.
    Query(Box<JoinSubquery>),
    /// A function of other rows of the result.
    Window(Box<JoinWindow>),
}

/// How two numbers are calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CalculationOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`: of integers, rounded towards zero; of money and an integer, rounded to four decimals, ties away from zero.
    Divide,
    /// `%`: with the sign of the dividend.
    Remainder,
}

/// An aggregate of a join's rows. NULLs are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinAggregate {
    /// The number of values.
    Count,
    /// The number of different values.
    CountDistinct,
    /// The sum; NULL if there is no value.
    Sum,
    /// The smallest value; NULL if there is none.
    Min,
    /// The largest value; NULL if there is none.
    Max,
    /// The average as a float, of money in whole units; NULL if there is no value.
    Avg,
}

/// A function of the values of a row. The result is NULL if an argument is NULL, unless the function says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinFunction {
    /// A text with A–Z as a–z.
    Lower,
    /// A text with a–z as A–Z.
    Upper,
    /// A text without the spaces at its ends.
    Trim,
    /// The number of characters of a text.
    Length,
    /// The characters of a text from a position on, the first being 1; at most so many.
    Substring(u32, u32),
    /// Texts, one after another.
    Concat,
    /// The first value that is not NULL.
    Coalesce,
    /// A number as a float, money in whole units.
    ToFloat,
    /// A number as an integer, rounded towards zero; money in whole units, a truth value as 0 or 1.
    ToInteger,
    /// The decimal digits of an integer.
    ToText,
    /// A part of a date or time.
    Part(DatePart),
    /// Where the unit begins in which a date or time is.
    StartOf(DateUnit),
    /// The text at a path of a JSON document; this and the following have the document and the path as arguments.
    JsonText,
    /// The integer at a path.
    JsonInteger,
    /// The number at a path, as a float.
    JsonFloat,
    /// The truth value at a path.
    JsonTruth,
    /// The number of elements of the array at a path.
    JsonLength,
    /// Whether the array at a path has an element, which is a JSON text.
    JsonHas,
    /// The document with a value at a path, which is a JSON text.
    JsonWith,
    /// The metres between two locations: their latitudes and longitudes.
    Distance,
}

/// A condition over the rows or groups of a join, with three-valued logic.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// A condition over the rows of the table at an index.
    Row(usize, Condition),
    /// Compares two expressions.
    Compare(JoinExpr, Comparison, JoinExpr),
    /// Whether an expression is NULL, or with `false` is not NULL.
    IsNull(JoinExpr, bool),
    /// Whether a text is as a test says.
    Text(JoinExpr, TextTest),
    /// Whether a query has a row.
    Exists(Box<JoinSubquery>),
    /// Whether an expression equals the first column of a row of a query. Rows with NULL are left out.
    InQuery(JoinExpr, Box<JoinSubquery>),
    /// At least one is true.
    AnyOf(Vec<JoinCondition>),
    /// All are true.
    AllOf(Vec<JoinCondition>),
    /// It is false.
    Not(Box<JoinCondition>),
}

/// Replaces parts of expressions and conditions.
pub trait JoinRewriter {
    /// Replaces a column.
    fn column(&mut self, column: JoinColumn) -> JoinColumn {
        column
    }

    /// Replaces a condition over the rows of the table at an index.
    ///
    /// # Errors
    /// Any: the rewriting ends with it.
    fn row(&mut self, table: usize, condition: Condition) -> Result<JoinCondition>;

    /// Replaces a query.
    ///
    /// # Errors
    /// Any: the rewriting ends with it.
    fn query(&mut self, query: JoinSubquery) -> Result<JoinSubquery>;

    /// Replaces a window function, whose parts are replaced already.
    fn window(&mut self, window: JoinWindow) -> JoinWindow {
        window
    }
}

impl JoinAggregate {
    /// The type of its values, by that of the argument.
    pub(super) fn ty(self, argument: Type) -> Type {
        match self {
            Self::Count | Self::CountDistinct => Type::I64,
            Self::Avg => Type::F64,
            Self::Sum => number(argument),
            Self::Min | Self::Max => argument,
        }
    }
}

/// The type of what is a number of one type or another.
fn number(ty: Type) -> Type {
    match ty {
        Type::F32 | Type::F64 => Type::F64,
        exact @ (Type::Currency | Type::Any) => exact,
        _ => Type::I64,
    }
}

/// An expression, or a condition: a part of an expression or a condition.
#[derive(Clone, Copy)]
enum JoinNode<'e> {
    Expr(&'e JoinExpr),
    Condition(&'e JoinCondition),
}

impl<'e> JoinNode<'e> {
    /// Calls `enter` with itself, and then with the parts of each for which it returns `true`; not with those of queries.
    fn walk(self, enter: &mut dyn FnMut(Self) -> bool) {
        if !enter(self) {
            return;
        }
        let mut expr = |expr: &'e JoinExpr| Self::Expr(expr).walk(enter);
        match self {
            Self::Expr(JoinExpr::Column(_) | JoinExpr::Value(..) | JoinExpr::Query(_))
            | Self::Condition(JoinCondition::Row(..) | JoinCondition::Exists(_)) => {}
            Self::Expr(JoinExpr::Calculation(_, parts)) => {
                expr(&parts.0);
                expr(&parts.1);
            }
            Self::Expr(JoinExpr::Aggregate(_, part)) => expr(part),
            Self::Expr(JoinExpr::Function(_, arguments)) => arguments.iter().for_each(expr),
            Self::Expr(JoinExpr::Window(window)) => window.for_each_part(&mut expr),
            Self::Expr(JoinExpr::Case(branches, otherwise)) => {
                for (condition, value) in branches {
                    Self::Condition(condition).walk(enter);
                    Self::Expr(value).walk(enter);
                }
                Self::Expr(otherwise).walk(enter);
            }
            Self::Condition(condition) => match condition {
                JoinCondition::Compare(left, _, right) => {
                    expr(left);
                    expr(right);
                }
                JoinCondition::IsNull(part, _)
                | JoinCondition::Text(part, _)
                | JoinCondition::InQuery(part, _) => expr(part),
                JoinCondition::AnyOf(parts) | JoinCondition::AllOf(parts) => {
                    parts.iter().for_each(|part| Self::Condition(part).walk(enter));
                }
                JoinCondition::Not(part) => Self::Condition(part).walk(enter),
                JoinCondition::Row(..) | JoinCondition::Exists(_) => {}
            },
        }
    }

    /// The query that it is, or that it asks.
    const fn query(self) -> Option<&'e JoinSubquery> {
        match self {
            Self::Expr(JoinExpr::Query(query))
            | Self::Condition(JoinCondition::Exists(query) | JoinCondition::InQuery(_, query)) => {
                Some(query)
            }
            _ => None,
        }
    }

    fn is_aggregate(self) -> bool {
        let mut found = false;
        self.walk(&mut |node| {
            found |= matches!(node, Self::Expr(JoinExpr::Aggregate(..)));
            !found
        });
        found
    }

    fn is_window(self) -> bool {
        let mut found = false;
        self.walk(&mut |node| {
            found |= matches!(node, Self::Expr(JoinExpr::Window(_)));
            !found
        });
        found
    }

    /// Calls `each` with the outermost parts that are columns or in `whole`, outside of aggregates.
    fn for_each_plain_part(self, whole: &[JoinExpr], each: &mut dyn FnMut(&JoinExpr)) {
        self.walk(&mut |node| {
            if let Self::Expr(expr) = node
                && (matches!(expr, JoinExpr::Column(_)) || whole.contains(expr))
            {
                each(expr);
                return false;
            }
            if let Some(query) = node.query() {
                query.for_each_outer_column(&mut |column| each(&JoinExpr::Column(column)));
            }
            !matches!(node, Self::Expr(JoinExpr::Aggregate(..)))
        });
    }

    fn for_each_column(self, each: &mut dyn FnMut(JoinColumn)) {
        self.walk(&mut |node| {
            match node {
                Self::Expr(JoinExpr::Column(column)) => each(*column),
                Self::Condition(JoinCondition::Row(table, condition)) => condition
                    .for_each_column(&mut |column| each(JoinColumn { table: *table, column })),
                _ => {}
            }
            if let Some(query) = node.query() {
                query.for_each_outer_column(each);
            }
            true
        });
    }

    fn for_each_query(self, each: &mut dyn FnMut(&'e JoinSubquery)) {
        self.walk(&mut |node| {
            if let Some(query) = node.query() {
                each(query);
            }
            true
        });
    }

    fn for_each_row_condition(self, each: &mut dyn FnMut(&'e Condition)) {
        self.walk(&mut |node| {
            if let Self::Condition(JoinCondition::Row(_, condition)) = node {
                each(condition);
            }
            true
        });
    }

    fn for_each_window(self, each: &mut dyn FnMut(&'e JoinWindow)) {
        self.walk(&mut |node| {
            if let Self::Expr(JoinExpr::Window(window)) = node {
                each(window);
            }
            true
        });
    }
}

/// What expressions and conditions have in common.
macro_rules! node {
    ($type:ident, $node:ident) => {
        impl $type {
            /// Whether it has an aggregate.
            #[must_use]
            pub fn is_aggregate(&self) -> bool {
                JoinNode::$node(self).is_aggregate()
            }

            /// Whether it has a window function.
            #[must_use]
            pub fn is_window(&self) -> bool {
                JoinNode::$node(self).is_window()
            }

            pub(super) fn for_each_plain_part(
                &self,
                whole: &[JoinExpr],
                each: &mut dyn FnMut(&JoinExpr),
            ) {
                JoinNode::$node(self).for_each_plain_part(whole, each);
            }

            /// Calls `each` with all columns that it reads.
            pub fn for_each_column(&self, each: &mut dyn FnMut(JoinColumn)) {
                JoinNode::$node(self).for_each_column(each);
            }

            /// Calls `each` with the queries that it has, and not with those inside of these.
            pub fn for_each_query<'e>(&'e self, each: &mut dyn FnMut(&'e JoinSubquery)) {
                JoinNode::$node(self).for_each_query(each);
            }

            pub(super) fn for_each_row_condition<'e>(
                &'e self,
                each: &mut dyn FnMut(&'e Condition),
            ) {
                JoinNode::$node(self).for_each_row_condition(each);
            }

            /// Calls `each` with the window functions that it has, and not with those of queries inside of it.
            pub fn for_each_window<'e>(&'e self, each: &mut dyn FnMut(&'e JoinWindow)) {
                JoinNode::$node(self).for_each_window(each);
            }
        }
    };
}
node!(JoinExpr, Expr);
node!(JoinCondition, Condition);

impl JoinExpr {
    /// The type of its values.
    #[must_use]
    pub fn ty(&self, join: &Join) -> Type {
        match self {
            Self::Column(column) => join.column(*column).map_or(Type::Any, |column| column.ty),
            Self::Value(_, ty) => *ty,
            Self::Calculation(operator, parts) => {
                match (operator, number(parts.0.ty(join)), number(parts.1.ty(join))) {
                    (CalculationOperator::Divide, Type::Currency, Type::Currency)
                    | (_, Type::F64, _)
                    | (_, _, Type::F64) => Type::F64,
                    (_, Type::Currency, _) | (_, _, Type::Currency) => Type::Currency,
                    (_, ty, _) => ty,
                }
            }
            Self::Aggregate(function, expr) => function.ty(expr.ty(join)),
            Self::Window(window) => window.ty(join),
            Self::Function(function, arguments) => match function {
                JoinFunction::Length | JoinFunction::Part(_) | JoinFunction::ToInteger => Type::I64,
                JoinFunction::ToFloat | JoinFunction::Distance => Type::F64,
                json if json.is_of_json() => json.json_type(),
                JoinFunction::Coalesce | JoinFunction::StartOf(_) => {
                    arguments.first().map_or(Type::Any, |first| first.common_type(join))
                }
                _ => Type::Text,
            },
            Self::Case(branches, otherwise) => {
                let first = branches.first().map_or(&**otherwise, |(_, value)| value);
                first.common_type(join)
            }
            Self::Query(query) => {
                let first = query.join.columns.first();
                first.map_or(Type::Any, |first| first.ty(&query.join))
            }
        }
    }

    /// The type of what is this expression's value or another one of its kind: numbers may be of another width.
    pub(super) fn common_type(&self, join: &Join) -> Type {
        use Type::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        match self.ty(join) {
            ty @ (I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F32 | F64) => number(ty),
            ty => ty,
        }
    }

    /// The expression with parts replaced.
    ///
    /// # Errors
    /// Those of the rewriter; as [`JoinFunction::check`]; `OutOfRange` for a value without a stored form.
    pub fn rewrite(self, rewriter: &mut dyn JoinRewriter) -> Result<Self> {
        Ok(match self {
            Self::Column(column) => Self::Column(rewriter.column(column)),
            Self::Value(value, ty) => {
                Error::check_storable(value.as_ref())?;
                Self::Value(value, ty)
            }
            Self::Calculation(operator, parts) => {
                let (left, right) = *parts;
                let parts = (left.rewrite(rewriter)?, right.rewrite(rewriter)?);
                Self::Calculation(operator, Box::new(parts))
            }
            Self::Aggregate(_, expr) if expr.is_window() => {
                let message = "an aggregate is of rows, and a window function of their result";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            Self::Aggregate(function, expr) => {
                Self::Aggregate(function, Box::new(expr.rewrite(rewriter)?))
            }
            Self::Function(function, arguments) => {
                function.check(&arguments)?;
                let arguments = arguments.into_iter().map(|argument| argument.rewrite(rewriter));
                Self::Function(function, arguments.collect::<Result<_>>()?)
            }
            Self::Case(branches, otherwise) => {
                let branches = branches.into_iter().map(|(condition, value)| {
                    Ok((condition.rewrite(rewriter)?, value.rewrite(rewriter)?))
                });
                let branches = branches.collect::<Result<_>>()?;
                Self::Case(branches, Box::new(otherwise.rewrite(rewriter)?))
            }
            Self::Query(query) => Self::Query(Box::new(rewriter.query(*query)?)),
            Self::Window(window) => Self::Window(Box::new(window.rewrite(rewriter)?)),
        })
    }
}

impl JoinCondition {
    /// The condition with parts replaced.
    ///
    /// # Errors
    /// Those of the rewriter; as [`check_pattern`](crate::check_pattern) and [`check_escape`](crate::check_escape).
    pub fn rewrite(self, rewriter: &mut dyn JoinRewriter) -> Result<Self> {
        let mut each = |parts: Vec<Self>| {
            parts.into_iter().map(|part| part.rewrite(rewriter)).collect::<Result<_>>()
        };
        Ok(match self {
            Self::AnyOf(parts) => Self::AnyOf(each(parts)?),
            Self::AllOf(parts) => Self::AllOf(each(parts)?),
            Self::Not(part) => Self::Not(Box::new(part.rewrite(rewriter)?)),
            Self::Row(table, condition) => rewriter.row(table, condition)?,
            Self::Compare(left, comparison, right) => {
                Self::Compare(left.rewrite(rewriter)?, comparison, right.rewrite(rewriter)?)
            }
            Self::IsNull(expr, wanted) => Self::IsNull(expr.rewrite(rewriter)?, wanted),
            Self::Text(expr, test) => {
                test.check()?;
                Self::Text(expr.rewrite(rewriter)?, test)
            }
            Self::Exists(query) => Self::Exists(Box::new(rewriter.query(*query)?)),
            Self::InQuery(expr, query) => {
                Self::InQuery(expr.rewrite(rewriter)?, Box::new(rewriter.query(*query)?))
            }
        })
    }
}

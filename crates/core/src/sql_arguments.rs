//! The values of SQL text: by position or by name, and lists of values.

use crate::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use crate::{Error, ErrorKind, Parameter, Result};
use std::borrow::Cow;
use std::ops::Range;

/// The value, or the values, of one parameter of SQL text.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlArgument<'a> {
    /// One value.
    Value(Parameter<'a>),
    /// The values of a list, such as `IN (?)` has: as many parameters. It may be empty after `IN`.
    List(Vec<Parameter<'a>>),
}

impl<'a> From<Parameter<'a>> for SqlArgument<'a> {
    fn from(value: Parameter<'a>) -> Self {
        Self::Value(value)
    }
}

/// The values of an SQL text.
///
/// Every engine takes parameters by position, one value each. [`bind`](Self::bind) makes such a text of one with names and
/// lists.
///
/// ```
/// use bobak_core::{Parameter, SqlArgument, SqlArguments};
/// let ids = SqlArgument::List([3, 5].map(Parameter::from).into());
/// let city = SqlArgument::Value("Bern".into());
/// let arguments = SqlArguments::Named(vec![("ids".into(), ids), ("city".into(), city)]);
/// let (text, values) = arguments.bind("SELECT * FROM person WHERE city = :city AND id IN (:ids)")?;
/// assert_eq!(text, "SELECT * FROM person WHERE city = ? AND id IN (?, ?)");
/// assert_eq!(values, [Parameter::from("Bern"), 3.into(), 5.into()]);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum SqlArguments<'a> {
    /// The values of the parameters `?`, in order.
    Positional(Vec<SqlArgument<'a>>),
    /// The values of the parameters `:name`, in any order. Each may stand in the text more than once.
    Named(Vec<(Cow<'a, str>, SqlArgument<'a>)>),
}

/// A parameter in a text.
struct FoundParameter<'t> {
    /// `None` for a `?`.
    name: Option<&'t str>,
    span: Range<usize>,
    /// If it is all that stands in the parentheses of `IN ( )` or `NOT IN ( )`: where they end, and whether it is `NOT IN`.
    list: Option<(usize, bool)>,
}

impl<'a> SqlArguments<'a> {
    /// Values by position, none of them a list.
    #[must_use]
    pub fn of(values: Vec<Parameter<'a>>) -> Self {
        Self::Positional(values.into_iter().map(SqlArgument::Value).collect())
    }

    /// The names of the parameters `:name` of a text, each once, in order.
    ///
    /// # Errors
    /// `Unsupported`, as [`bind`](Self::bind).
    pub fn names(text: &str) -> Result<Vec<&str>> {
        let mut names = Vec::new();
        for name in find(text)?.into_iter().filter_map(|parameter| parameter.name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// The text with a `?` for each value, and the values in their order.
    ///
    /// A `:name` is a colon before a letter or `_`; there is none in strings, comments and quoted names. Lists are as many
    /// parameters. For an empty list `IN (?)` is false, and `NOT IN (?)` is true.
    ///
    /// # Errors
    /// `Misuse` if a name has no value, two values, or is not in the text, if there are both `?` and names, and for a list that is not all
    /// of `IN (…)`; `Unsupported` if it depends on the database what is a string in the text.
    pub fn bind<'t>(self, text: &'t str) -> Result<(Cow<'t, str>, Vec<Parameter<'a>>)> {
        match self {
            Self::Named(values) => bind_named(text, &values),
            Self::Positional(values) => {
                let is_list = |value: &SqlArgument<'_>| matches!(value, SqlArgument::List(_));
                if values.iter().any(is_list) {
                    return bind_lists(text, values);
                }
                Self::Positional(values).into_values().map(|values| (Cow::Borrowed(text), values))
            }
        }
    }

    /// The values by position.
    ///
    /// # Errors
    /// `Misuse` if they have names, or one is a list.
    pub fn into_values(self) -> Result<Vec<Parameter<'a>>> {
        let Self::Positional(values) = self else {
            return Err(misuse("these values are given by position, not by name"));
        };
        let value = |value| match value {
            SqlArgument::Value(value) => Ok(value),
            SqlArgument::List(_) => Err(misuse("a list can't stand for one of these values")),
        };
        values.into_iter().map(value).collect()
    }
}

fn bind_named<'t, 'a>(
    text: &'t str,
    values: &[(Cow<'a, str>, SqlArgument<'a>)],
) -> Result<(Cow<'t, str>, Vec<Parameter<'a>>)> {
    let found = find(text)?;
    if found.iter().any(|parameter| parameter.name.is_none()) {
        return Err(misuse(
            "the text has a parameter ?, and the values have names: name each in the text",
        ));
    }
    let is_in_text = |name: &str| found.iter().any(|parameter| parameter.name == Some(name));
    if let Some((unknown, _)) = values.iter().find(|(name, _)| !is_in_text(name)) {
        return Err(misuse(format!("the text has no parameter :{unknown}")));
    }
    let mut names = values.iter().enumerate().map(|(place, (name, _))| (place, name));
    if let Some((_, name)) =
        names.find(|(place, name)| values.iter().skip(place + 1).any(|(other, _)| other == *name))
    {
        return Err(misuse(format!("the parameter :{name} has two values")));
    }
    let mut writer = TextWriter::new(text);
    for parameter in &found {
        let name = parameter.name.unwrap_or_default();
        let Some((_, value)) = values.iter().find(|(other, _)| *other == name) else {
            return Err(misuse(format!("the parameter :{name} of the text has no value")));
        };
        writer.write(parameter, value.clone())?;
    }
    Ok(writer.end())
}

fn bind_lists<'t, 'a>(
    text: &'t str,
    values: Vec<SqlArgument<'a>>,
) -> Result<(Cow<'t, str>, Vec<Parameter<'a>>)> {
    let found = find(text)?;
    if found.len() != values.len() {
        return Err(Error::wrong_number(
            ErrorKind::Mismatch,
            values.len(),
            found.len(),
            "parameter",
        ));
    }
    let mut writer = TextWriter::new(text);
    for (parameter, value) in found.iter().zip(values) {
        writer.write(parameter, value)?;
    }
    Ok(writer.end())
}

/// Writes a text with other parameters.
struct TextWriter<'t, 'a> {
    text: &'t str,
    /// How much of the text is written.
    at: usize,
    out: String,
    values: Vec<Parameter<'a>>,
}

impl<'t, 'a> TextWriter<'t, 'a> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, out: String::with_capacity(text.len()), values: Vec::new() }
    }

    fn copy_to(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn write(&mut self, parameter: &FoundParameter<'_>, value: SqlArgument<'a>) -> Result<()> {
        self.copy_to(parameter.span.start);
        self.at = parameter.span.end;
        let values = match (value, parameter.list) {
            (SqlArgument::Value(value), _) => vec![value],
            (SqlArgument::List(values), Some(_)) => values,
            (SqlArgument::List(_), None) => {
                return Err(misuse(
                    "a list of values stands alone in the parentheses of IN: `IN (?)`",
                ));
            }
        };
        if let (true, Some((end, is_negated))) = (values.is_empty(), parameter.list) {
            // NULL is neither equal to a value nor different from it.
            self.out.push_str("NULL");
            self.copy_to(end);
            self.out.push_str(if is_negated { " IS NOT FALSE" } else { " IS TRUE" });
            return Ok(());
        }
        for place in 0..values.len() {
            self.out.push_str(if place == 0 { "?" } else { ", ?" });
        }
        self.values.extend(values);
        Ok(())
    }

    fn end(mut self) -> (Cow<'t, str>, Vec<Parameter<'a>>) {
        self.copy_to(self.text.len());
        (Cow::Owned(self.out), self.values)
    }
}

/// The parameters `?` and `:name` of a text, in order.
fn find(text: &str) -> Result<Vec<FoundParameter<'_>>> {
    let [first, others @ ..] = SqlSyntax::ALL;
    let found = find_in(first, text);
    let spans = |found: &[FoundParameter<'_>]| -> Vec<Range<usize>> {
        found.iter().map(|parameter| parameter.span.clone()).collect()
    };
    let is_same = |syntax| spans(&find_in(syntax, text)) == spans(&found);
    if others.into_iter().all(is_same) {
        return Ok(found);
    }
    let message = "databases differ in where the strings of this text end: give values by position, not by name or in \
                   lists, or pass the string as a parameter, too";
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn find_in(syntax: SqlSyntax, text: &str) -> Vec<FoundParameter<'_>> {
    let tokens: Vec<_> = SqlTokenizer::new(syntax, text).significant().collect();
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        // A cast of PostgreSQL has two colons.
        let is_cast = text.get(..token.start).is_some_and(|before| before.ends_with(':'));
        let (name, end) = match named(token, tokens.get(place + 1)).filter(|_| !is_cast) {
            Some((name, end)) => (Some(name), end),
            None if token.kind == SqlTokenKind::Parameter && token.text == "?" => {
                (None, token.end())
            }
            None => continue,
        };
        let before = tokens.get(..place).unwrap_or_default();
        let after = tokens.iter().find(|token| token.start >= end);
        found.push(FoundParameter { name, span: token.start..end, list: list(before, after) });
    }
    found
}

/// The name of a parameter, and where it ends. In some syntaxes the colon is an operator.
fn named<'t>(token: &SqlToken<'t>, next: Option<&SqlToken<'t>>) -> Option<(&'t str, usize)> {
    let rest = token.text.strip_prefix(':')?;
    let (name, end) = match rest {
        "" => next.filter(|next| next.start == token.end()).map(|next| (next.text, next.end()))?,
        name => (name, token.end()),
    };
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    is_name.then_some((name, end))
}

/// See [`FoundParameter::list`].
fn list(before: &[SqlToken<'_>], after: Option<&SqlToken<'_>>) -> Option<(usize, bool)> {
    let (open, before) = before.split_last().filter(|(open, _)| open.is_operator("("))?;
    let (_, before) = before.split_last().filter(|(word, _)| word.is_word("in"))?;
    let close = after.filter(|close| close.is_operator(")") && close.start > open.start)?;
    Some((close.end(), before.last().is_some_and(|word| word.is_word("not"))))
}

fn misuse(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Misuse, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn value(number: i64) -> SqlArgument<'static> {
        SqlArgument::Value(number.into())
    }

    fn list_of<const N: usize>(numbers: [i64; N]) -> SqlArgument<'static> {
        SqlArgument::List(numbers.map(Parameter::from).into())
    }

    fn bound(text: &str, arguments: SqlArguments<'static>) -> (String, Vec<i64>) {
        let (text, values) = arguments.bind(text).unwrap();
        let number = |value: Parameter<'_>| match value.value {
            Value::Int(number) => number,
            other => panic!("{other:?}"),
        };
        (text.into_owned(), values.into_iter().map(number).collect())
    }

    fn by_name<const N: usize>(
        values: [(&'static str, SqlArgument<'static>); N],
    ) -> SqlArguments<'static> {
        SqlArguments::Named(values.map(|(name, value)| (name.into(), value)).into())
    }

    #[test]
    fn names_are_found_outside_of_strings_comments_and_casts() {
        let text =
            "SELECT ':a', \":a\", a::text -- :a\n, :b /* :a */ FROM t WHERE x=:a AND y IN(:b,:a)";
        let expected =
            "SELECT ':a', \":a\", a::text -- :a\n, ? /* :a */ FROM t WHERE x=? AND y IN(?,?)";
        let found = bound(text, by_name([("a", value(1)), ("b", value(2))]));
        assert_eq!(found, (expected.to_owned(), vec![2, 1, 2, 1]));
        assert_eq!(SqlArguments::names(text).unwrap(), ["b", "a"]);
    }

    #[test]
    fn lists_are_as_many_parameters() {
        let arguments = SqlArguments::Positional(vec![value(1), list_of([2, 3]), value(4)]);
        let found = bound("a = ? AND b IN ( ? ) AND c = ?", arguments);
        assert_eq!(found, ("a = ? AND b IN ( ?, ? ) AND c = ?".to_owned(), vec![1, 2, 3, 4]));
        let empty = by_name([("none", list_of([]))]);
        let found = bound("a IN (:none) OR b NOT in (:none )", empty);
        let expected = "a IN (NULL) IS TRUE OR b NOT in (NULL ) IS NOT FALSE";
        assert_eq!(found, (expected.to_owned(), vec![]));
    }

    #[test]
    fn values_by_position_leave_the_text_as_it_is() {
        let text = "SELECT '\\' :a ?, $1";
        assert_eq!(bound(text, SqlArguments::of(vec![7.into()])), (text.to_owned(), vec![7]));
    }

    #[test]
    fn what_does_not_fit_is_rejected() {
        let message = |text: &str, arguments: SqlArguments<'_>| {
            arguments.bind(text).unwrap_err().message().to_owned()
        };
        let one = || by_name([("a", value(1))]);
        assert_eq!(
            message("x = :a AND y = ?", one()),
            "the text has a parameter ?, and the values have names: name each in the text"
        );
        assert_eq!(message("x = :b", one()), "the text has no parameter :a");
        assert_eq!(
            message("x = :a AND y = :b", one()),
            "the parameter :b of the text has no value"
        );
        let twice = || by_name([("a", value(1)), ("b", value(2)), ("a", value(3))]);
        assert_eq!(message("x = :a AND y = :b", twice()), "the parameter :a has two values");
        let list = "a list of values stands alone in the parentheses of IN: `IN (?)`";
        assert_eq!(message("x = :a", by_name([("a", list_of([1]))])), list);
        assert_eq!(message("x IN (1, :a)", by_name([("a", list_of([]))])), list);
        let lists = SqlArguments::Positional(vec![list_of([1])]);
        assert_eq!(message("x IN (?) AND y = ?", lists), "1 value was given for 2 parameters");
        assert!(message("x = '\\' OR y = :a --'", one()).contains("databases differ"));
    }
}

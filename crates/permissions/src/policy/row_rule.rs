//! Row rules: conditions that select the rows of a grant. They may refer to the caller.

use bobak_core::{
    Collation, ColumnSchema, Comparison, Condition, Error, ErrorKind, Result, Storage, TableSchema,
    Type, Value,
};

/// The condition of a grant, as [`Condition::parse_with`] parses it, with the caller's variables as
/// `:user` and so on. It is kept as text, because the columns are known only with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowRule {
    text: String,
    /// For the log.
    role: Option<String>,
}

/// The caller's variables, by name.
pub(crate) type Variables = [(String, Value<'static>)];

impl RowRule {
    /// Checks a rule without a table.
    ///
    /// # Errors
    /// `Config` if it is invalid for any table.
    pub fn new(text: &str) -> Result<Self> {
        // Parses it over a table that gains each column that the text names.
        let mut columns = vec![("key".to_owned(), Type::Any)];
        loop {
            let mut table = TableSchema::builder("rule");
            for (name, ty) in &columns {
                table = table.column(ColumnSchema::new(name.clone(), *ty));
            }
            let table = table.key(["key"]).build()?;
            let error = match Condition::parse_with(text, &table, &|_| Some(Value::from(""))) {
                Ok(_) => return Ok(Self { text: text.to_owned(), role: None }),
                Err(error) => error,
            };
            let known = |wanted: &str| columns.iter().position(|(name, _)| name == wanted);
            match (unknown_column(&error), error.column().and_then(known)) {
                (Some(name), _) if known(&name).is_none() => columns.push((name, Type::Any)),
                // A column by itself is a truth value.
                (_, Some(at))
                    if error.kind() == ErrorKind::Syntax
                        && columns.get(at).is_some_and(|(_, ty)| *ty == Type::Any) =>
                {
                    columns.get_mut(at).into_iter().for_each(|(_, ty)| *ty = Type::Bool);
                }
                _ => {
                    let message = format!("invalid row rule `{text}`: {}", error.message());
                    return Err(Error::new(ErrorKind::Config, message));
                }
            }
        }
    }

    /// The rule as one of a role.
    pub fn of_role(self, role: &str) -> Self {
        Self { role: Some(role.to_owned()), ..self }
    }

    /// The rule as a condition over a table, for a caller.
    ///
    /// # Errors
    /// `Denied` if it names a column that the table lacks or a variable that the caller lacks, or
    /// compares values of different types. Then the grant allows nothing. The source, which is for the log, says which rule
    /// it is and what is wrong.
    pub fn bind(&self, table: &TableSchema, variables: &Variables) -> Result<Condition> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| value.clone())
        };
        let rule = Condition::parse_with(&self.text, table, &variable);
        rule.map(|rule| of_equal_bytes(rule, table)).map_err(|error| {
            let role =
                self.role.as_ref().map_or_else(String::new, |role| format!(" of the role {role}"));
            let cause = format!("the row rule `{}`{role}: {}", self.text, error.message());
            let message = "a row rule cannot be applied to this table";
            let denied = Error::new(ErrorKind::Denied, message).in_table(table.name());
            denied.with_source(Error::new(error.kind(), cause))
        })
    }

    /// Checks that a table has the columns that the rule names.
    ///
    /// # Errors
    /// `Config` with the first one that it lacks.
    pub fn check_columns(&self, table: &TableSchema) -> Result<()> {
        // Which type the variables have is not known: a wrong one hides the columns behind it.
        let values = [Value::from(""), Value::Int(0)];
        let errors = values.into_iter().filter_map(|value| {
            Condition::parse_with(&self.text, table, &|_| Some(value.clone())).err()
        });
        match errors.filter_map(|error| unknown_column(&error)).next() {
            Some(column) => {
                let message = format!("the row rule `{}` names the column '{column}'", self.text);
                let message = format!("{message}, which '{}' does not have", table.name());
                Err(Error::new(ErrorKind::Config, message))
            }
            None => Ok(()),
        }
    }

    /// Adds the positions of the columns that a bound rule reads.
    pub fn columns_of(condition: &Condition, table: &TableSchema, found: &mut Vec<usize>) {
        match condition {
            Condition::Compare { column, .. }
            | Condition::In { column, .. }
            | Condition::Like { column, .. }
            | Condition::LikeEscape { column, .. }
            | Condition::Contains { column, .. }
            | Condition::EndsWith { column, .. }
            | Condition::StartsWith { column, .. }
            | Condition::IsNull { column } => found.push(*column),
            Condition::CompareColumns { left, right, .. } => found.extend([*left, *right]),
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| Self::columns_of(part, table, found));
            }
            Condition::Not(part) => Self::columns_of(part, table, found),
            // A kind of condition that was added later may read any column.
            _ => found.extend(0..table.columns().len()),
        }
    }
}

/// The rule for a database whose own collations may take other texts for equal: `Ada` for `ada` on MariaDB, or a text with blanks
/// at its end. Texts that are equal also begin and end with the same bytes, and the comparison still finds them by an index.
/// Texts that are less or greater, and columns that are compared with each other, remain the database's.
fn of_equal_bytes(rule: Condition, table: &TableSchema) -> Condition {
    let all = |parts: Vec<Condition>| {
        parts.into_iter().map(|part| of_equal_bytes(part, table)).collect::<Vec<_>>()
    };
    let equal = |column, value: Value<'static>| Condition::Compare {
        column,
        comparison: Comparison::Equal,
        value,
    };
    match rule {
        Condition::And(parts) => Condition::And(all(parts)),
        Condition::Or(parts) => Condition::Or(all(parts)),
        Condition::Not(part) => Condition::Not(Box::new(of_equal_bytes(*part, table))),
        Condition::Compare { column, comparison: Comparison::Equal, value: Value::Text(text) }
            if is_binary(table, column) =>
        {
            let value = || text.to_string();
            Condition::And(vec![
                Condition::StartsWith { column, prefix: value() },
                Condition::EndsWith { column, suffix: value() },
                equal(column, Value::Text(text.clone())),
            ])
        }
        Condition::Compare {
            column,
            comparison: Comparison::NotEqual,
            value: Value::Text(text),
        } if is_binary(table, column) => {
            let equal = equal(column, Value::Text(text));
            Condition::Not(Box::new(of_equal_bytes(equal, table)))
        }
        Condition::In { column, values } if is_binary(table, column) => {
            Condition::Or(all(values.into_iter().map(|value| equal(column, value)).collect()))
        }
        other => other,
    }
}

/// Whether the texts of a column compare by their bytes.
fn is_binary(table: &TableSchema, column: usize) -> bool {
    let column = table.columns().get(column);
    column.is_some_and(|column| {
        column.storage == Storage::Text && column.collation == Collation::Binary
    })
}

/// The column that a text names and the table lacks.
fn unknown_column(error: &Error) -> Option<String> {
    let rest = error.message().strip_prefix("there is no column '")?;
    // A name on the right side is followed by a hint.
    let name = rest.split_once("': ").map(|(name, _)| name).or_else(|| rest.strip_suffix('\''))?;
    (error.kind() == ErrorKind::Schema).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_selects_rows() {
        let table = TableSchema::builder("t")
            .column(ColumnSchema::of::<String>("owner"))
            .column(ColumnSchema::of::<Option<i64>>("size"))
            .column(ColumnSchema::of::<bool>("active"))
            .key(["owner"])
            .build()
            .unwrap();
        let variables = [("user".to_owned(), Value::from("ada")), ("tenant".into(), Value::Int(7))];
        let selects = |text: &str| {
            let condition = RowRule::new(text).unwrap().bind(&table, &variables).unwrap();
            let row = |owner: &'static str, size: Option<i64>| {
                let active = Value::from(size.is_some());
                let values = [Value::from(owner), size.map_or(Value::Null, Value::Int), active];
                condition.evaluate(&table, &&values[..]) == Some(true)
            };
            (row("ada", Some(7)), row("bob", None))
        };
        for (text, expected) in [
            ("owner = :user", (true, false)),
            ("not owner = :user and size is null", (false, true)),
            ("size in (6, :tenant)", (true, false)),
            ("\"owner\" = 'bob' or size <= :tenant", (true, true)),
            ("active", (true, false)),
            ("not (active or owner = 'eve')", (false, true)),
            ("size = 7 and active and active = true", (true, false)),
        ] {
            assert_eq!(selects(text), expected, "{text}");
        }
        for text in
            ["nosuch = 1", "nosuch", "size", "owner = :group", "size = 'seven'", "size = :user"]
        {
            let bound = RowRule::new(text).unwrap().bind(&table, &variables);
            assert_eq!(bound.unwrap_err().kind(), ErrorKind::Denied, "{text}");
        }
        for text in ["nosuch = 1", "owner = nosuch"] {
            let rule = RowRule::new(text).unwrap().of_role("clerk");
            let error = rule.bind(&table, &variables).unwrap_err();
            assert!(!error.to_string().contains("nosuch"), "{error}");
            let cause = std::error::Error::source(&error).unwrap().to_string();
            let begin =
                format!("the row rule `{text}` of the role clerk: there is no column 'nosuch'");
            assert!(cause.starts_with(&begin), "{cause}");
        }
        for text in ["", "owner =", "owner 1", "(size = 1", "size not 1", ":user = 'ada'"] {
            assert_eq!(RowRule::new(text).unwrap_err().kind(), ErrorKind::Config, "{text}");
        }
    }
}

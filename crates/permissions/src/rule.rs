//! Row rules: conditions over a table that is not known yet, which may name the caller.

use bobak_core::{ColumnSchema, Condition, Error, ErrorKind, Result, TableSchema, Type, Value};

/// Which rows a grant is about: a text as [`Condition::parse_with`] reads it, with the caller's
/// variables as `:user` and others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule(String);

/// The caller's variables, by name.
pub(crate) type Variables = [(String, Value<'static>)];

impl Rule {
    /// Takes a rule, whose columns are not known yet.
    ///
    /// # Errors
    /// `Config` where it can't be a rule whatever the table.
    pub fn new(text: &str) -> Result<Self> {
        // Over a table that has every column that the text asks for.
        let mut columns = vec!["key".to_owned()];
        loop {
            let mut table = TableSchema::builder("rule");
            for name in &columns {
                table = table.column(ColumnSchema::new(name.clone(), Type::Any));
            }
            let table = table.key(["key"]).build()?;
            let error = match Condition::parse_with(text, &table, &|_| Some(Value::from(""))) {
                Ok(_) => return Ok(Self(text.to_owned())),
                Err(error) => error,
            };
            match missing_column(&error) {
                Some(name) if !columns.contains(&name) => columns.push(name),
                _ => {
                    let message = format!("the rule `{text}`: {}", error.message());
                    return Err(Error::new(ErrorKind::Config, message));
                }
            }
        }
    }

    /// The rule as a condition over a table, for a caller.
    ///
    /// # Errors
    /// `Denied` where it names a column that the table has not, or a variable that the caller has
    /// not, or compares what can't be compared: nothing is allowed then.
    pub fn bind(&self, table: &TableSchema, variables: &Variables) -> Result<Condition> {
        let named = |name: &str| {
            let found = variables.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| value.clone())
        };
        Condition::parse_with(&self.0, table, &named).map_err(|error| {
            let message = "a rule about its rows can't be kept with this table";
            Error::new(ErrorKind::Denied, message).in_table(table.name()).with_source(error)
        })
    }
}

impl Rule {
    /// The places of the columns that a bound rule looks at.
    pub fn columns_of(condition: &Condition, table: &TableSchema, found: &mut Vec<usize>) {
        match condition {
            Condition::Compare { column, .. }
            | Condition::In { column, .. }
            | Condition::Like { column, .. }
            | Condition::StartsWith { column, .. }
            | Condition::IsNull { column } => found.push(*column),
            Condition::CompareColumns { left, right, .. } => found.extend([*left, *right]),
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| Self::columns_of(part, table, found));
            }
            Condition::Not(part) => Self::columns_of(part, table, found),
            // A condition that came later may look at any.
            _ => found.extend(0..table.columns().len()),
        }
    }
}

/// The column that a text names and a table has not.
fn missing_column(error: &Error) -> Option<String> {
    let name = error.message().strip_prefix("there is no column '")?.strip_suffix('\'')?;
    (error.kind() == ErrorKind::Schema).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_keep_the_rows_that_they_say() {
        let table = TableSchema::builder("t")
            .column(ColumnSchema::of::<String>("owner"))
            .column(ColumnSchema::of::<Option<i64>>("size"))
            .key(["owner"])
            .build()
            .unwrap();
        let variables = [("user".to_owned(), Value::from("ada")), ("tenant".into(), Value::Int(7))];
        let keeps = |text: &str| {
            let condition = Rule::new(text).unwrap().bind(&table, &variables).unwrap();
            let row = |owner: &'static str, size: Option<i64>| {
                let values = [Value::from(owner), size.map_or(Value::Null, Value::Int)];
                condition.evaluate(&table, &&values[..]) == Some(true)
            };
            (row("ada", Some(7)), row("bob", None))
        };
        for (text, expected) in [
            ("owner = :user", (true, false)),
            ("not owner = :user and size is null", (false, true)),
            ("size in (6, :tenant)", (true, false)),
            ("\"owner\" = 'bob' or size <= :tenant", (true, true)),
        ] {
            assert_eq!(keeps(text), expected, "{text}");
        }
        for text in ["nosuch = 1", "owner = :group", "size = 'seven'", "size = :user"] {
            let bound = Rule::new(text).unwrap().bind(&table, &variables);
            assert_eq!(bound.unwrap_err().kind(), ErrorKind::Denied, "{text}");
        }
        for text in ["", "owner =", "owner 1", "(size = 1", "size not 1", ":user = 'ada'"] {
            assert_eq!(Rule::new(text).unwrap_err().kind(), ErrorKind::Config, "{text}");
        }
    }
}

use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use bobak_core::{Result, Type};
use bobak_sql_typing::{Analysis, Relation, Relations, TableColumn, analyze};

/// Two tables with units, one without, and a view in stored units.
pub struct Shop;

impl Relations for Shop {
    fn relation(&self, _: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let column = |(name, ty): &(&str, Option<Type>)| TableColumn {
            name: (*name).to_owned(),
            ty: *ty,
            hidden: false,
            generated: false,
        };
        let table = |columns: &[(&str, Option<Type>)]| {
            Relation::Table(columns.iter().map(column).collect())
        };
        Ok(Some(match name.to_ascii_lowercase().as_str() {
            "orders" => table(&[
                ("id", Some(Type::I64)),
                ("total", Some(Type::Currency)),
                ("placed", Some(Type::Timestamp)),
                ("due", Some(Type::Date)),
                ("opens", Some(Type::Time)),
                ("local", Some(Type::DateTime)),
                ("token", Some(Type::Uuid)),
                ("note", Some(Type::Text)),
                ("quantity", Some(Type::I32)),
                ("paid", Some(Type::Bool)),
            ]),
            "items" => table(&[
                ("id", Some(Type::I64)),
                ("order_id", Some(Type::I64)),
                ("price", Some(Type::Currency)),
                ("weight", Some(Type::F64)),
            ]),
            "measures" => table(&[
                ("id", Some(Type::I64)),
                ("weight", Some(Type::F64)),
                ("digits", Some(Type::Decimal)),
            ]),
            "plain" => table(&[("id", Some(Type::I64)), ("a", Some(Type::Any)), ("b", None)]),
            "sales" => {
                let text = "CREATE VIEW sales AS SELECT placed AS at, sum(total) AS amount, \
                            bobak_times(total, 2) AS twice, total / 10000.0 AS units FROM orders";
                let names = ["at", "amount", "twice", "units"].map(str::to_owned);
                Relation::View(names.into(), text.to_owned())
            }
            _ => return Ok(None),
        }))
    }
}

/// The analysis of a statement, whose first parameters have these types.
pub fn analyzed(sql: &str, parameters: &[Option<Type>]) -> Analysis {
    analyze(sql, &Shop, parameters).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Checks what SQLite receives, regardless of spaces and of upper and lower case; nothing after the arrow
/// means the same text.
pub fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(sql, wanted)| (sql, analyzed(sql, &[]).sql.unwrap_or_default(), wanted))
        .filter(|(_, got, wanted)| tokens(got) != tokens(wanted))
        .collect();
    assert!(wrong.is_empty(), "statement, what it becomes, what it should become: {wrong:#?}");
}

fn tokens(sql: &str) -> Vec<String> {
    let tokens = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant();
    let text = |token: SqlToken<'_>| match token.kind {
        SqlTokenKind::Word => token.text.to_ascii_lowercase(),
        _ => token.text.to_owned(),
    };
    tokens.map(text).collect()
}

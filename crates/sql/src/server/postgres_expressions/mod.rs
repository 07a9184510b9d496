//! Defaults and CHECKs of tables that other programs created, from PostgreSQL's spelling to Bobak's.
//!
//! PostgreSQL writes a stored expression with parentheses around each operation, and with casts that say
//! the type of each literal: `CHECK (((n >= 0) AND ((status)::text = ANY (ARRAY['a'::text]))))`. Whatever
//! could mean something else in Bobak is rejected: the order and the patterns of texts, which follow
//! collations, functions of letters, and casts that change values.

#[cfg(test)]
mod tests;

use bobak_core::check::CheckExpression;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer, number};
use bobak_core::{ColumnSchema, Currency, TableSchema, Type, Value, stored_literal};

/// A column and its type as `format_type` writes it; the base type of a domain.
#[derive(Clone, Copy)]
pub(super) struct PostgresColumn<'a> {
    pub schema: &'a ColumnSchema,
    pub sql_type: &'a str,
}

/// The text of a CHECK with the record's own values, from what `pg_get_constraintdef` writes; `None` for
/// one that Bobak cannot express.
pub(super) fn check(
    definition: &str,
    table: &TableSchema,
    columns: &[PostgresColumn<'_>],
) -> Option<CheckExpression> {
    let mut reader = Reader::new(definition, columns);
    reader.expect_word("CHECK")?;
    let condition = reader.in_parentheses(Reader::expression)?;
    // NOT VALID and NO INHERIT are more than the expression.
    (reader.is_at_end() && condition.kind == OperandKind::Truth).then_some(())?;
    CheckExpression::parse(&condition.sql, table).ok()
}

/// The stored value of a constant default, from what `pg_get_expr` writes; `None` for any other
/// expression.
pub(super) fn default(expression: &str, column: PostgresColumn<'_>) -> Option<Value<'static>> {
    let mut reader = Reader::new(expression, &[]);
    let literal = reader.operand()?;
    (reader.is_at_end() && literal.is_literal).then_some(())?;
    let (ty, text) = (column.schema.ty, literal.sql.as_str());
    let unquoted = || Some(text.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'"));
    let value = match (&literal.kind, kind(column)) {
        (OperandKind::Truth, Some(OperandKind::Truth)) => Value::Int(i64::from(text == "TRUE")),
        (OperandKind::Integer | OperandKind::Numeric, Some(OperandKind::Numeric)) => {
            let scale = column.sql_type.trim_end_matches(')').rsplit(',').next()?.trim();
            let scale = scale.parse().unwrap_or(0);
            let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            (decimals <= scale).then_some(())?;
            Value::Int(text.parse::<Currency>().ok()?.scaled())
        }
        (OperandKind::Integer, Some(OperandKind::Integer | OperandKind::Float))
        | (OperandKind::Numeric | OperandKind::Float, Some(OperandKind::Float)) => number(text)?,
        (OperandKind::Text, Some(OperandKind::Text)) => unquoted()?.into(),
        (OperandKind::Bytes, Some(OperandKind::Bytes)) => {
            SqlTokenizer::new(SqlSyntax::Sqlite, text).next()?.bytes()?.into()
        }
        (OperandKind::Uuid, Some(OperandKind::Uuid)) => stored_literal(ty, &unquoted()?).ok()?,
        (OperandKind::Moment(a), Some(OperandKind::Moment(b))) if *a == b => {
            stored_literal(ty, &unquoted()?).ok()?
        }
        // The server writes a constant as it writes the column's values.
        (OperandKind::Other(sql_type), None) if *sql_type == column.sql_type => unquoted()?.into(),
        _ => return None,
    };
    column.schema.accept(value).ok()
}

/// What an expression is a value of.
#[derive(Clone, Debug, PartialEq)]
enum OperandKind {
    Truth,
    Integer,
    /// An exact number: money, and literals with decimals.
    Numeric,
    Float,
    Text,
    Bytes,
    Uuid,
    Moment(Type),
    /// A literal of another type, by its name.
    Other(String),
    /// A string before its cast.
    Quoted,
}

/// The kind of a column whose values mean the same in Bobak.
fn kind(column: PostgresColumn<'_>) -> Option<OperandKind> {
    let name = column.sql_type.split('(').next().unwrap_or_default();
    Some(match (name, column.schema.ty) {
        ("boolean", _) => OperandKind::Truth,
        ("smallint" | "integer" | "bigint", _) => OperandKind::Integer,
        ("real" | "double precision", _) => OperandKind::Float,
        ("numeric", Type::Currency) => OperandKind::Numeric,
        ("text" | "character varying", _) => OperandKind::Text,
        ("bytea", _) => OperandKind::Bytes,
        ("uuid", _) => OperandKind::Uuid,
        (_, ty @ (Type::Date | Type::Time | Type::DateTime | Type::Timestamp)) => {
            OperandKind::Moment(ty)
        }
        _ => return None,
    })
}

/// An expression in Bobak's spelling.
struct Operand {
    sql: String,
    kind: OperandKind,
    is_literal: bool,
    /// The type of a column; empty for anything else.
    sql_type: String,
}

fn computed(sql: String, kind: OperandKind) -> Operand {
    Operand { sql, kind, is_literal: false, sql_type: String::new() }
}

fn literal(sql: impl Into<String>, kind: OperandKind) -> Operand {
    Operand { sql: sql.into(), kind, is_literal: true, sql_type: String::new() }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Reads expressions from tokens.
struct Reader<'a> {
    /// The tokens that have not been read, the last one first.
    tokens: Vec<SqlToken<'a>>,
    columns: &'a [PostgresColumn<'a>],
    depth: usize,
}

/// The deepest nesting of parentheses.
const MAX_DEPTH: usize = 60;

impl<'a> Reader<'a> {
    fn new(text: &'a str, columns: &'a [PostgresColumn<'a>]) -> Self {
        let mut tokens: Vec<_> =
            SqlTokenizer::new(SqlSyntax::Postgres, text).significant().collect();
        tokens.reverse();
        Self { tokens, columns, depth: 0 }
    }

    const fn is_at_end(&self) -> bool {
        self.tokens.is_empty()
    }

    fn operator(&mut self, operator: &str) -> bool {
        self.skip_if(|token| token.is_operator(operator))
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip_if(|token| token.is_word(word))
    }

    fn skip_if(&mut self, is_wanted: impl Fn(&SqlToken<'_>) -> bool) -> bool {
        self.tokens.pop_if(|token| is_wanted(token)).is_some()
    }

    fn expect(&mut self, operator: &str) -> Option<()> {
        self.operator(operator).then_some(())
    }

    fn expect_word(&mut self, word: &str) -> Option<()> {
        self.word(word).then_some(())
    }

    fn in_parentheses<T>(&mut self, content: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        self.expect("(")?;
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())?;
        let content = content(self)?;
        self.depth -= 1;
        self.expect(")").map(|()| content)
    }

    /// One operation over operands in parentheses: operators of two kinds never follow each other.
    fn expression(&mut self) -> Option<Operand> {
        if self.word("NOT") {
            let inner = self.operand().filter(|inner| inner.kind == OperandKind::Truth)?;
            return Some(computed(format!("NOT ({})", inner.sql), OperandKind::Truth));
        }
        let left = self.operand()?;
        let next = self.tokens.last().copied();
        let is = |text: &str| next.is_some_and(|t| t.is_word(text) || t.is_operator(text));
        match () {
            () if is("AND") => self.logical(left, "AND"),
            () if is("OR") => self.logical(left, "OR"),
            () if self.word("IS") => self.test(left),
            () if is("!") || is("~") => self.pattern(left),
            () if is("+") || is("-") || is("*") || is("/") || is("%") => self.arithmetic(left),
            () if ["=", "<>", "<", "<=", ">", ">="].into_iter().any(is) => self.comparison(left),
            () => Some(left),
        }
    }

    fn logical(&mut self, first: Operand, word: &str) -> Option<Operand> {
        let mut parts = vec![first];
        while self.word(word) {
            parts.push(self.operand()?);
        }
        parts.iter().all(|part| part.kind == OperandKind::Truth).then_some(())?;
        let parts: Vec<String> = parts.iter().map(|part| format!("({})", part.sql)).collect();
        Some(computed(parts.join(&format!(" {word} ")), OperandKind::Truth))
    }

    /// What follows IS.
    fn test(&mut self, left: Operand) -> Option<Operand> {
        let not = if self.word("NOT") { "NOT " } else { "" };
        if self.word("NULL") {
            return Some(computed(format!("({}) IS {not}NULL", left.sql), OperandKind::Truth));
        }
        self.expect_word("DISTINCT")?;
        self.expect_word("FROM")?;
        let right = self.operand()?;
        is_comparable("=", &left, &right).then_some(())?;
        let not = if not.is_empty() { "NOT " } else { "" };
        Some(computed(format!("({}) IS {not}({})", left.sql, right.sql), OperandKind::Truth))
    }

    /// `~~`, which is LIKE with letters of one case: a pattern without letters is the same in Bobak.
    fn pattern(&mut self, left: Operand) -> Option<Operand> {
        let not = if self.operator("!") { "NOT " } else { "" };
        self.expect("~")?;
        self.expect("~")?;
        let right = self.operand()?;
        let is_same = (&left.kind, &right.kind) == (&OperandKind::Text, &OperandKind::Text)
            && right.is_literal
            && !right.sql.contains(|c: char| c.is_alphabetic() || c == '\\');
        is_same.then(|| {
            computed(format!("({}) {not}LIKE {}", left.sql, right.sql), OperandKind::Truth)
        })
    }

    fn comparison(&mut self, left: Operand) -> Option<Operand> {
        let operator = self.tokens.pop()?.text;
        let list = match operator {
            "=" if self.word("ANY") => "IN",
            "<>" if self.word("ALL") => "NOT IN",
            _ => {
                let right = self.operand()?;
                is_comparable(operator, &left, &right).then_some(())?;
                let sql = format!("({}) {operator} ({})", left.sql, right.sql);
                return Some(computed(sql, OperandKind::Truth));
            }
        };
        let values = self.in_parentheses(Self::array)?;
        values.iter().all(|value| is_comparable("=", &left, value)).then_some(())?;
        let values: Vec<String> = values.into_iter().map(|value| value.sql).collect();
        Some(computed(format!("({}) {list} ({})", left.sql, values.join(", ")), OperandKind::Truth))
    }

    /// `ARRAY[…]`, perhaps in parentheses and with a cast.
    fn array(&mut self) -> Option<Vec<Operand>> {
        let mut values = Vec::new();
        if self.word("ARRAY") {
            self.expect("[")?;
            loop {
                values.push(self.operand().filter(|value| value.is_literal)?);
                if !self.operator(",") {
                    break;
                }
            }
            self.expect("]")?;
        } else {
            values = self.in_parentheses(Self::array)?;
        }
        while self.operator("::") {
            let name = self.type_name()?;
            let name = name.strip_suffix("[]")?;
            values = values.into_iter().map(|v| cast(v, name)).collect::<Option<_>>()?;
        }
        Some(values)
    }

    /// Sums and products of whole numbers, and sums of money. By 0 PostgreSQL does not divide.
    fn arithmetic(&mut self, left: Operand) -> Option<Operand> {
        let operator = self.tokens.pop()?.text;
        let right = self.operand()?;
        let is_zero = right.sql.bytes().all(|byte| byte == b'0');
        let kind = match (operator, &left.kind, &right.kind) {
            ("/" | "%", OperandKind::Integer, OperandKind::Integer)
                if right.is_literal && !is_zero =>
            {
                OperandKind::Integer
            }
            ("+" | "-" | "*", OperandKind::Integer, OperandKind::Integer) => OperandKind::Integer,
            (
                "+" | "-",
                OperandKind::Integer | OperandKind::Numeric,
                OperandKind::Integer | OperandKind::Numeric,
            )
            | ("*", OperandKind::Integer, OperandKind::Numeric)
            | ("*", OperandKind::Numeric, OperandKind::Integer) => OperandKind::Numeric,
            _ => return None,
        };
        Some(computed(format!("({}) {operator} ({})", left.sql, right.sql), kind))
    }

    /// A literal, a column, a call, or an expression in parentheses; with its casts.
    fn operand(&mut self) -> Option<Operand> {
        let token = self.tokens.last().copied().filter(|token| token.is_terminated)?;
        let mut operand = match token.kind {
            SqlTokenKind::Operator => self.in_parentheses(Self::expression)?,
            SqlTokenKind::Number => {
                self.tokens.pop();
                numeric(token.text)?
            }
            SqlTokenKind::Text => {
                self.tokens.pop();
                let text = token.unquoted();
                let escaped = token.text.starts_with(['e', 'E']);
                let text = if escaped { text.replace("\\\\", "\\") } else { text.into_owned() };
                literal(text, OperandKind::Quoted)
            }
            _ => self.named()?,
        };
        while self.operator("::") {
            let name = self.type_name()?;
            operand = cast(operand, &name)?;
        }
        (operand.kind != OperandKind::Quoted).then_some(operand)
    }

    /// A truth value, a call, or a column.
    fn named(&mut self) -> Option<Operand> {
        let token = self.tokens.pop()?;
        if token.is_word("TRUE") || token.is_word("FALSE") {
            return Some(literal(token.text.to_ascii_uppercase(), OperandKind::Truth));
        }
        let name = token.name()?;
        if token.kind == SqlTokenKind::Word
            && self.tokens.last().is_some_and(|token| token.is_operator("("))
        {
            return self.call(token.text);
        }
        let column = self.columns.iter().find(|column| column.schema.name == name)?;
        let sql = format!("\"{}\"", name.replace('"', "\"\""));
        let sql_type = column.sql_type.to_owned();
        Some(Operand { sql, kind: kind(*column)?, is_literal: false, sql_type })
    }

    fn call(&mut self, name: &str) -> Option<Operand> {
        let arguments = self.in_parentheses(|reader| {
            let mut arguments = vec![reader.expression()?];
            while reader.operator(",") {
                arguments.push(reader.expression()?);
            }
            Some(arguments)
        })?;
        let [first, rest @ ..] = &arguments[..] else { return None };
        let (name, kind) = match (name.to_ascii_lowercase().as_str(), &first.kind, rest) {
            ("length" | "char_length" | "character_length", OperandKind::Text, [])
            | ("length" | "octet_length", OperandKind::Bytes, []) => {
                ("length", OperandKind::Integer)
            }
            ("abs", OperandKind::Integer | OperandKind::Numeric | OperandKind::Float, []) => {
                ("abs", first.kind.clone())
            }
            ("btrim", OperandKind::Text, []) => ("trim", OperandKind::Text),
            ("coalesce", _, [_, ..]) if rest.iter().all(|other| other.kind == first.kind) => {
                ("coalesce", first.kind.clone())
            }
            _ => return None,
        };
        let arguments: Vec<&str> = arguments.iter().map(|argument| argument.sql.as_str()).collect();
        Some(computed(format!("{name}({})", arguments.join(", ")), kind))
    }

    /// The name of a type after `::`, as `format_type` writes it.
    fn type_name(&mut self) -> Option<String> {
        let mut name = self.tokens.pop().filter(|token| token.name().is_some())?.text.to_owned();
        while self.operator(".") {
            name = format!("{name}.{}", self.tokens.pop()?.text);
        }
        for word in ["precision", "varying"] {
            if matches!(&*name, "double" | "character" | "bit") && self.word(word) {
                name = format!("{name} {word}");
            }
        }
        if self.operator("(") {
            name.push('(');
            while let Some(token) = self.tokens.pop() {
                name.push_str(token.text);
                if token.is_operator(")") {
                    break;
                }
            }
        }
        for zone in ["with", "without"] {
            if name.starts_with("time") && self.word(zone) {
                self.expect_word("time")?;
                self.expect_word("zone")?;
                name = format!("{name} {zone} time zone");
            }
        }
        while self.operator("[") {
            self.expect("]")?;
            name.push_str("[]");
        }
        Some(name)
    }
}

/// A number as written, with its sign.
fn numeric(text: &str) -> Option<Operand> {
    let is_whole = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    match number(text)? {
        Value::Int(_) => Some(literal(text, OperandKind::Integer)),
        // An integer of more than 64 bits would be rounded.
        _ if is_whole => None,
        _ => Some(literal(text, OperandKind::Numeric)),
    }
}

/// Whether a comparison of both has the same result in Bobak.
fn is_comparable(operator: &str, left: &Operand, right: &Operand) -> bool {
    match (&left.kind, &right.kind) {
        (
            OperandKind::Integer | OperandKind::Numeric,
            OperandKind::Integer | OperandKind::Numeric,
        ) => true,
        (OperandKind::Text, OperandKind::Text) => matches!(operator, "=" | "<>"),
        (OperandKind::Quoted | OperandKind::Other(_), _) => false,
        (left, right) => left == right,
    }
}

/// An operand after a cast that changes no value.
fn cast(operand: Operand, sql_type: &str) -> Option<Operand> {
    if operand.kind == OperandKind::Quoted {
        return cast_quoted(&operand.sql, sql_type);
    }
    let kind = match (&operand.kind, sql_type) {
        (OperandKind::Text, "text" | "character varying") => OperandKind::Text,
        (OperandKind::Integer, "bigint") => OperandKind::Integer,
        (OperandKind::Integer, "smallint" | "integer") if operand.is_literal => {
            OperandKind::Integer
        }
        (OperandKind::Integer | OperandKind::Numeric, "numeric") => OperandKind::Numeric,
        (OperandKind::Integer | OperandKind::Numeric, "double precision") if operand.is_literal => {
            OperandKind::Float
        }
        (OperandKind::Integer, "double precision") if operand.sql_type != "bigint" => {
            OperandKind::Float
        }
        (OperandKind::Float, "double precision") => OperandKind::Float,
        // Of a domain.
        (kind, name) if !name.is_empty() && *name == operand.sql_type => kind.clone(),
        _ => return None,
    };
    Some(Operand { kind, ..operand })
}

/// A string as a literal of a type.
fn cast_quoted(text: &str, sql_type: &str) -> Option<Operand> {
    let moment = |ty: Type| {
        stored_literal(ty, text).ok()?;
        Some(literal(quote(text), OperandKind::Moment(ty)))
    };
    let name = sql_type.split('(').next().unwrap_or_default();
    match name {
        "text" | "character varying" if name == sql_type => {
            Some(literal(quote(text), OperandKind::Text))
        }
        "smallint" | "integer" | "bigint" => {
            numeric(text).filter(|n| n.kind == OperandKind::Integer)
        }
        "numeric" if name == sql_type => {
            let number = numeric(text)?;
            Some(literal(number.sql, OperandKind::Numeric))
        }
        "double precision" => {
            number(text)?;
            Some(literal(text, OperandKind::Float))
        }
        "real" => {
            let float = text.parse::<f32>().ok().filter(|float| float.is_finite())?;
            Some(literal(f64::from(float).to_string(), OperandKind::Float))
        }
        "uuid" => Some(literal(quote(text), OperandKind::Uuid)),
        "bytea" => Some(literal(format!("x'{}'", text.strip_prefix("\\x")?), OperandKind::Bytes)),
        "date" => moment(Type::Date),
        "time without time zone" => moment(Type::Time),
        "timestamp without time zone" => moment(Type::DateTime),
        // In another session's zone, the text without an offset would be another instant.
        "timestamp with time zone" if text.get(19..)?.contains(['+', '-']) => {
            moment(Type::Timestamp)
        }
        _ => Some(literal(quote(text), OperandKind::Other(sql_type.to_owned()))),
    }
}

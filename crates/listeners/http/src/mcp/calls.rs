//! A call of a tool as a request of the HTTP API.

use super::arguments;
use super::message::RpcError;
use super::tools::{self, ToolAccess};
use crate::problem::Problem;
use crate::route::Resource;
use bobak_core::{Error, ErrorKind};
use bytes::Bytes;
use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// How many rows a tool returns, unless the call says otherwise.
pub(super) const DEFAULT_ROWS: u64 = 100;
/// The most rows that a tool returns: a language model reads them.
pub(super) const MAX_ROWS: u64 = 1_000;

/// The request that a call becomes.
#[derive(Debug)]
pub(super) struct ToolRequest {
    pub resource: Resource,
    pub method: Method,
    pub query: String,
    pub media_type: &'static str,
    pub body: Bytes,
    /// Whether to keep only the names of the tables and columns.
    pub summarizes: bool,
}

/// Why a call is no request.
#[derive(Debug)]
pub(super) enum ToolCallError {
    /// It is no call of a tool that there is.
    Protocol(RpcError),
    /// The arguments are wrong: the language model may correct them.
    Arguments(Problem),
}

/// The parameters of `tools/call`.
#[derive(Deserialize)]
struct CallParameters {
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableName {
    table: String,
}

/// Columns as an array, or as a list in a text: `name,city`.
#[derive(Deserialize)]
#[serde(untagged)]
enum NameList {
    Names(Vec<String>),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsQuery {
    table: String,
    search: Option<String>,
    filter: Option<String>,
    columns: Option<NameList>,
    order: Option<String>,
    limit: Option<u64>,
    offset: Option<u64>,
    after: Option<String>,
    expand: Option<String>,
    nearest: Option<String>,
    to: Option<Box<RawValue>>,
    metric: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AggregateQuery {
    table: String,
    values: String,
    group: Option<NameList>,
    search: Option<String>,
    filter: Option<String>,
    order: Option<String>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqlCall {
    sql: String,
    parameters: Option<Box<RawValue>>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InsertCall {
    table: String,
    rows: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateCall {
    table: String,
    filter: String,
    values: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteCall {
    table: String,
    filter: String,
}

impl ToolRequest {
    /// The request of the parameters of `tools/call`.
    ///
    /// # Errors
    /// For a tool that the client does not have, and for wrong arguments.
    pub fn of(parameters: Option<&RawValue>, access: ToolAccess) -> Result<Self, ToolCallError> {
        let call: CallParameters = serde_json::from_str(parameters.map_or("{}", RawValue::get))
            .map_err(|error| protocol_error(format!("tools/call: {error}")))?;
        let (name, arguments) = (call.name.as_str(), call.arguments.as_deref());
        if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(protocol_error(format!("{name}: the arguments must be an object")));
        }
        match name {
            "list_tables" => parse(name, arguments).map(Self::list_tables),
            "describe_table" => parse(name, arguments).map(Self::describe_table),
            "query_rows" => parse(name, arguments).map(Self::query_rows),
            "aggregate_rows" => parse(name, arguments).map(Self::aggregate_rows),
            "run_sql" if access.sql => parse(name, arguments).map(Self::run_sql),
            "insert_rows" if access.write => parse(name, arguments).map(Self::insert_rows),
            "update_rows" if access.write => parse(name, arguments).map(Self::update_rows),
            "delete_rows" if access.write => parse(name, arguments).map(Self::delete_rows),
            _ => Err(protocol_error(format!("there is no tool '{name}'"))),
        }
    }

    fn get(resource: Resource, query: String) -> Self {
        let (method, media_type, body) = (Method::GET, "application/json", Bytes::new());
        Self { resource, method, query, media_type, body, summarizes: false }
    }

    fn with_body(mut self, method: Method, body: String) -> Self {
        (self.method, self.body) = (method, body.into());
        self
    }

    fn list_tables(_: NoArguments) -> Self {
        Self { summarizes: true, ..Self::get(Resource::Tables, String::new()) }
    }

    fn describe_table(call: TableName) -> Self {
        Self::get(Resource::Table(call.table), String::new())
    }

    fn query_rows(call: RowsQuery) -> Self {
        let mut query = QueryString::default();
        query.add("search", call.search.as_deref());
        query.add("filter", call.filter.as_deref());
        query.add("columns", call.columns.map(NameList::into_text).as_deref());
        query.add("order", call.order.as_deref());
        query.add("offset", call.offset.map(|rows| rows.to_string()).as_deref());
        query.add("after", call.after.as_deref());
        query.add("expand", call.expand.as_deref());
        query.add("nearest", call.nearest.as_deref());
        query.add("to", call.to.as_deref().map(RawValue::get));
        query.add("metric", call.metric.as_deref());
        query.add_limit(call.limit);
        Self::get(Resource::Rows(call.table), query.0)
    }

    fn aggregate_rows(call: AggregateQuery) -> Self {
        let mut query = QueryString::default();
        query.add("values", Some(&call.values));
        query.add("group", call.group.map(NameList::into_text).as_deref());
        query.add("search", call.search.as_deref());
        query.add("filter", call.filter.as_deref());
        query.add("order", call.order.as_deref());
        query.add_limit(call.limit);
        Self::get(Resource::Aggregate(call.table), query.0)
    }

    fn run_sql(call: SqlCall) -> Self {
        let mut query = QueryString::default();
        query.add_limit(call.limit);
        let sql = serde_json::Value::from(call.sql);
        let parameters = call.parameters.as_ref().map_or("[]", |json| json.get());
        let body = format!(r#"{{"sql":{sql},"parameters":{parameters},"read_only":true}}"#);
        Self::get(Resource::Sql, query.0).with_body(Method::POST, body)
    }

    fn insert_rows(call: InsertCall) -> Self {
        let table = serde_json::Value::from(call.table);
        let mut lines = String::new();
        for row in &call.rows {
            // A line ends at a line break, which JSON has between its parts only.
            let row = row.get().replace(['\r', '\n'], " ");
            lines.push_str(&format!(r#"{{"op":"insert","table":{table},"row":{row}}}"#));
            lines.push('\n');
        }
        let request = Self::get(Resource::Batch, "outcomes=true".to_owned());
        Self { media_type: "application/x-ndjson", ..request.with_body(Method::POST, lines) }
    }

    fn update_rows(call: UpdateCall) -> Self {
        let mut query = QueryString::default();
        query.add("filter", Some(&call.filter));
        let request = Self::get(Resource::Rows(call.table), query.0);
        request.with_body(Method::PATCH, call.values.get().to_owned())
    }

    fn delete_rows(call: DeleteCall) -> Self {
        let mut query = QueryString::default();
        query.add("filter", Some(&call.filter));
        Self::get(Resource::Rows(call.table), query.0).with_body(Method::DELETE, String::new())
    }
}

fn protocol_error(message: String) -> ToolCallError {
    ToolCallError::Protocol(RpcError::invalid_params(message))
}

/// Parses the arguments of a tool; missing ones are an empty object.
fn parse<T: DeserializeOwned>(name: &str, given: Option<&RawValue>) -> Result<T, ToolCallError> {
    let wrong = |error| ToolCallError::Arguments(Problem::from(error));
    if let Some(given) = given {
        arguments::check(&tools::description(name), given).map_err(wrong)?;
    }
    let text = given.map_or("{}", RawValue::get);
    let syntax = |error| wrong(Error::new(ErrorKind::Syntax, format!("{name}: {error}")));
    serde_json::from_str(text).map_err(syntax)
}

impl NameList {
    /// The list as the API has it: names in quotes.
    fn into_text(self) -> String {
        let quote = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        match self {
            Self::Names(names) => names.iter().map(quote).collect::<Vec<_>>().join(","),
            Self::Text(text) => text,
        }
    }
}

/// The parameters of a URI.
#[derive(Default)]
struct QueryString(String);

impl QueryString {
    fn add(&mut self, name: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        let separator = if self.0.is_empty() { "" } else { "&" };
        let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
        self.0.push_str(&format!("{separator}{name}={value}"));
    }

    fn add_limit(&mut self, limit: Option<u64>) {
        let limit = limit.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS);
        self.add("limit", Some(&limit.to_string()));
    }
}

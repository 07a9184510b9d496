//! What the tools are called, what they do, and what they take.

use bobak_core::nearest::Metric;
use serde_json::{Map, Value, json};

/// Which tools a client has.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolAccess {
    pub sql: bool,
    pub write: bool,
}

/// The result of `tools/list`.
pub(super) fn list(access: ToolAccess) -> Value {
    let mut tools = vec![list_tables(), describe_table(), query_rows(), aggregate_rows()];
    if access.sql {
        tools.push(run_sql());
    }
    if access.write {
        tools.extend([insert_rows(), update_rows(), delete_rows()]);
    }
    json!({"tools": tools})
}

/// The description of a tool, which the client may not have.
pub(super) fn description(name: &str) -> Value {
    let mut all = list(ToolAccess { sql: true, write: true });
    let tools = all["tools"].as_array_mut().into_iter().flatten();
    tools.into_iter().find(|tool| tool["name"] == name).map(Value::take).unwrap_or_default()
}

/// What the client should tell its model of the server.
pub(super) fn instructions(access: ToolAccess) -> String {
    let mut text = "Tables of a database. Begin with list_tables; describe_table shows columns and their types. A filter is a \
                    condition such as: city = 'Bern' and born > '1990-01-01'. Results have a limit: ask for the columns and rows \
                    that you need."
        .to_owned();
    text.push_str(if access.write {
        " Changes are permanent: there is no undo."
    } else {
        " Nothing can be changed."
    });
    text
}

fn list_tables() -> Value {
    let text = "List the tables and views, with their columns and keys";
    read_tool("list_tables", text, &[], json!({}))
}

fn describe_table() -> Value {
    let text = "Describe a table: its columns with types, checks and references, and its key";
    read_tool("describe_table", text, &["table"], json!({"table": table()}))
}

fn query_rows() -> Value {
    let text = "Read rows of a table that match a filter. `next` in the result says that there are more: read on with `after`";
    let properties = json!({
        "table": table(),
        "search": search(),
        "filter": filter(),
        "columns": {"type": "array", "items": {"type": "string"}, "description": "The columns to return; all, if it is missing"},
        "order": {"type": "string", "description": "Columns to sort by, such as: city,-born"},
        "limit": limit(),
        "offset": {"type": "integer", "minimum": 0, "description": "How many rows to skip: for a search, the nearest rows, or another order than by key"},
        "after": {"type": "string", "description": "The `next` of the rows before"},
        "expand": {"type": "string", "description": "Relations whose rows are included, such as: customer"},
        "nearest": {"type": "string", "description": "A column of vectors, whose type is such as vector(384): the rows nearest to `to` come first, with `distances`. Name the columns: vectors are long"},
        "to": {"type": "array", "items": {"type": "number"}, "description": "With `nearest`: the vector, with as many numbers as the column's"},
        "metric": {"enum": Metric::ALL.iter().map(|metric| metric.name()).collect::<Vec<_>>(), "description": "With `nearest`: how the distance is measured; cosine, if it is missing"},
    });
    read_tool("query_rows", text, &["table"], properties)
}

fn aggregate_rows() -> Value {
    let text = "Count rows, or compute sums, averages, minima and maxima, also by groups";
    let properties = json!({
        "table": table(),
        "values": {"type": "string", "description": "What to compute, such as: count,sum(total),max(created)"},
        "group": {"type": "array", "items": {"type": "string"}, "description": "Columns to group by"},
        "search": search(),
        "filter": filter(),
        "order": {"type": "string", "description": "Groups by these columns, or -count for the largest first"},
        "limit": limit(),
    });
    read_tool("aggregate_rows", text, &["table", "values"], properties)
}

fn run_sql() -> Value {
    let text = "Run one SQL statement that only reads. `more` in the result says that the limit was reached";
    let properties = json!({
        "sql": {"type": "string", "description": "The statement, with ? for each parameter"},
        "parameters": {"type": "array", "items": {"type": ["null", "boolean", "number", "string"]}},
        "limit": limit(),
    });
    read_tool("run_sql", text, &["sql"], properties)
}

fn insert_rows() -> Value {
    let text = "Insert rows: all of them, or none if one is wrong";
    let row = json!({"type": "object", "description": "Values by column"});
    let properties =
        json!({"table": table(), "rows": {"type": "array", "items": row, "minItems": 1}});
    tool("insert_rows", text, &["table", "rows"], properties, false)
}

fn update_rows() -> Value {
    let text = "Set columns of all rows that match a filter";
    let values = json!({"type": "object", "description": "The new values by column"});
    let properties = json!({"table": table(), "filter": filter(), "values": values});
    tool("update_rows", text, &["table", "filter", "values"], properties, true)
}

fn delete_rows() -> Value {
    let text = "Delete all rows that match a filter";
    let properties = json!({"table": table(), "filter": filter()});
    tool("delete_rows", text, &["table", "filter"], properties, true)
}

fn table() -> Value {
    json!({"type": "string", "description": "The name of the table or view"})
}

fn filter() -> Value {
    json!({"type": "string", "description": "A condition, such as: city = 'Bern' and born > '1990-01-01'"})
}

fn search() -> Value {
    json!({"type": "string", "description": "Words that the rows have, the best row first: of a table whose description has `search`. \"lazy dog\" is a phrase, quick* a beginning; OR and NOT combine"})
}

fn limit() -> Value {
    let most = super::calls::MAX_ROWS;
    let text = format!("The most rows to return; {} if it is missing", super::calls::DEFAULT_ROWS);
    json!({"type": "integer", "minimum": 1, "maximum": most, "description": text})
}

fn read_tool(name: &str, text: &str, required: &[&str], properties: Value) -> Value {
    let mut tool = tool(name, text, required, properties, false);
    if let Some(annotations) = tool.get_mut("annotations").and_then(Value::as_object_mut) {
        *annotations = Map::from_iter([("readOnlyHint".to_owned(), true.into())]);
    }
    tool
}

fn tool(name: &str, text: &str, required: &[&str], properties: Value, destructive: bool) -> Value {
    json!({
        "name": name,
        "description": text,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": destructive},
    })
}

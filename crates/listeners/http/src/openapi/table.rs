//! The paths of a table.

use super::examples;
use super::parts::{answer, body, each_line, empty, json_of, operation, problem, query, reference};
use super::schema::component;
use crate::key::escape;
use crate::model::Table;
use serde_json::{Map, Value, json};

/// Adds the paths of a table.
pub(super) fn paths(paths: &mut Map<String, Value>, table: &Table) {
    let name = component(table.schema.name());
    let home = format!("/tables/{}", escape(table.schema.name()));
    let mut get = operation(&format!("describe_{name}"), "What the table is like", vec![]);
    get["responses"]["200"] = answer("The table", json_of(reference("bobak.Table")));
    problem(&mut get, &[404]);
    paths.insert(home.clone(), json!({"get": get}));
    let of_row = json!({"parameters": [key(table)], "get": history(&name)});
    for (rest, mut path) in [
        ("rows", json!({"get": list(&name), "post": create(&name)})),
        ("rows/{key}", row(&name, table)),
        ("rows/{key}/history", of_row),
        ("export", json!({"get": export(&name)})),
        ("import", json!({"post": import(&name)})),
        ("changes", json!({"get": changes(&name)})),
        ("aggregate", json!({"get": aggregate(&name)})),
    ] {
        examples::add(&mut path, table);
        paths.insert(format!("{home}/{rest}"), path);
    }
}

const COLUMNS: &str =
    "The columns wanted, with commas between, in double quotes where their names have one";

fn selection() -> Vec<Value> {
    vec![
        query::text("filter", "What SQL writes behind WHERE: age > 30 and name like 'A%'"),
        query::text(
            "order",
            "Columns, with commas between, in double quotes where their names have one; a minus \
             before those of which the largest come first",
        ),
        query::count("limit", "The most rows"),
        query::count("offset", "How many rows are passed over"),
    ]
}

/// The parameters of imports and batches.
pub(super) fn load_parameters(usual: &str) -> Vec<Value> {
    let what = format!("Commits after each so many rows; 0 once, at the end; unless said, {usual}");
    let every = query::count("commit", &what);
    vec![
        query::choice("errors", "What happens after a row's error", &["stop", "skip"]),
        every,
        query::flag("outcomes", "Tell each row's outcome"),
    ]
}

fn tagged(mut answer: Value) -> Value {
    let tag = json!({"description": "The tag of what is there", "schema": {"type": "string"}});
    answer["headers"] = json!({"ETag": tag});
    answer
}

fn list(name: &str) -> Value {
    let mut parameters = selection();
    parameters.push(query::text("columns", COLUMNS));
    parameters.push(query::text(
        "after",
        "The key behind which the page begins: `next` of the page before, percent-encoded as any \
         value is",
    ));
    parameters.push(query::flag("total", "Count all rows that the filter keeps"));
    parameters.push(query::numbers());
    parameters.push(query::header("If-None-Match", "The tag of a list that is there already"));
    let mut get = operation(&format!("list_{name}"), "A page of rows", parameters);
    get["responses"]["200"] =
        tagged(answer("The rows", json_of(reference(&format!("{name}.list")))));
    get["responses"]["304"] = empty("The list is as it was");
    problem(&mut get, &[400, 404]);
    get
}

fn create(name: &str) -> Value {
    let parameters = vec![query::numbers(), prefer()];
    let mut post = operation(&format!("create_{name}"), "Makes a row", parameters);
    post["requestBody"] = body(json_of(reference(&format!("{name}.new"))));
    post["responses"]["201"] = created(name);
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    post
}

fn created(name: &str) -> Value {
    let what = "The new row; nothing where none is wanted, or it can't be read";
    let mut created = tagged(answer(what, json_of(reference(&format!("{name}.row")))));
    created["headers"]["Location"] =
        json!({"description": "The row's path", "schema": {"type": "string"}});
    created
}

fn prefer() -> Value {
    query::header("Prefer", "return=minimal for an answer without the row")
}

fn row(name: &str, table: &Table) -> Value {
    json!({
        "parameters": [key(table)],
        "get": get(name), "put": put(name), "patch": patch(name), "delete": delete(name),
    })
}

/// The key in a path.
fn key(table: &Table) -> Value {
    let parts = table.schema.key().len();
    let columns = table.schema.key().iter().filter_map(|&place| table.schema.columns().get(place));
    let names: Vec<&str> = columns.map(|column| &*column.name).collect();
    let description = match parts {
        1 => names.join(""),
        _ => format!("{}, with commas between", names.join(", ")),
    };
    json!({
        "name": "key", "in": "path", "required": true, "description": description,
        "schema": {"type": "string"},
    })
}

fn whole(name: &str) -> Value {
    tagged(answer("The row", json_of(reference(&format!("{name}.row")))))
}

fn get(name: &str) -> Value {
    let parameters = vec![
        query::text("columns", COLUMNS),
        query::numbers(),
        query::header("If-None-Match", "The tag of a row that is there already"),
    ];
    let mut get = operation(&format!("get_{name}"), "One row", parameters);
    get["responses"]["200"] = tagged(answer("The row", json_of(reference(name))));
    get["responses"]["304"] = empty("The row is as it was");
    problem(&mut get, &[400, 404]);
    get
}

fn beliefs() -> Vec<Value> {
    vec![
        query::numbers(),
        prefer(),
        query::header("If-Match", "Only where the row has this tag; * where it is there"),
        query::header("If-None-Match", "* only where it is not there"),
    ]
}

fn put(name: &str) -> Value {
    let mut put = operation(&format!("replace_{name}"), "Puts a whole row in its place", beliefs());
    put["requestBody"] = body(json_of(reference(&format!("{name}.new"))));
    put["responses"]["200"] = whole(name);
    put["responses"]["201"] = created(name);
    put["responses"]["204"] = empty("Done, and no row is wanted");
    problem(&mut put, &[400, 404, 408, 409, 412, 413, 415, 422]);
    put
}

fn patch(name: &str) -> Value {
    let mut patch = operation(&format!("patch_{name}"), "Changes the columns named", beliefs());
    let schema = || json!({"schema": reference(&format!("{name}.patch"))});
    patch["requestBody"] =
        body(json!({"application/json": schema(), "application/merge-patch+json": schema()}));
    patch["responses"]["200"] = whole(name);
    patch["responses"]["204"] = empty("Done, and no row is wanted");
    problem(&mut patch, &[400, 404, 408, 409, 412, 413, 415, 422]);
    patch
}

fn delete(name: &str) -> Value {
    let parameters = vec![query::header("If-Match", "Only where the row has this tag")];
    let mut delete = operation(&format!("delete_{name}"), "Deletes the row", parameters);
    delete["responses"]["204"] = empty("It is gone");
    problem(&mut delete, &[400, 404, 409, 412, 422]);
    delete
}

fn export(name: &str) -> Value {
    let mut parameters = selection();
    parameters.push(query::text("columns", COLUMNS));
    parameters.push(query::text("after", "The key behind which the rows begin"));
    parameters.push(query::choice(
        "format",
        "The form, whatever is accepted",
        &["ndjson", "csv", "json"],
    ));
    parameters.push(query::text("null", "What stands for NULL in CSV"));
    let lossy = "Write values all the same that would be read as others: of another kind than their \
                 column's";
    parameters.push(query::flag("lossy", lossy));
    parameters.push(query::numbers());
    let mut get = operation(&format!("export_{name}"), "All rows, as a stream", parameters);
    let rows = json!({"type": "array", "items": reference(name)});
    let lines = |media, what| json!({"schema": each_line(media, what, name)});
    get["responses"]["200"] = answer(
        "The rows of one moment",
        json!({
            "application/x-ndjson": lines("application/x-ndjson", "A row on each line"),
            "text/csv": lines("text/csv", "RFC 4180, with a header"),
            "application/json": {"schema": rows},
        }),
    );
    problem(&mut get, &[400, 404, 406]);
    get
}

fn import(name: &str) -> Value {
    let modes = ["insert", "ignore", "replace", "upsert", "update", "delete"];
    let mut parameters = vec![query::choice("mode", "What happens to each row", &modes)];
    parameters.extend(load_parameters("a part at a time"));
    parameters.push(query::text("null", "What stands for NULL in CSV"));
    let mut post = operation(&format!("import_{name}"), "Many rows, as a stream", parameters);
    let new = format!("{name}.new");
    let lines = |media, what| json!({"schema": each_line(media, what, &new)});
    post["requestBody"] = body(json!({
        "application/x-ndjson": lines("application/x-ndjson", "A row on each line"),
        "text/csv": lines("text/csv", "RFC 4180, with a header"),
    }));
    post["responses"]["200"] = answer("What became of them", json_of(reference("bobak.Report")));
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    post
}

fn changes(name: &str) -> Value {
    let parameters = vec![
        query::text("filter", "Only rows that this keeps: one that comes into sight is an insert"),
        query::count("since", "The change behind which the events begin; without it, now"),
        query::header("Last-Event-ID", "The same, as browsers send it when they come again"),
        query::numbers(),
    ];
    let summary = "Changes as they happen, as server-sent events; of tables that are tracked";
    let mut get = operation(&format!("changes_{name}"), summary, parameters);
    let description =
        "Events insert, update and delete; their data is JSON with at, who, key and row";
    let event = json!({"schema": {"type": "string", "description": description}});
    get["responses"]["200"] = answer("Events", json!({"text/event-stream": event}));
    problem(&mut get, &[400, 404, 406, 409, 410]);
    get
}

fn history(name: &str) -> Value {
    let mut limit = query::count("limit", "The most changes");
    limit["schema"]["minimum"] = json!(1);
    let parameters = vec![
        query::count("since", "The change behind which it begins: `next` of the page before"),
        limit,
        query::numbers(),
    ];
    let summary = "What became of one row; of tables that are tracked";
    let mut get = operation(&format!("history_{name}"), summary, parameters);
    let image = json!({"anyOf": [reference(&format!("{name}.row")), {"type": "null"}]});
    let number = || json!({"type": "integer", "format": "int64", "minimum": 1});
    let change = json!({
        "type": "object",
        "required": ["id", "kind", "at", "who", "before", "after"],
        "additionalProperties": false,
        "properties": {
            "id": number(), "kind": {"enum": ["insert", "update", "delete"]},
            "at": {"type": "string", "format": "date-time"}, "who": {"type": ["string", "null"]},
            "before": image, "after": image,
        },
    });
    let changes = json!({
        "type": "object",
        "required": ["changes", "more"],
        "properties": {
            "changes": {"type": "array", "items": change},
            "more": {"type": "boolean"},
            "next": number(),
        },
    });
    get["responses"]["200"] = answer("Its changes, in their order", json_of(changes));
    problem(&mut get, &[400, 404, 409]);
    get
}

fn aggregate(name: &str) -> Value {
    let mut parameters = selection();
    let values = "count, count(x), sum(x), min(x), max(x), avg(x), with commas between";
    parameters.push(query::text("values", values));
    parameters.push(query::text("group", "The columns that rows are grouped by"));
    parameters.push(query::numbers());
    parameters.push(query::header("If-None-Match", "The tag of sums that are there already"));
    let summary = "Counts and sums, of all rows or of groups";
    let mut get = operation(&format!("aggregate_{name}"), summary, parameters);
    let rows = json!({"type": "array", "items": {"type": "object"}});
    let groups = json!({
        "type": "object",
        "required": ["rows", "more"],
        "properties": {"rows": rows, "more": {"type": "boolean"}},
    });
    get["responses"]["200"] = tagged(answer("A row for each group", json_of(groups)));
    get["responses"]["304"] = empty("They are as they were");
    problem(&mut get, &[400, 404, 422, 501]);
    get
}

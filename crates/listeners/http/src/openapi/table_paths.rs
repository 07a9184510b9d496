//! The paths of a table.

use super::add_arrow;
use super::builders::{
    body, each_line, empty, json_of, next_page, operation, problem, query, reference, response,
};
use super::examples;
use super::parameters::{key, selection};
use super::schemas::{component, expanded_name, unique_columns};
use super::{plans, search, values};
use crate::database::schema_cache::VisibleTables;
use crate::database::table::CachedTable;
use crate::request::key::encode_segment;
use crate::resources::export::format_names;
use serde_json::{Map, Value, json};

/// Adds the paths of a table.
pub(super) fn paths(
    paths: &mut Map<String, Value>,
    catalog: &VisibleTables,
    table: &CachedTable,
    max_page_size: u64,
) {
    let name = component(table.schema.name());
    let base = format!("/tables/{}", encode_segment(table.schema.name()));
    let mut get = operation(&format!("describe_{name}"), "Describe the table", vec![]);
    get["responses"]["200"] = response("The table", json_of(reference("bobak.Table")));
    problem(&mut get, &[404]);
    paths.insert(base.clone(), json!({"get": get}));
    let row_history = json!({"parameters": [key(table)], "get": history(&name)});
    for (rest, mut path) in [
        (
            "rows",
            json!({
                "get": list(&name), "post": create(&name), "patch": patch_matching(&name),
                "delete": delete_matching(&name),
            }),
        ),
        ("rows/{key}", row(&name, table)),
        ("rows/{key}/history", row_history),
        ("export", json!({"get": export(&name)})),
        ("import", json!({"post": import(&name, table)})),
        ("changes", json!({"get": changes(&name)})),
        ("aggregate", json!({"get": aggregate(&name)})),
    ] {
        if table.schema.is_view() {
            // Rows of views are only read, and not by a key.
            if !matches!(rest, "rows" | "export" | "aggregate") {
                continue;
            }
            for method in ["post", "patch", "delete"] {
                path.as_object_mut().map(|path| path.remove(method));
            }
            if let Some(parameters) = path["get"]["parameters"].as_array_mut() {
                parameters.retain(|one| one["name"] != "after");
            }
        }
        let schema = &table.schema;
        if schema.columns().len() == schema.key().len() + usize::from(schema.version().is_some())
            && rest == "rows"
        {
            path.as_object_mut().map(|path| path.remove("patch"));
        }
        // Rows whose numbers the database may change have no history.
        if table.schema.has_hidden_key() && matches!(rest, "changes" | "rows/{key}/history") {
            continue;
        }
        examples::add(&mut path, table);
        if schema.search().is_some() && matches!(rest, "rows" | "export" | "aggregate") {
            search::add(&mut path["get"], rest == "rows");
        }
        if matches!(rest, "rows" | "export") {
            search::add_nearest(&mut path["get"], schema);
        }
        if matches!(rest, "rows" | "rows/{key}/history") {
            let parameters = path["get"]["parameters"].as_array_mut();
            let limit =
                parameters.and_then(|all| all.iter_mut().find(|one| one["name"] == "limit"));
            if let Some(limit) = limit {
                limit["schema"]["maximum"] = json!(max_page_size);
            }
        }
        if matches!(rest, "rows" | "rows/{key}") {
            add_relations(&mut path["get"], catalog, table);
        }
        paths.insert(format!("{base}/{rest}"), path);
    }
    paths.insert(format!("{base}/query"), json!({"get": row_query(&name, max_page_size)}));
    paths.insert(format!("{base}/plan"), plans::path(&name, table, max_page_size));
    if let Some(value) = values::path(&name, table) {
        paths.insert(format!("{base}/rows/{{key}}/columns/{{column}}"), value);
    }
}

/// Adds the parameter `expand` to an operation that reads rows of a table with relations.
fn add_relations(get: &mut Value, catalog: &VisibleTables, table: &CachedTable) {
    let relations = catalog.relations_of(table);
    let Some(first) = relations.first() else { return };
    let name = component(table.schema.name());
    let content = &mut get["responses"]["200"]["content"]["application/json"]["schema"];
    if *content == reference(&name) {
        *content = reference(&expanded_name(catalog, table));
    }
    let mut expand = query::text(
        "expand",
        "Relations whose rows are included, separated by commas; points between nested ones. Each \
         relation has parameters of its own, such as line.filter, line.order, line.limit, \
         line.offset and line.columns for a relation `line`",
    );
    expand["example"] = json!(first.name);
    let described = relations.iter().filter_map(|relation| {
        let table = relation.table()?.schema.name();
        Some(json!({"name": relation.name, "table": table, "many": !relation.is_one}))
    });
    expand["x-relations"] = described.collect();
    if let Some(parameters) = get["parameters"].as_array_mut() {
        parameters.push(expand);
    }
    problem(get, &[413]);
}

const COLUMNS: &str =
    "The columns to return, separated by commas; names that contain a comma are in double quotes";

/// The parameters of imports and batches.
pub(super) fn load_parameters(default: &str) -> Vec<Value> {
    let what = format!("Commit after each so many rows; 0: once, at the end; default: {default}");
    let every = query::count("commit", &what);
    vec![
        query::choice("errors", "What to do after the error of a row", &["stop", "skip"]),
        every,
        query::flag("outcomes", "Report the outcome of each row"),
    ]
}

fn tagged(mut response: Value) -> Value {
    let tag = json!({"description": "The entity tag", "schema": {"type": "string"}});
    response["headers"] = json!({"ETag": tag});
    response
}

fn list(name: &str) -> Value {
    let mut parameters = selection();
    parameters.push(query::columns("columns", COLUMNS));
    parameters.push(query::text(
        "after",
        "Only rows after this key: `next` of the previous page, percent-encoded",
    ));
    parameters.push(query::flag("total", "Count all rows that match the filter"));
    parameters.push(query::numbers());
    parameters.push(query::header("If-None-Match", "The entity tag of a list that the client has"));
    let mut get = operation(&format!("list_{name}"), "List a page of rows", parameters);
    get["responses"]["200"] =
        tagged(response("The rows", json_of(reference(&format!("{name}.list")))));
    get["responses"]["304"] = empty("The list has not changed");
    problem(&mut get, &[400, 404]);
    get
}

/// The rows that a bulk change applies to.
fn matching() -> Value {
    let mut filter = query::condition("filter", "The rows to change, by a condition");
    filter["required"] = json!(true);
    filter
}

fn patch_matching(name: &str) -> Value {
    let summary = "Set columns of all rows that match a filter, in one transaction";
    let set = "Instead of a body: expressions of each row, such as total = price * quantity";
    let parameters = vec![matching(), query::condition("set", set)];
    let mut patch = operation(&format!("patch_all_{name}"), summary, parameters);
    patch["requestBody"] = body(json_of(reference(&format!("{name}.changes"))));
    patch["responses"]["200"] =
        response("How many rows were changed", json_of(reference("bobak.Changed")));
    problem(&mut patch, &[400, 404, 408, 409, 413, 415, 422, 501]);
    patch
}

fn delete_matching(name: &str) -> Value {
    let summary = "Delete all rows that match a filter, in one transaction";
    let mut delete = operation(&format!("delete_all_{name}"), summary, vec![matching()]);
    delete["responses"]["200"] =
        response("How many rows were deleted", json_of(reference("bobak.Changed")));
    problem(&mut delete, &[400, 404, 422, 501]);
    delete
}

fn create(name: &str) -> Value {
    let parameters = vec![query::numbers(), prefer()];
    let mut post = operation(&format!("create_{name}"), "Insert a row", parameters);
    post["requestBody"] = body(json_of(reference(&format!("{name}.new"))));
    post["responses"]["201"] = created(name);
    post["responses"]["204"] = without_row();
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    post
}

fn created(name: &str) -> Value {
    let row = json_of(reference(&format!("{name}.row")));
    let mut created = tagged(response("The new row", row));
    created["headers"]["Location"] = location();
    created
}

fn location() -> Value {
    json!({"description": "The path of a new row", "schema": {"type": "string"}})
}

/// The response to a write if the client prefers one without the row, or may not read it.
fn without_row() -> Value {
    let mut done = empty("Done; the client prefers a response without the row, or may not read it");
    done["headers"]["Location"] = location();
    done
}

fn prefer() -> Value {
    query::header("Prefer", "return=minimal for a response without the row")
}

fn row(name: &str, table: &CachedTable) -> Value {
    json!({
        "parameters": [key(table)],
        "get": get(name), "put": put(name), "patch": patch(name), "delete": delete(name),
    })
}

fn whole(name: &str) -> Value {
    tagged(response("The row", json_of(reference(&format!("{name}.row")))))
}

fn get(name: &str) -> Value {
    let parameters = vec![
        query::columns("columns", COLUMNS),
        query::numbers(),
        query::header("If-None-Match", "The entity tag of a row that the client has"),
    ];
    let mut get = operation(&format!("get_{name}"), "Read a row", parameters);
    get["responses"]["200"] = tagged(response("The row", json_of(reference(name))));
    get["responses"]["304"] = empty("The row has not changed");
    problem(&mut get, &[400, 404]);
    get
}

fn precondition_parameters() -> Vec<Value> {
    vec![
        query::numbers(),
        prefer(),
        query::header("If-Match", "Only if the row has this entity tag; *: only if the row exists"),
        query::header("If-None-Match", "*: only if the row does not exist"),
    ]
}

fn put(name: &str) -> Value {
    let mut put = operation(
        &format!("replace_{name}"),
        "Replace the row, or insert it if it does not exist",
        precondition_parameters(),
    );
    put["requestBody"] = body(json_of(reference(&format!("{name}.new"))));
    put["responses"]["200"] = whole(name);
    put["responses"]["201"] = created(name);
    put["responses"]["204"] = without_row();
    problem(&mut put, &[400, 404, 408, 409, 412, 413, 415, 422]);
    put
}

fn patch(name: &str) -> Value {
    let mut patch =
        operation(&format!("patch_{name}"), "Update the given columns", precondition_parameters());
    let schema = || json!({"schema": reference(&format!("{name}.patch"))});
    patch["requestBody"] =
        body(json!({"application/json": schema(), "application/merge-patch+json": schema()}));
    patch["responses"]["200"] = whole(name);
    patch["responses"]["204"] = without_row();
    problem(&mut patch, &[400, 404, 408, 409, 412, 413, 415, 422]);
    patch
}

fn delete(name: &str) -> Value {
    let parameters = vec![query::header("If-Match", "Only if the row has this entity tag")];
    let mut delete = operation(&format!("delete_{name}"), "Delete the row", parameters);
    delete["responses"]["204"] = empty("The row is deleted");
    problem(&mut delete, &[400, 404, 409, 412, 422]);
    delete
}

fn export(name: &str) -> Value {
    let mut parameters = selection();
    parameters.push(query::columns("columns", COLUMNS));
    parameters.push(query::text(
        "after",
        "Only rows after this one: `next` of the page before, or a key",
    ));
    let format = "The format, in place of the Accept header";
    parameters.push(query::choice("format", format, &format_names()));
    parameters.push(query::text("null", "The text for NULL in CSV"));
    let lossy = "Also write values that an import would read as other values, because they are not of \
                 their column's type";
    parameters.push(query::flag("lossy", lossy));
    parameters.push(query::numbers());
    let mut get = operation(&format!("export_{name}"), "Export all rows as a stream", parameters);
    let rows = json!({"type": "array", "items": reference(name)});
    let lines = |media, what| json!({"schema": each_line(media, what, name)});
    let mut content = json!({
        "application/x-ndjson": lines("application/x-ndjson", "One row per line"),
        "text/csv": lines("text/csv", "RFC 4180, with a header"),
        "application/json": {"schema": rows},
    });
    add_arrow(&mut content);
    get["responses"]["200"] = response("The rows, from one snapshot", content);
    problem(&mut get, &[400, 404, 406]);
    get
}

fn import(name: &str, table: &CachedTable) -> Value {
    let modes = ["insert", "ignore", "replace", "upsert", "update", "delete"];
    let mut parameters = vec![query::choice("mode", "What to do with each row", &modes)];
    let on = "With mode=upsert: the columns of a unique index, instead of the key, such as email or shop,number";
    let unique = unique_columns(&table.schema);
    if !unique.is_empty() {
        let mut on = query::text("on", on);
        on["schema"] = json!({"enum": unique});
        parameters.push(on);
    }
    parameters.extend(load_parameters("each batch of rows"));
    parameters.push(query::text("null", "The text for NULL in CSV"));
    let mut post =
        operation(&format!("import_{name}"), "Import any number of rows as a stream", parameters);
    let new = format!("{name}.new");
    let lines = |media, what| json!({"schema": each_line(media, what, &new)});
    let mut content = json!({
        "application/x-ndjson": lines("application/x-ndjson", "One row per line"),
        "text/csv": lines("text/csv", "RFC 4180, with a header"),
    });
    add_arrow(&mut content);
    post["requestBody"] = body(content);
    post["responses"]["200"] = response("A report", json_of(reference("bobak.Report")));
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    post
}

/// The parameters of all streams of changes.
pub(super) fn change_parameters() -> Vec<Value> {
    let mut last =
        query::header("Last-Event-ID", "As `since`; browsers send it when they reconnect");
    last["schema"]["pattern"] = json!(r"^\d{1,18}$");
    let since = query::count("since", "Only changes after this one; default: only new changes");
    let limit = query::count("limit", "How many changes a page reads at most; gives a page");
    let net = "One change for each row, from before the page to after it; gives a page";
    vec![since, last, limit, query::flag("net", net), query::numbers()]
}

/// The two representations of changes.
pub(super) fn change_representations(members: &str) -> Value {
    let stream = format!("Events insert, update and delete; their data is JSON with {members}");
    let page = json!({
        "type": "object",
        "required": ["changes", "next", "more"],
        "properties": {
            "changes": {"type": "array", "items": {"type": "object", "required": ["id", "kind", "at", "who", "key", "row"]}},
            "next": {"type": "integer", "format": "int64", "description": "`since` of the next page"},
            "more": {"type": "boolean"},
        },
    });
    json!({
        "text/event-stream": {"schema": {"description": stream}},
        "application/json": {"schema": page},
    })
}

fn changes(name: &str) -> Value {
    let mut parameters = vec![query::condition(
        "filter",
        "Only rows that match this condition; a row that comes to match it is an insert",
    )];
    parameters.extend(change_parameters());
    let summary = "Stream changes as server-sent events, or list a page of them as JSON; requires a tracked table";
    let mut get = operation(&format!("changes_{name}"), summary, parameters);
    get["responses"]["200"] = response("Changes", change_representations("at, who, key and row"));
    problem(&mut get, &[400, 404, 406, 409, 410]);
    get
}

fn history(name: &str) -> Value {
    let mut limit = query::count("limit", "The maximum number of changes");
    limit["schema"]["minimum"] = json!(1);
    let parameters = vec![
        query::count("since", "Only changes after this one: `next` of the previous page"),
        limit,
        query::numbers(),
    ];
    let summary = "List the changes of one row; requires a tracked table";
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
    get["responses"]["200"] = response("Its changes, oldest first", json_of(changes));
    problem(&mut get, &[400, 404, 409]);
    get
}

fn query_parameters(max_page_size: u64) -> Vec<Value> {
    let expressions = "columns, values, + - * / %, ||, cast(x as integer), lower, upper, trim, length, \
                       substr, coalesce, iif, year, month, day, date_part, date_trunc, count(*), count, \
                       count_distinct, sum, avg, min, max";
    let select = format!(
        "Expressions with optional names, separated by commas: 'upper(x) as y'. All columns if \
         absent. Expressions are {expressions}"
    );
    let mut parameters = vec![
        query::text("select", &select),
        query::condition("filter", "A condition of expressions that rows must match"),
        query::condition("group", "Expressions to group by, separated by commas"),
        query::condition("having", "A condition of expressions that groups must match"),
        query::condition(
            "order",
            "Expressions to sort by, separated by commas; descending after a minus",
        ),
        query::flag("distinct", "Leave out equal rows"),
        query::count("limit", "The maximum number of rows"),
        query::count("offset", "How many rows to skip"),
        query::text("after", "Only rows after this one: `next` of the previous page"),
        query::flag("total", "Count the rows on all pages"),
        query::numbers(),
    ];
    if let Some(limit) = parameters.iter_mut().find(|one| one["name"] == "limit") {
        limit["schema"]["maximum"] = json!(max_page_size);
    }
    parameters
        .push(query::header("If-None-Match", "The entity tag of a result that the client has"));
    parameters
}

fn row_query(name: &str, max_page_size: u64) -> Value {
    let parameters = query_parameters(max_page_size);
    let summary = "Select expressions of rows, or of groups of rows";
    let mut get = operation(&format!("query_{name}"), summary, parameters);
    let rows = json!({"type": "array", "items": {"type": "object"}});
    let result = json!({
        "type": "object",
        "required": ["rows", "more"],
        "properties": {
            "rows": rows,
            "more": {"type": "boolean"},
            "next": next_page(),
            "total": {"type": "integer", "format": "int64", "minimum": 0},
        },
    });
    get["responses"]["200"] = tagged(response("The rows", json_of(result)));
    get["responses"]["304"] = empty("The result has not changed");
    problem(&mut get, &[400, 404, 422, 501]);
    get
}

fn aggregate(name: &str) -> Value {
    let mut parameters = selection();
    let values = "count, count(x), sum(x), min(x), max(x), avg(x), separated by commas";
    parameters.push(query::columns("values", values));
    parameters.push(query::columns(
        "group",
        "The columns to group by. Then `order` may be `count` or `-count`, too: by the number of rows",
    ));
    parameters.push(query::numbers());
    parameters
        .push(query::header("If-None-Match", "The entity tag of a result that the client has"));
    let summary = "Aggregate all rows, or groups of rows";
    let mut get = operation(&format!("aggregate_{name}"), summary, parameters);
    let rows = json!({"type": "array", "items": {"type": "object"}});
    let groups = json!({
        "type": "object",
        "required": ["rows", "more"],
        "properties": {"rows": rows, "more": {"type": "boolean"}},
    });
    get["responses"]["200"] = tagged(response("One row per group", json_of(groups)));
    get["responses"]["304"] = empty("The result has not changed");
    problem(&mut get, &[400, 404, 422, 501]);
    get
}

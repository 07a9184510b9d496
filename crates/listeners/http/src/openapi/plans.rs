//! The path of plans.

use super::builders::{json_of, operation, problem, query, reference, response};
use super::examples;
use super::parameters::selection;
use crate::database::table::CachedTable;
use serde_json::{Value, json};

/// The path of the plans of a table's lists.
pub(super) fn path(name: &str, table: &CachedTable, max_page_size: u64) -> Value {
    let mut parameters = selection();
    parameters.push(query::columns("columns", "The columns that the list would have"));
    if let Some(limit) = parameters.iter_mut().find(|one| one["name"] == "limit") {
        limit["schema"]["maximum"] = json!(max_page_size);
    }
    let summary = "Explain how the engine would read a page of rows, without reading it";
    let mut get = operation(&format!("plan_{name}"), summary, parameters);
    get["responses"]["200"] = response("The plan", json_of(reference("bobak.Plan")));
    problem(&mut get, &[400, 404, 501]);
    let mut path = json!({"get": get});
    examples::add(&mut path, table);
    path
}

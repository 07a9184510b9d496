//! Describes the databases, and a database's tables with their columns.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use crate::state::authentication::Client;
use bobak_core::{ColumnRole, ColumnSchema, KeyGeneration, OnDelete, TableSchema};
use bobak_text::json::write_string;
use hyper::StatusCode;

/// `GET /databases`
pub(crate) fn databases(client: &Client) -> ResponseBuilder {
    let mut body = String::from("{\"databases\":");
    write_list(&mut body, client.databases.iter().map(|database| database.name.as_str()));
    body.push_str("}\n");
    ResponseBuilder::json(StatusCode::OK, body)
}

/// `GET /tables`
pub(crate) async fn tables(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let catalog = request.database.schema.catalog().await?;
    let mut body = String::from("{\"tables\":[");
    for (index, table) in catalog.sorted().into_iter().enumerate() {
        body.push_str(if index > 0 { ",\n" } else { "\n" });
        write_table(&mut body, table);
    }
    body.push_str("]}\n");
    Ok(ResponseBuilder::json(StatusCode::OK, body))
}

/// `GET /tables/{table}`
pub(crate) async fn table(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let table = request.table(name).await?;
    let mut body = String::new();
    write_table(&mut body, &table);
    body.push('\n');
    Ok(ResponseBuilder::json(StatusCode::OK, body))
}

fn write_table(out: &mut String, table: &CachedTable) {
    let schema = &table.schema;
    let columns = schema.columns();
    out.push_str("{\"name\":");
    write_string(out, schema.name());
    out.push_str(",\"key\":");
    let key = schema.key().iter().filter_map(|&position| columns.get(position));
    write_list(out, key.map(|column| &*column.name));
    out.push_str(",\"keys\":");
    write_string(
        out,
        match schema.key_generation() {
            KeyGeneration::Given => "given",
            KeyGeneration::Engine | KeyGeneration::Uuid => "generated",
        },
    );
    if schema.never_reuses_keys() {
        out.push_str(",\"never_reuse_keys\":true");
    }
    if schema.is_view() {
        out.push_str(",\"view\":true");
    }
    write_foreign_keys(out, schema);
    write_search(out, schema);
    out.push_str(",\"columns\":[");
    for (index, column) in columns.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        write_column(out, column);
    }
    out.push_str("]}");
}

fn write_foreign_keys(out: &mut String, schema: &TableSchema) {
    let columns = schema.columns();
    for (index, key) in schema.foreign_keys().iter().enumerate() {
        out.push_str(if index > 0 { ",{\"columns\":" } else { ",\"foreign_keys\":[{\"columns\":" });
        let own = key.columns.iter().filter_map(|&position| columns.get(position));
        write_list(out, own.map(|column| &*column.name));
        out.push_str(",\"references\":{\"table\":");
        write_string(out, &key.table);
        out.push_str(",\"columns\":");
        write_list(out, key.referenced.iter().map(|name| &**name));
        write_on_delete(out, key.on_delete);
        out.push_str(if index + 1 == schema.foreign_keys().len() { "}}]" } else { "}}" });
    }
}

/// Writes what a delete of the referenced row does to this one, if it does not fail.
fn write_on_delete(out: &mut String, on_delete: OnDelete) {
    match on_delete {
        OnDelete::Cascade => out.push_str(",\"on_delete\":\"cascade\""),
        OnDelete::SetNull => out.push_str(",\"on_delete\":\"set_null\""),
        OnDelete::Restrict | OnDelete::NoAction => {}
    }
}

fn write_search(out: &mut String, schema: &TableSchema) {
    let Some(search) = schema.search() else { return };
    out.push_str(",\"search\":{\"columns\":");
    let columns = search.columns.iter().filter_map(|&place| schema.columns().get(place));
    write_list(out, columns.map(|column| &*column.name));
    out.push_str(",\"language\":");
    write_string(out, search.language.name());
    out.push('}');
}

fn write_column(out: &mut String, column: &ColumnSchema) {
    out.push_str("{\"name\":");
    write_string(out, &column.name);
    out.push_str(",\"type\":");
    write_string(out, &column.ty.to_string());
    out.push_str(if column.nullable { ",\"nullable\":true" } else { ",\"nullable\":false" });
    if column.unique {
        out.push_str(",\"unique\":true");
    }
    if let Some(max) = column.max_chars {
        out.push_str(",\"max_chars\":");
        out.push_str(itoa::Buffer::new().format(max));
    }
    if let Some(default) = &column.default {
        out.push_str(",\"default\":");
        write_cell(out, column.ty, NumberFormat::Exact, default.as_ref());
    }
    if let Some(check) = &column.check {
        out.push_str(",\"check\":");
        write_string(out, check);
    }
    if let Some(expression) = &column.generated {
        out.push_str(",\"generated\":");
        write_string(out, expression);
    }
    if let Some(reference) = &column.reference {
        out.push_str(",\"references\":{\"table\":");
        write_string(out, &reference.table);
        out.push_str(",\"column\":");
        write_string(out, &reference.column);
        write_on_delete(out, reference.on_delete);
        out.push('}');
    }
    let role = match column.role {
        ColumnRole::Plain => None,
        ColumnRole::CreatedAt => Some("created"),
        ColumnRole::ModifiedAt => Some("modified"),
        ColumnRole::Version => Some("version"),
    };
    if let Some(role) = role {
        out.push_str(",\"role\":");
        write_string(out, role);
    }
    out.push('}');
}

fn write_list<'n>(out: &mut String, names: impl Iterator<Item = &'n str>) {
    out.push('[');
    for (index, name) in names.enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        write_string(out, name);
    }
    out.push(']');
}

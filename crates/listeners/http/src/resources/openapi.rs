//! The OpenAPI document of a database.

use crate::openapi::document;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use bobak_core::{Error, ErrorKind};
use hyper::StatusCode;

/// `GET /openapi.json`
pub(crate) async fn openapi(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let catalog = request.database.schema.catalog().await?;
    let base_path = request.parts.uri.path().strip_suffix("/openapi.json").unwrap_or_default();
    let max = request.state.settings.max_page_size;
    let protected = &request.database.protected;
    let has_statements = protected.engine().statements().is_some()
        && request.client.caller.is_unrestricted(protected.name());
    let sql = request.client.sql;
    let has_file = request.state.authenticator.access().has_file();
    let engine = &*request.database.engine;
    let document = document(&catalog, engine, base_path, sql, max, has_statements, has_file);
    let text = serde_json::to_string(&document)
        .map_err(|error| Error::new(ErrorKind::Engine, error.to_string()))?;
    Ok(ResponseBuilder::json(StatusCode::OK, text))
}

//! Roles, users and tokens, for administrators.

use crate::json::error::invalid_json;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use crate::workers::blocking;
use bobak_core::{Error, ErrorKind, Result, Value};
use bobak_permissions::{AccessFile, AccountDescription, hash_password, new_token};
use hyper::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The fewest characters of a password.
const MIN_PASSWORD: usize = 12;
/// The most characters of a password: longer ones would only make the server work.
const MAX_PASSWORD: usize = 128;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRole {
    /// As in the access file: `read on orders where clerk = :user`.
    grants: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    /// Without one, an existing user keeps theirs.
    password: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
    expires: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewToken {
    /// Makes a new token under the name of an existing one.
    #[serde(default)]
    renew: bool,
    #[serde(default)]
    roles: Vec<String>,
    expires: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, Json>,
}

/// `GET /access`
pub(crate) async fn get(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let access = request.administered_access()?;
    let all = blocking::run(move || Ok(access.describe()?)).await?;
    let account = |account: &AccountDescription| {
        let variables = account.variables.iter().map(|(name, value)| {
            let value = match value {
                Value::Int(number) => json!(number),
                Value::Text(text) => json!(text),
                _ => Json::Null,
            };
            (name.clone(), value)
        });
        let variables: serde_json::Map<_, _> = variables.collect();
        let (name, roles, expires) = (&account.name, &account.roles, &account.expires);
        json!({"name": name, "roles": roles, "expires": expires, "variables": variables})
    };
    let roles = all.roles.iter().map(|(name, grants)| json!({"name": name, "grants": grants}));
    let body = json!({
        "file": all.file.map(|file| file.display().to_string()),
        "public": all.is_public,
        "roles": roles.collect::<Vec<_>>(),
        "users": all.users.iter().map(account).collect::<Vec<_>>(),
        "tokens": all.tokens.iter().map(account).collect::<Vec<_>>(),
    });
    Ok(ResponseBuilder::json(StatusCode::OK, body.to_string() + "\n"))
}

/// `PUT /access/roles/{name}`
pub(crate) async fn put_role(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let (new, name): (NewRole, _) = (body(request).await?, name.to_owned());
    let mut known = Vec::new();
    for database in request.state.authenticator.databases() {
        // Grants may also be given while a database does not answer.
        if let Ok(tables) = database.schema.tables().await {
            known.push((database.name.clone(), tables));
        }
    }
    edit(request, format!("changed the role {name}"), move |file| {
        file.set_grants(&name, &new.grants)?;
        for (database, tables) in &known {
            for table in tables.sorted() {
                file.policy().check_table(&name, database, &table.schema)?;
            }
        }
        Ok(())
    })
    .await
}

/// `DELETE /access/roles/{name}`
pub(crate) async fn delete_role(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let name = name.to_owned();
    edit(request, format!("removed the role {name}"), move |file| file.revoke(&name, None)).await
}

/// `PUT /access/users/{name}`
pub(crate) async fn put_user(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let new: NewUser = body(request).await?;
    let length = new.password.as_ref().map(|password| password.chars().count());
    if length.is_some_and(|length| !(MIN_PASSWORD..=MAX_PASSWORD).contains(&length)) {
        let message = format!("a password has {MIN_PASSWORD} to {MAX_PASSWORD} characters");
        return Err(Problem::from(Error::new(ErrorKind::Invalid, message)));
    }
    let user = described(name, new.roles, new.expires, new.variables)?;
    let log = format!("changed the user {name}");
    edit(request, log, move |file| {
        let hash = new.password.as_deref().map(hash_password).transpose()?;
        file.set_user(&user, hash.as_deref())
    })
    .await
}

/// `DELETE /access/users/{name}`
pub(crate) async fn delete_user(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let name = name.to_owned();
    let log = format!("removed the user {name}");
    edit(request, log, move |file| found(file.remove_user(&name)?)).await
}

/// `PUT /access/tokens/{name}`: the response has the token, this once, if it is new.
pub(crate) async fn put_token(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let new: NewToken = body(request).await?;
    let token = described(name, new.roles, new.expires, new.variables)?;
    let access = request.administered_access()?;
    let is_account = !request.client.caller.is_operator();
    let made = blocking::run(move || {
        let mut made = None;
        access.edit(|file| {
            keep_an_administrator(file, is_account, |file| {
                let is_known = file.policy().tokens().any(|known| known == token.name);
                if is_known && !new.renew {
                    return file.set_token(&token, None);
                }
                let (secret, hash) = new_token()?;
                made = Some(secret);
                file.set_token(&token, Some(&hash))
            })
        })?;
        Ok(made)
    })
    .await
    .map_err(as_request_error)?;
    request.state.log_peer(&request.peer, format_args!("changed the token {name}"));
    Ok(ResponseBuilder::json(StatusCode::OK, json!({"token": made}).to_string() + "\n"))
}

/// `DELETE /access/tokens/{name}`
pub(crate) async fn delete_token(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let name = name.to_owned();
    let log = format!("removed the token {name}");
    edit(request, log, move |file| found(file.remove_token(&name)?)).await
}

/// Reads the body.
async fn body<T: DeserializeOwned>(request: &mut RequestContext) -> Result<T, Problem> {
    request.parameters.finish()?;
    let body = request.body(&["application/json"]).await?;
    Ok(serde_json::from_slice(&body).map_err(|error| invalid_json(&error))?)
}

/// Edits the access file, and logs who did.
async fn edit(
    request: &mut RequestContext,
    log: String,
    edit: impl FnOnce(&mut AccessFile) -> Result<()> + Send + 'static,
) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let access = request.administered_access()?;
    let is_account = !request.client.caller.is_operator();
    let edit = move |file: &mut AccessFile| keep_an_administrator(file, is_account, edit);
    blocking::run(move || Ok(access.edit(edit)?)).await.map_err(as_request_error)?;
    request.state.log_peer(&request.peer, log);
    Ok(ResponseBuilder::empty(StatusCode::NO_CONTENT))
}

/// Edits the access file for an administrator, but not so that an account of the file takes the role from the last
/// administrator in it: nobody could give it back. One who signed in by the link can do that.
fn keep_an_administrator(
    file: &mut AccessFile,
    is_account: bool,
    edit: impl FnOnce(&mut AccessFile) -> Result<()>,
) -> Result<()> {
    let has_one = |file: &AccessFile| file.policy().accounts_with("admin").next().is_some();
    let had_one = has_one(file);
    edit(file)?;
    if is_account && had_one && !has_one(file) {
        let message = "no account would have the role `admin`: give it to another one first";
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    Ok(())
}

/// What the access file does not accept is a mistake of the client.
fn as_request_error(problem: Problem) -> Problem {
    match problem.error().kind() {
        ErrorKind::Config => {
            Problem::with_status(StatusCode::UNPROCESSABLE_ENTITY, problem.into_error())
        }
        _ => problem,
    }
}

fn described(
    name: &str,
    roles: Vec<String>,
    expires: Option<String>,
    variables: BTreeMap<String, Json>,
) -> Result<AccountDescription, Problem> {
    let value = |(name, value): (String, Json)| match value {
        Json::String(text) => Ok((name, Value::from(text))),
        Json::Number(number) if number.is_i64() => {
            Ok((name, Value::Int(number.as_i64().unwrap_or_default())))
        }
        _ => {
            Err(Problem::bad_request(format!("the variable '{name}' must be a text or an integer")))
        }
    };
    let variables = variables.into_iter().map(value).collect::<Result<_, _>>()?;
    Ok(AccountDescription { name: name.to_owned(), roles, expires, variables })
}

fn found(is_found: bool) -> Result<()> {
    if is_found { Ok(()) } else { Err(Error::new(ErrorKind::NotFound, "not found")) }
}

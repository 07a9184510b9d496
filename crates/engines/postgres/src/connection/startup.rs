//! The beginning of a connection: greeting, password, settings.

use crate::connection::Connection;
use crate::connection::stream::broken;
use crate::error::ServerError;
use crate::protocol::message::{self, Message};
use crate::settings::{Settings, TargetServer};
use bobak_core::{Error, ErrorKind, Result};
use bytes::BytesMut;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::frontend;

/// What the server may ask for, in a form that borrows nothing.
enum AuthenticationMessage {
    Nothing,
    Taken,
    Ready,
    Clear,
    Md5([u8; 4]),
    Sasl(Vec<String>),
    SaslContinue(Vec<u8>),
    SaslFinal(Vec<u8>),
    Unknown(u32),
}

/// Greets the server, proves who we are, and waits until it is ready.
///
/// # Errors
/// `Denied`, `Config`, `Unreachable`, `Timeout`, `Busy`.
pub(crate) fn run(connection: &mut Connection, settings: &Settings) -> Result<()> {
    let timeout =
        |name: &str, time: std::time::Duration| (name.to_owned(), time.as_millis().to_string());
    let mut parameters = vec![
        ("user".to_owned(), settings.user.clone()),
        ("client_encoding".to_owned(), "UTF8".to_owned()),
        ("application_name".to_owned(), settings.application_name.clone()),
        // Literals, parts and formats of instants are in UTC, as on every engine.
        ("TimeZone".to_owned(), "UTC".to_owned()),
    ];
    if !settings.database.is_empty() {
        parameters.push(("database".to_owned(), settings.database.clone()));
    }
    if settings.prepared {
        parameters.push(timeout("lock_timeout", settings.busy_timeout));
        parameters.push(timeout("statement_timeout", settings.statement_timeout));
        parameters.push(("standard_conforming_strings".to_owned(), "on".to_owned()));
    }
    if let Some(schema) = &settings.schema {
        parameters.push(("search_path".to_owned(), quoted(schema)));
    }
    let mut greeting = BytesMut::new();
    let borrowed = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    frontend::startup_message(borrowed, &mut greeting).map_err(|error| own(&error))?;
    connection.out.extend_from_slice(&greeting);
    connection.send("greeting it")?;
    let mut scram: Option<sasl::ScramSha256> = None;
    loop {
        match authentication_request(connection)? {
            AuthenticationMessage::Ready => return Ok(()),
            AuthenticationMessage::Nothing | AuthenticationMessage::Taken => {}
            AuthenticationMessage::Clear => password(connection, secret(settings)?.as_bytes())?,
            AuthenticationMessage::Md5(salt) => {
                let user = settings.user.as_bytes();
                let hashed = md5_hash(user, secret(settings)?.as_bytes(), salt);
                password(connection, hashed.as_bytes())?;
            }
            AuthenticationMessage::Sasl(mechanisms) => {
                if !mechanisms.iter().any(|name| name == sasl::SCRAM_SHA_256) {
                    return Err(unsupported_method(&mechanisms.join(" or ")));
                }
                let binding = sasl::ChannelBinding::unsupported();
                let begun = sasl::ScramSha256::new(secret(settings)?.as_bytes(), binding);
                send_response(connection, |out| {
                    frontend::sasl_initial_response(sasl::SCRAM_SHA_256, begun.message(), out)
                })?;
                scram = Some(begun);
            }
            AuthenticationMessage::SaslContinue(data) => {
                let begun = scram.as_mut().ok_or_else(unexpected_request)?;
                begun.update(&data).map_err(|error| denied(error.to_string()))?;
                let message = begun.message().to_vec();
                send_response(connection, |out| frontend::sasl_response(&message, out))?;
            }
            AuthenticationMessage::SaslFinal(data) => {
                let begun = scram.as_mut().ok_or_else(unexpected_request)?;
                begun.finish(&data).map_err(|error| denied(error.to_string()))?;
            }
            AuthenticationMessage::Unknown(number) => {
                return Err(unsupported_method(&number.to_string()));
            }
        }
    }
}

fn quoted(schema: &str) -> String {
    bobak_sql::quote(bobak_sql::Dialect::Postgres, schema)
}

#[cold]
fn unsupported_method(method: &str) -> Error {
    denied(format!("Bobak does not support the server's authentication method {method}"))
}

#[cold]
fn unexpected_request() -> Error {
    denied("the server sent an unexpected authentication request".into())
}

/// Rejects a server that does not match the requested target.
///
/// # Errors
/// `ReadOnly`; `Unreachable` if a reader was requested.
pub(crate) fn check_target(connection: &mut Connection, target: TargetServer) -> Result<()> {
    if target == TargetServer::Any {
        return Ok(());
    }
    let mut read_only = false;
    connection.simple("SHOW transaction_read_only", |message| {
        if let Message::Row(body) = message {
            read_only = body.ends_with(b"on");
        }
    })?;
    match (target, read_only) {
        (TargetServer::ReadWrite, true) => Err(Error::new(
            ErrorKind::ReadOnly,
            "the server is read-only, but the settings have target=read-write",
        )),
        (TargetServer::ReadOnly, false) => Err(Error::new(
            ErrorKind::Unreachable,
            "the server is not read-only, but the settings have target=read-only",
        )),
        _ => Ok(()),
    }
}

/// Rejects a proxy that has ignored the requested schema: the tables would be those of another one.
///
/// # Errors
/// `Config`.
pub(crate) fn check_schema(connection: &mut Connection, settings: &Settings) -> Result<()> {
    // Without a proxy, the server itself has set what it was sent.
    let Some(schema) = settings.schema.as_ref().filter(|_| !settings.prepared) else {
        return Ok(());
    };
    let (wanted, mut is_set) = (quoted(schema), false);
    connection.simple("SHOW search_path", |message| {
        if let Message::Row(body) = message {
            // One column: their number and its length come first.
            is_set = body.get(6..) == Some(wanted.as_bytes());
        }
    })?;
    if is_set { Ok(()) } else { Err(schema_behind_proxy()) }
}

#[cold]
fn schema_behind_proxy() -> Error {
    Error::new(
        ErrorKind::Config,
        "the proxy does not pass on the setting `schema`: leave it out, and set the search_path of the role \
         (ALTER ROLE … SET search_path = …) or of the database",
    )
}

/// The error of a server, or a proxy, that rejects the connection.
#[cold]
fn rejected(error: ServerError) -> Error {
    // PgBouncer's, for parameters that it cannot keep apart for each client.
    let Some(name) = error.message.strip_prefix("unsupported startup parameter: ") else {
        return error.into_error();
    };
    if name.contains("search_path") {
        return schema_behind_proxy().with_source(error);
    }
    Error::new(
        ErrorKind::Config,
        format!("the proxy rejects the setting {name}: connect with prepared=off"),
    )
    .with_source(error)
}

fn authentication_request(connection: &mut Connection) -> Result<AuthenticationMessage> {
    let message = connection.inbox.next(&mut connection.stream);
    Ok(match message.map_err(|error| broken("connecting", error))? {
        Message::Error(body) => return Err(rejected(ServerError::parse(body))),
        Message::Ready(_) => AuthenticationMessage::Ready,
        Message::CancelKey(key) => {
            if let Some(key) = key.first_chunk() {
                connection.cancel_key = *key;
            }
            AuthenticationMessage::Nothing
        }
        Message::Authentication(body) => {
            let kind = body.first_chunk().map_or(u32::MAX, |bytes| u32::from_be_bytes(*bytes));
            let rest = body.get(4..).unwrap_or_default();
            match (kind, rest.first_chunk()) {
                (0, _) => AuthenticationMessage::Taken,
                (3, _) => AuthenticationMessage::Clear,
                (5, Some(salt)) => AuthenticationMessage::Md5(*salt),
                (10, _) => AuthenticationMessage::Sasl(mechanisms(rest)),
                (11, _) => AuthenticationMessage::SaslContinue(rest.to_vec()),
                (12, _) => AuthenticationMessage::SaslFinal(rest.to_vec()),
                _ => AuthenticationMessage::Unknown(kind),
            }
        }
        _ => AuthenticationMessage::Nothing,
    })
}

fn mechanisms(body: &[u8]) -> Vec<String> {
    let names = body.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

fn secret(settings: &Settings) -> Result<&str> {
    let missing = || denied(format!("the server requires a password for '{}'", settings.user));
    settings.password.as_deref().ok_or_else(missing)
}

fn password(connection: &mut Connection, password: &[u8]) -> Result<()> {
    message::write(&mut connection.out, b'p', |out| {
        out.extend_from_slice(password);
        out.push(0);
    });
    connection.send("sending the password")
}

fn send_response(
    connection: &mut Connection,
    write: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
) -> Result<()> {
    let mut out = BytesMut::new();
    write(&mut out).map_err(|error| own(&error))?;
    connection.out.extend_from_slice(&out);
    connection.send("sending the password")
}

fn own(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Config, format!("a setting can't be sent: {error}"))
}

fn denied(message: String) -> Error {
    Error::new(ErrorKind::Denied, message)
}

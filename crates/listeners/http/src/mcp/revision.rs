//! The revisions of the protocol. Since 2026-07-28 each request names the one that it follows; before, `initialize` agrees on one.

use super::message::{RpcError, RpcMessage, RpcMessages};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The revisions, the newest first.
pub(super) const VERSIONS: [&str; 5] =
    [STATELESS, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The revision whose requests name it.
const STATELESS: &str = "2026-07-28";

/// How long a client may keep what does not depend on rows, in milliseconds.
const FRESH: u32 = 300_000;

/// How a request says which revision it follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RpcRevision {
    /// It names it.
    Stateless,
    /// It is that to which `initialize` agreed.
    Initialized,
}

/// What a request says of its client.
#[derive(Deserialize)]
struct RequestMeta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: String,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<RequestMeta>,
    name: Option<String>,
}

/// The newest revision that `initialize` agrees on, or the one that the client wants.
pub(super) fn agreed(wanted: Option<&str>) -> &'static str {
    let [_, newest, ..] = VERSIONS;
    let mut initialized = VERSIONS.into_iter().skip(1);
    initialized.find(|version| Some(*version) == wanted).unwrap_or(newest)
}

impl RpcRevision {
    /// The revision of a request.
    ///
    /// # Errors
    /// If there is no such revision, or the request lacks what it demands.
    pub fn of(message: &RpcMessage) -> Result<Self, RpcError> {
        let Some(meta) = params(message).and_then(|params| params.meta) else {
            return Ok(Self::Initialized);
        };
        match meta.version.as_str() {
            STATELESS if meta.capabilities.is_some() => Ok(Self::Stateless),
            STATELESS => Err(RpcError::invalid_params(
                "_meta needs io.modelcontextprotocol/clientCapabilities, an object",
            )),
            version if VERSIONS.contains(&version) => Ok(Self::Initialized),
            version => Err(RpcError::unsupported_version(version, &VERSIONS)),
        }
    }

    /// The result of a method as this revision has it.
    pub fn complete(self, method: &str, mut result: Value) -> Value {
        if self == Self::Stateless {
            result["resultType"] = "complete".into();
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server_info()});
            if method != "tools/call" {
                result["ttlMs"] = FRESH.into();
                // Tools depend on the client's permissions.
                result["cacheScope"] = "private".into();
            }
        }
        result
    }
}

pub(super) fn server_info() -> Value {
    json!({"name": "bobak", "version": env!("CARGO_PKG_VERSION")})
}

fn params(message: &RpcMessage) -> Option<Params> {
    message.params.as_deref().and_then(|params| serde_json::from_str(params.get()).ok())
}

/// Checks that the headers of a request say the same as the request.
///
/// # Errors
/// If the version is unknown, or a header is missing or differs.
pub(super) fn check_headers(headers: &HeaderMap, messages: &RpcMessages) -> Result<(), RpcError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = header("mcp-protocol-version");
    if let Some(version) = version
        && !VERSIONS.contains(&version)
    {
        return Err(RpcError::unsupported_version(version, &VERSIONS));
    }
    let RpcMessages::One(message) = messages else {
        return match version {
            Some(STATELESS) => Err(RpcError::invalid_request("a request has one message")),
            _ => Ok(()),
        };
    };
    let params = params(message);
    let of_message = params.as_ref().and_then(|params| params.meta.as_ref());
    let of_message = of_message.map(|meta| meta.version.as_str());
    if (version != Some(STATELESS) && of_message != Some(STATELESS)) || message.id.is_none() {
        return Ok(());
    }
    let name = header("mcp-name").map(decoded);
    let wanted_name = params.as_ref().and_then(|params| params.name.as_deref());
    let is_call = message.method.as_deref() == Some("tools/call");
    let wrong = if version != of_message {
        "MCP-Protocol-Version"
    } else if header("mcp-method") != message.method.as_deref() {
        "Mcp-Method"
    } else if is_call && name.as_deref() != wanted_name {
        "Mcp-Name"
    } else {
        return Ok(());
    };
    Err(RpcError::header_mismatch(format!(
        "the header {wrong} is missing, or differs from the request's body"
    )))
}

/// A header's value, which is in Base64 if it could not be sent as it is.
fn decoded(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    let bytes = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| value.to_owned())
}

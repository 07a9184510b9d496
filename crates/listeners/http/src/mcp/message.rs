//! Messages of JSON-RPC 2.0.

use hyper::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The most messages of a batch.
const MAX_BATCH: usize = 100;

/// A request, or a notification, which has no id and gets no response.
#[derive(Debug, Deserialize)]
pub(super) struct RpcMessage {
    jsonrpc: String,
    #[serde(default, deserialize_with = "not_null")]
    pub id: Option<Box<RawValue>>,
    /// Missing in responses, which a client has no reason to send.
    #[serde(default, deserialize_with = "not_null")]
    pub method: Option<String>,
    #[serde(default)]
    pub params: Option<Box<RawValue>>,
}

/// Reads a member that may be missing, but not be null.
fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// What arrives at once.
#[derive(Debug)]
pub(super) enum RpcMessages {
    One(RpcMessage),
    /// Clients of the protocol version 2025-03-26 may send several messages together.
    Batch(Vec<RpcMessage>),
}

/// Why a message has no result.
#[derive(Debug)]
pub(super) struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

/// The code of an error whose request has no such method.
const NO_METHOD: i32 = -32_601;

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(-32_700, message)
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32_600, message)
    }

    pub fn no_method(method: &str) -> Self {
        Self::new(NO_METHOD, format!("there is no method '{method}'"))
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(-32_020, message)
    }

    /// `supported` are the versions that there are.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let message = format!("the protocol's version must be one of {}", supported.join(", "));
        let data = json!({"supported": supported, "requested": requested});
        Self { data: Some(data), ..Self::new(-32_022, message) }
    }

    /// The status of an HTTP response with this error alone.
    pub fn status(&self) -> StatusCode {
        if self.code == NO_METHOD { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST }
    }

    /// The response to the message with this id.
    pub fn response(&self, id: Option<&RawValue>) -> String {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id_text(id))
    }
}

impl RpcMessages {
    /// # Errors
    /// If the text is no JSON, or no message.
    pub fn parse(text: &[u8]) -> Result<Self, RpcError> {
        let text =
            std::str::from_utf8(text).map_err(|_| RpcError::parse("the text is no UTF-8"))?;
        let json: &RawValue = serde_json::from_str(text)
            .map_err(|error| RpcError::parse(format!("invalid JSON: {error}")))?;
        let invalid = |error| RpcError::invalid_request(format!("this is no message: {error}"));
        if !json.get().starts_with('[') {
            let message: RpcMessage = serde_json::from_str(json.get()).map_err(invalid)?;
            return message.checked().map(Self::One);
        }
        let messages: Vec<RpcMessage> = serde_json::from_str(json.get()).map_err(invalid)?;
        if messages.is_empty() || messages.len() > MAX_BATCH {
            return Err(RpcError::invalid_request(format!(
                "a batch has 1 to {MAX_BATCH} messages"
            )));
        }
        messages.into_iter().map(RpcMessage::checked).collect::<Result<_, _>>().map(Self::Batch)
    }

    /// The id of the message, if it is one.
    pub fn into_id(self) -> Option<Box<RawValue>> {
        match self {
            Self::One(message) => message.id,
            Self::Batch(_) => None,
        }
    }
}

impl RpcMessage {
    fn checked(self) -> Result<Self, RpcError> {
        let id = self.id.as_deref().map_or("0", RawValue::get);
        let is_whole = || id.chars().all(|c| c == '-' || c.is_ascii_digit());
        let is_valid = id.starts_with('"') || is_whole();
        match self.jsonrpc.as_str() {
            "2.0" if is_valid => Ok(self),
            "2.0" => Err(RpcError::invalid_request("an id is a text or a whole number")),
            _ => Err(RpcError::invalid_request("the member jsonrpc must be \"2.0\"")),
        }
    }

    /// The response with this result.
    pub fn response(&self, result: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_text(self.id.as_deref()))
    }

    /// The request that this notification cancels.
    pub fn canceled_request(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Canceled {
            #[serde(rename = "requestId")]
            request: Box<RawValue>,
        }
        let is_cancel = self.method.as_deref() == Some("notifications/cancelled");
        let params = self.params.as_deref().filter(|_| is_cancel)?;
        let canceled: Canceled = serde_json::from_str(params.get()).ok()?;
        Some(canceled.request.get().to_owned())
    }
}

fn id_text(id: Option<&RawValue>) -> &str {
    id.map_or("null", RawValue::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_and_wrong_ones_rejected() {
        let code = |text: &str| RpcMessages::parse(text.as_bytes()).err().map(|error| error.code);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), None);
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), None);
        assert_eq!(code(r#"[{"jsonrpc":"2.0","id":"a","method":"ping"}]"#), None);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        for wrong in ["", "{", "\"\u{0}\"", "{\"jsonrpc\":\"2.0\"}}"] {
            assert_eq!(code(wrong), Some(-32_700), "{wrong}");
        }
        for wrong in [
            "[]",
            "1",
            "{}",
            r#"{"jsonrpc":"1.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":null}]"#,
        ] {
            assert_eq!(code(wrong), Some(-32_600), "{wrong}");
        }
        assert_eq!(RpcMessages::parse(b"\xff").err().map(|error| error.code), Some(-32_700));
    }

    #[test]
    fn a_cancellation_names_its_request() {
        let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"r"}}"#;
        let Ok(RpcMessages::One(message)) = RpcMessages::parse(text.as_bytes()) else {
            panic!("one")
        };
        assert_eq!(message.canceled_request().as_deref(), Some("\"x\""));
    }
}

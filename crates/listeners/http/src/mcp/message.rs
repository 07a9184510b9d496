//! Messages of JSON-RPC 2.0.

use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::RawValue;

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
}

impl RpcError {
    pub fn parse(message: impl Into<String>) -> Self {
        Self { code: -32_700, message: message.into() }
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self { code: -32_600, message: message.into() }
    }

    pub fn no_method(method: &str) -> Self {
        Self { code: -32_601, message: format!("there is no method '{method}'") }
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: -32_602, message: message.into() }
    }

    /// The response to the message with this id.
    pub fn response(&self, id: Option<&RawValue>) -> String {
        let error = json!({"code": self.code, "message": self.message});
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

    /// The response with this result, which is JSON.
    pub fn response(&self, result: &str) -> String {
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

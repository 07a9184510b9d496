//! The objects of a JSON array, or of NDJSON, one after the other. Numbers stay the digits that they are.

use crate::error::{Error, Result};
use crate::import::csv_reader::MAX_LINE_BYTES;
use serde::de::IgnoredAny;
use std::io::{BufReader, Bytes, Read};

/// Reads objects from an input, one at a time.
pub struct JsonObjects<'a> {
    bytes: Bytes<BufReader<&'a mut dyn Read>>,
    object: String,
    number: u64,
    /// Whether the objects are in an array.
    in_array: bool,
    ended: bool,
}

impl<'a> JsonObjects<'a> {
    /// Reads from `input`.
    pub fn new(input: &'a mut dyn Read) -> Self {
        let bytes = BufReader::with_capacity(256 * 1024, input).bytes();
        Self { bytes, object: String::new(), number: 0, in_array: false, ended: false }
    }

    /// The text of the next object; `None` after the last. Error messages call the input `name`.
    ///
    /// # Errors
    /// If the input can't be read, or is no JSON of objects.
    pub fn next(&mut self, name: &str) -> Result<Option<&str>> {
        let wrong = |number: u64, message: &str| {
            Err(Error::failed(format!("{name}, object {number}: {message}")))
        };
        let mut separated = self.number == 0;
        loop {
            let byte = self.byte(name)?;
            match byte {
                None if self.in_array && !self.ended => {
                    return wrong(self.number, "the array does not end: expected ]");
                }
                None => return Ok(None),
                // The bytes of a byte order mark.
                Some(0xef | 0xbb | 0xbf) if self.number == 0 => {}
                Some(byte) if byte.is_ascii_whitespace() => {}
                Some(b'[') if self.number == 0 && !self.in_array => self.in_array = true,
                Some(b']') if self.in_array && !self.ended => self.ended = true,
                Some(b',') if self.in_array && !separated && !self.ended => separated = true,
                Some(b'{') if !self.ended && (separated || !self.in_array) => break,
                Some(byte) => {
                    let message = format!("expected an object, found '{}'", char::from(byte));
                    return wrong(self.number + 1, &message);
                }
            }
        }
        self.number += 1;
        let bytes = self.take_object(name)?;
        let number = self.number;
        self.object = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return wrong(number, "it is not UTF-8"),
        };
        if let Err(error) = serde_json::from_str::<IgnoredAny>(&self.object) {
            return wrong(number, &format!("it is not JSON: {error}"));
        }
        Ok(Some(&self.object))
    }

    /// The bytes of an object whose `{` is read, to the `}` that closes it.
    fn take_object(&mut self, name: &str) -> Result<Vec<u8>> {
        let mut bytes = vec![b'{'];
        let (mut depth, mut quoted, mut escaped) = (1_usize, false, false);
        while depth > 0 {
            let Some(byte) = self.byte(name)? else { break };
            bytes.push(byte);
            if bytes.len() as u64 > MAX_LINE_BYTES {
                let limit = MAX_LINE_BYTES >> 20;
                let number = self.number;
                return Err(Error::failed(format!(
                    "{name}, object {number}: it is longer than {limit} MiB"
                )));
            }
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => depth -= 1,
                _ => {}
            }
        }
        Ok(bytes)
    }

    fn byte(&mut self, name: &str) -> Result<Option<u8>> {
        let byte = self.bytes.next().transpose();
        byte.map_err(|error| Error::io(format_args!("read {name}"), &error))
    }
}

/// The members of a valid object: each name, and the value's text.
pub fn members(object: &str) -> Vec<(String, &str)> {
    let mut members = Vec::new();
    let mut rest = object.trim_start().strip_prefix('{').unwrap_or_default().trim_start();
    while rest.starts_with('"') {
        let (name, after) = rest.split_at(value_length(rest));
        let after = after.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
        let (value, after) = after.split_at(value_length(after));
        members.push((serde_json::from_str(name).unwrap_or_default(), value));
        rest = after.trim_start().strip_prefix(',').unwrap_or_default().trim_start();
    }
    members
}

/// The number of bytes of the value at the beginning of a text.
fn value_length(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => {
                quoted = !quoted;
                if !quoted && depth == 0 {
                    return at + 1;
                }
            }
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            _ if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str) -> Result<Vec<String>> {
        let mut input = text.as_bytes();
        let mut objects = JsonObjects::new(&mut input);
        let mut all = Vec::new();
        while let Some(object) = objects.next("t.json")? {
            let members = members(object);
            all.push(members.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join("|"));
        }
        Ok(all)
    }

    #[test]
    fn objects_of_arrays_and_lines_are_found() {
        let expected = ["a=1|b=\"x,}\\\"\"", "a={ \"c\": [1, 2] }|b=null", ""];
        let parts =
            ["{\"a\":1,\"b\":\"x,}\\\"\"}", "{ \"a\" : { \"c\": [1, 2] } , \"b\":null }", "{}"];
        assert_eq!(objects(&parts.join("\n")).expect("reads"), expected);
        assert_eq!(objects(&format!("[\n{}\n]\n", parts.join(",\n"))).expect("reads"), expected);
        assert_eq!(objects(&format!("\u{feff}[{}]", parts.join(","))).expect("reads"), expected);
        assert_eq!(objects("[]").expect("reads"), [""; 0]);
    }

    #[test]
    fn other_json_is_rejected() {
        for text in
            ["[1]", "[{}", "[{} {}]", "{},{}", "[{}] {}", "{\"a\":01}", "{\"a\"", "[,{}]", "{} x"]
        {
            assert!(objects(text).is_err(), "{text}");
        }
    }
}

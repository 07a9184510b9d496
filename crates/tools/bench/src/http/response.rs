//! An answer, as it lies in the buffer that it was read into.

use std::str;

use crate::contender::Failure;

/// An answer that is there to its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The status, such as 200.
    pub status: u16,
    /// The location of the created row; empty if the response has none.
    pub location: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Response<'a> {
    /// The answer at the beginning of `bytes`, and how many of them it has; none while bytes are
    /// missing.
    ///
    /// # Errors
    /// What is no answer, or one whose length is not told in its head.
    pub fn of(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Failure> {
        let Some(end) = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let (head, rest) = bytes.split_at(end + 4);
        let head = str::from_utf8(head).map_err(|_| Failure::new("an answer's head is no text"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(status);
        let status = status.ok_or_else(|| Failure::new("the server does not speak HTTP/1.1"))?;
        let (mut length, mut location) = (Some(0), "");
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().ok();
            } else if name.eq_ignore_ascii_case("location") {
                location = value;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = None;
            }
        }
        let length: usize = length.ok_or_else(|| Failure::new("an answer has no length"))?;
        let whole = |body| (Self { status, location, body }, end + 4 + length);
        Ok(rest.get(..length).map(whole))
    }

    /// Rejects every status but this one.
    ///
    /// # Errors
    /// The status, and what the server says of it.
    pub fn expect(&self, status: u16) -> Result<(), Failure> {
        if self.status == status {
            return Ok(());
        }
        let said = String::from_utf8_lossy(self.body);
        Err(Failure::new(format!("status {}, not {status}: {}", self.status, said.trim())))
    }
}

fn status(line: &str) -> Option<u16> {
    line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_complete_with_its_last_byte() {
        let text =
            b"HTTP/1.1 201 Created\r\nLocation: /t/7\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 2";
        let length = text.len() - "HTTP/1.1 2".len();
        for end in 0..length {
            assert_eq!(Response::of(&text[..end]), Ok(None), "{end}");
        }
        let (response, read) = Response::of(text).expect("is one").expect("is whole");
        assert_eq!(
            (response, read),
            (Response { status: 201, location: "/t/7", body: b"{}" }, length)
        );
        assert!(response.expect(201).is_ok());
        let failure = response.expect(200).expect_err("is another");
        assert_eq!(failure.to_string(), "status 201, not 200: {}");
    }

    #[test]
    fn what_can_not_be_read_is_rejected() {
        for text in [
            "HTTP/1.0 200 OK\r\n\r\n",
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            assert!(Response::of(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Response::of(b"HTTP/1.1 204 \xff\r\n\r\n").is_err());
    }
}

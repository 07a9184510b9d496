//! The frames that a client sent after a request that is still running.

use bobak_wire::{FrameHeader, FrameKind, HEADER_LENGTH};

/// The received part of the frames after a request, and whether one of them cancels it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PipelinedFrames {
    /// How many bytes of the current frame are missing.
    missing: usize,
    /// The start of a header that is not complete.
    header: Vec<u8>,
    /// Whether the client has cancelled the request.
    pub cancelled: bool,
}

impl PipelinedFrames {
    /// Scans the bytes received after a request with this id.
    pub fn of(bytes: &[u8], id: u32) -> Self {
        let mut pipelined = Self::default();
        if !bytes.is_empty() {
            pipelined.scan(bytes, id);
        }
        pipelined
    }

    /// Skips over frames, and notes one that cancels the request.
    pub fn scan(&mut self, mut bytes: &[u8], id: u32) {
        loop {
            let skipped = self.missing.min(bytes.len());
            self.missing -= skipped;
            let (header, rest) = bytes
                .get(skipped..)
                .unwrap_or_default()
                .split_at_checked(HEADER_LENGTH - self.header.len())
                .unwrap_or((bytes.get(skipped..).unwrap_or_default(), &[]));
            self.header.extend_from_slice(header);
            let Some(header) = self.header.first_chunk::<HEADER_LENGTH>() else { return };
            let Ok(header) = FrameHeader::decode(*header) else {
                // Reading it will fail: nothing after it is a frame.
                self.missing = usize::MAX;
                return;
            };
            self.header.clear();
            self.cancelled |= header.kind == FrameKind::Cancel && header.id == id;
            self.missing = header.length as usize;
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_wire::encode_request;

    #[test]
    fn cancellation_is_found_however_the_bytes_are_split() {
        let mut sent = Vec::new();
        encode_request::ping(&mut sent, 8);
        encode_request::execute(&mut sent, 9, bobak_wire::RequestSource::Text("SELECT 1", &[]))
            .unwrap();
        encode_request::cancel(&mut sent, 7);
        for cut in 0..sent.len() {
            let (read, unread) = sent.split_at(cut);
            let mut pipelined = PipelinedFrames::of(read, 7);
            assert!(!pipelined.cancelled);
            pipelined.scan(unread, 7);
            assert!(pipelined.cancelled, "cut at {cut}");
            let mut other = PipelinedFrames::of(read, 6);
            other.scan(unread, 6);
            assert!(!other.cancelled);
        }
        assert!(PipelinedFrames::of(&sent, 7).cancelled);
        assert!(!PipelinedFrames::of(b"GET / HTTP/1.1\r\n", 7).cancelled);
    }
}

//! Collations of columns, which say in what encoding texts that are not UTF-16 are.

/// A collation as the protocol has it: 20 bits of a locale, flags, and the number of an old sort order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CollationBytes(pub [u8; 5]);

/// The locales whose code page is Windows-1252.
const WESTERN: [u16; 12] = [
    0x0403, 0x0406, 0x0407, 0x0409, 0x040a, 0x040b, 0x040c, 0x0410, 0x0413, 0x0414, 0x0416, 0x041d,
];

/// Windows-1252 from 0x80 on; five places are not used.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl CollationBytes {
    fn is_utf8(self) -> bool {
        u32::from_le_bytes([self.0[0], self.0[1], self.0[2], self.0[3]]) >> 26 & 1 == 1
    }

    fn is_western(self) -> bool {
        let locale = u16::from_le_bytes([self.0[0], self.0[1]]);
        // The old sort orders from 30 to 37 and from 40 to 49 are of other code pages.
        WESTERN.contains(&locale) && (self.0[4] == 0 || self.0[4] >= 50)
    }

    /// Bytes as text; `None` if they are not ASCII, and neither UTF-8 nor Windows-1252.
    pub(super) fn decode(self, bytes: &[u8], to: &mut Vec<u8>) -> Option<()> {
        if bytes.is_ascii() || self.is_utf8() && std::str::from_utf8(bytes).is_ok() {
            to.extend_from_slice(bytes);
            return Some(());
        }
        if self.is_utf8() || !self.is_western() {
            return None;
        }
        for byte in bytes {
            let high = byte.checked_sub(0x80).and_then(|at| WINDOWS.get(usize::from(at)));
            let character = high.copied().unwrap_or(char::from(*byte));
            to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded_by_their_collation() {
        let (western, utf8) =
            (CollationBytes([9, 4, 0xd0, 0, 52]), CollationBytes([9, 4, 0xd0, 4, 0]));
        let decode = |collation: CollationBytes, bytes: &[u8]| {
            let mut text = Vec::new();
            collation.decode(bytes, &mut text)?;
            String::from_utf8(text).ok()
        };
        assert_eq!(decode(western, b"caf\xe9 \x80").as_deref(), Some("café €"));
        assert_eq!(decode(utf8, "é".as_bytes()).as_deref(), Some("é"));
        assert_eq!(decode(utf8, b"\xe9"), None);
        assert_eq!(decode(CollationBytes([0x19, 4, 0, 0, 0]), b"\xe9"), None);
    }
}

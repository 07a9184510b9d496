//! The formats of files that can be written.

use super::bytes::{byte, long, part, put};
use super::pages::PAGE;
use bobak_core::{Error, ErrorKind, Result};

/// The format of a file, by the number that its first page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileFormat(u8);

const AT_VERSION: usize = 0x14;
const AT_HIDDEN: usize = 0x18;
/// In the hidden part: the key of an encrypted file.
const AT_KEY: usize = 0x3e;
/// In the hidden part: the sort order of texts.
const AT_SORT_ORDER: usize = 0x6e;
/// The description of an encryption, and its length.
const AT_ENCRYPTION: usize = 0x299;

/// How the first page is hidden: these bytes are added modulo 2. From `HEADER_MASK` of Jackcess 4.0.8.
const HIDING: [u8; 128] = [
    0xb5, 0x6f, 0x03, 0x62, 0x61, 0x08, 0xc2, 0x55, 0xeb, 0xa9, 0x67, 0x72, 0x43, 0x3f, 0x00, 0x9c,
    0x7a, 0x9f, 0x90, 0xff, 0x80, 0x9a, 0x31, 0xc5, 0x79, 0xba, 0xed, 0x30, 0xbc, 0xdf, 0xcc, 0x9d,
    0x63, 0xd9, 0xe4, 0xc3, 0x7b, 0x42, 0xfb, 0x8a, 0xbc, 0x4e, 0x86, 0xfb, 0xec, 0x37, 0x5d, 0x44,
    0x9c, 0xfa, 0xc6, 0x5e, 0x28, 0xe6, 0x13, 0xb6, 0x8a, 0x60, 0x54, 0x94, 0x7b, 0x36, 0xf5, 0x72,
    0xdf, 0xb1, 0x77, 0xf4, 0x13, 0x43, 0xcf, 0xaf, 0xb1, 0x33, 0x34, 0x61, 0x79, 0x5b, 0x92, 0xb5,
    0x7c, 0x2a, 0x05, 0xf1, 0x7c, 0x99, 0x01, 0x1b, 0x98, 0xfd, 0x12, 0x4f, 0x4a, 0x94, 0x6c, 0x3e,
    0x60, 0x26, 0x5f, 0x95, 0xf8, 0xd0, 0x89, 0x24, 0x85, 0x67, 0xc6, 0x1f, 0x27, 0x44, 0xd2, 0xee,
    0xcf, 0x65, 0xed, 0xff, 0x07, 0xc7, 0x46, 0xa1, 0x78, 0x16, 0x0c, 0xed, 0xe9, 0x2d, 0x62, 0xd4,
];

/// The sort order "General": 0x0409, and its version, which is 0 up to Access 2007 and 1 since Access 2010.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortOrder {
    GeneralLegacy,
    General,
}

impl SortOrder {
    /// The sort order that four bytes name; `None` for that of another language.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x09, 0x04, _, 0] => Some(Self::GeneralLegacy),
            [0x09, 0x04, _, 1] => Some(Self::General),
            _ => None,
        }
    }

    /// The four bytes.
    pub const fn bytes(self) -> [u8; 4] {
        [0x09, 0x04, 0, self as u8]
    }
}

impl FileFormat {
    /// Access 2000 to 2003.
    pub const JET_4: Self = Self(1);
    /// Access 2010 and later.
    pub const ACE_14: Self = Self(3);

    /// The format of a file with this first page.
    ///
    /// # Errors
    /// `Unsupported` for a format that can only be read.
    pub fn of(first: &[u8]) -> Result<Self> {
        let only_read = |what: &str| {
            let message = format!("{what} can only be read: copy the tables to a new file");
            Err(Error::new(ErrorKind::Unsupported, message))
        };
        let version = byte(first, AT_VERSION)?;
        if !(1..=6).contains(&version) || part(first, 4, 6)? == b"MSISAM" {
            return only_read("a file of Access 97 or earlier");
        }
        let hidden = part(first, AT_HIDDEN, HIDING.len())?;
        let shown: Vec<u8> = hidden.iter().zip(HIDING).map(|(byte, mask)| byte ^ mask).collect();
        let is_encrypted = long(&shown, AT_KEY - AT_HIDDEN)? != 0
            || (version >= 2 && part(first, AT_ENCRYPTION, 2)? != [0, 0]);
        if is_encrypted {
            return only_read("an encrypted file");
        }
        Ok(Self(version))
    }

    /// Whether its numbers may be "Large Number".
    pub fn has_large_numbers(self) -> bool {
        self >= Self(5)
    }

    /// Whether decimals in indexes sort as those of Access 2000, which sorts negative ones otherwise.
    pub fn has_old_decimals(self) -> bool {
        self == Self::JET_4
    }

    /// The sort order of texts in new files.
    pub const fn sort_order(self) -> SortOrder {
        if self.0 < Self::ACE_14.0 { SortOrder::GeneralLegacy } else { SortOrder::General }
    }

    /// The first page of a new file.
    pub fn first_page(self) -> Result<Vec<u8>> {
        let mut page = vec![0; PAGE];
        let name: &[u8] =
            if self == Self::JET_4 { b"Standard Jet DB\0" } else { b"Standard ACE DB\0" };
        put(&mut page, 0, &[0, 1, 0, 0])?;
        put(&mut page, 4, name)?;
        put(&mut page, AT_VERSION, &[self.0])?;
        let mut hidden = [0; HIDING.len()];
        // As in each file of Access 2000 to 2019 that Jackcess has.
        let numbers = [0x100, 0x101, 2, 3, 4, 5];
        for (at, number) in (0..).step_by(4).zip(numbers) {
            put(&mut hidden, at, &u32::to_le_bytes(number))?;
        }
        put(&mut hidden, 0x3c - AT_HIDDEN, &1252_u16.to_le_bytes())?;
        // The password, which is empty, hidden with the date below.
        for at in 0..10 {
            put(&mut hidden, 0x42 - AT_HIDDEN + 4 * at, &38_143_u32.to_le_bytes())?;
        }
        put(&mut hidden, AT_SORT_ORDER - AT_HIDDEN, &self.sort_order().bytes())?;
        // Access hides the users' names in MSysObjects and MSysACEs with the date of the file, in a way that is not known:
        // so this is the date of a file whose hidden names are.
        put(&mut hidden, 0x72 - AT_HIDDEN, &[0xbc, 0x72, 0x1f, 0x7d, 0xf1, 0x9f, 0xe2, 0x40])?;
        let hidden: Vec<u8> = hidden.iter().zip(HIDING).map(|(byte, mask)| byte ^ mask).collect();
        put(&mut page, AT_HIDDEN, &hidden)?;
        put(&mut page, 0x98, &[0x54, 6, 0, 0])?;
        put(&mut page, 0x9c, b"4.0")?;
        for user in 0..256 {
            put(&mut page, 0xe00 + 2 * user, &[0, 1])?;
        }
        Ok(page)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{AT_ENCRYPTION, AT_KEY, AT_VERSION, FileFormat};
    use bobak_core::ErrorKind;

    #[test]
    fn old_and_encrypted_files_are_not_written() {
        for format in [FileFormat::JET_4, FileFormat::ACE_14] {
            let page = format.first_page().unwrap();
            assert_eq!(FileFormat::of(&page).unwrap(), format);
            for (at, text) in [(AT_VERSION, "Access 97"), (AT_KEY, "encrypted")] {
                let mut other = page.clone();
                other[at] = if at == AT_KEY { !other[at] } else { 0 };
                let error = FileFormat::of(&other).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert!(error.message().contains(text), "{error}");
            }
        }
        let mut page = FileFormat::ACE_14.first_page().unwrap();
        page[AT_ENCRYPTION] = 1;
        assert_eq!(FileFormat::of(&page).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

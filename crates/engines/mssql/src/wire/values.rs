//! Values, as they arrive and as they are sent.

use super::bytes::{ByteSource, push_text};
use super::status::invalid;
use super::types::{SentKind, TypeInfo, fixed_length, type_id};
use std::io;

/// The day 1970-01-01, in days since 0001-01-01 and since 1900-01-01.
const EPOCH: i64 = 719_162;
const EPOCH_1900: i64 = 25_567;
const DAY: i64 = 86_400_000_000;

/// A value that has arrived. Texts and bytes are a range of the reader's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TdsCell {
    Null,
    Int(i64),
    Float(f64),
    /// A number, and how many of its digits are decimals.
    Decimal(i128, u8),
    /// Days since 1970-01-01.
    Date(i64),
    /// Microseconds, since midnight or since 1970-01-01.
    Micros(i64),
    /// A text in UTF-8.
    Text(usize, usize),
    Bytes(usize, usize),
    /// A value that has no place in Bobak, and why.
    Foreign(&'static str),
}

/// Reads a value of a type; texts and bytes are added to `bytes`.
pub(super) fn read(
    source: &mut impl ByteSource,
    ty: TypeInfo,
    bytes: &mut Vec<u8>,
) -> io::Result<TdsCell> {
    if let Some(length) = fixed_length(ty.id) {
        return if length == 0 { Ok(TdsCell::Null) } else { number(source, ty, length as usize) };
    }
    match ty.id {
        type_id::TEXT | type_id::NTEXT | type_id::IMAGE => return old_long(source, ty, bytes),
        type_id::VARIANT => {
            let length = source.u32()?;
            source.skip(length as usize)?;
            let variant = TdsCell::Foreign("a value of sql_variant: read it by CAST to its type");
            return Ok(if length == 0 { TdsCell::Null } else { variant });
        }
        _ if ty.is_in_parts() => return parts(source, ty, bytes),
        type_id::VARBINARY
        | type_id::BINARY
        | type_id::VARCHAR
        | type_id::CHAR
        | type_id::NVARCHAR
        | type_id::NCHAR => {
            let length = source.u16()?;
            if length == u16::MAX {
                return Ok(TdsCell::Null);
            }
            let mut raw = Vec::new();
            source.append(length.into(), &mut raw)?;
            return Ok(text_or_bytes(ty, &raw, bytes));
        }
        _ => {}
    }
    let length = usize::from(source.u8()?);
    match ty.id {
        type_id::OLD_CHAR | type_id::OLD_VARCHAR | type_id::OLD_BINARY | type_id::OLD_VARBINARY => {
            let mut raw = Vec::new();
            source.append(length, &mut raw)?;
            Ok(text_or_bytes(ty, &raw, bytes))
        }
        _ if length == 0 => Ok(TdsCell::Null),
        type_id::GUID => uuid(source, length, bytes),
        type_id::DECIMAL | type_id::NUMERIC | type_id::OLD_DECIMAL | type_id::OLD_NUMERIC => {
            decimal(source, ty.scale, length)
        }
        type_id::DATE => Ok(TdsCell::Date(days(source)?)),
        type_id::TIME | type_id::DATETIME2 | type_id::DATETIMEOFFSET => moment(source, ty, length),
        _ => number(source, ty, length),
    }
}

/// A number, an old amount of money, or an old date.
fn number(source: &mut impl ByteSource, ty: TypeInfo, length: usize) -> io::Result<TdsCell> {
    let signed = |number: u128| match length {
        2 => i64::from(number as i16),
        4 => i64::from(number as i32),
        _ => number as i64,
    };
    match (ty.id, length) {
        (type_id::REAL | type_id::FLOAT | type_id::FLOATN, 4) => {
            Ok(TdsCell::Float(f32::from_bits(source.u32()?).into()))
        }
        (type_id::REAL | type_id::FLOAT | type_id::FLOATN, 8) => {
            Ok(TdsCell::Float(f64::from_bits(source.u64()?)))
        }
        (type_id::MONEY | type_id::SMALLMONEY | type_id::MONEYN, 8) => {
            let (high, low) = (i64::from(source.i32()?), i64::from(source.u32()?));
            Ok(TdsCell::Decimal((high << 32 | low).into(), 4))
        }
        (type_id::MONEY | type_id::SMALLMONEY | type_id::MONEYN, 4) => {
            Ok(TdsCell::Decimal(source.i32()?.into(), 4))
        }
        (type_id::DATETIME | type_id::SMALLDATETIME | type_id::DATETIMEN, _) => {
            old_moment(source, length)
        }
        (_, 1 | 2 | 4 | 8) => Ok(TdsCell::Int(signed(source.number(length)?))),
        _ => Err(invalid("a number has a length that its type does not have")),
    }
}

/// The days that a DATETIME may have, from 1900-01-01 on.
const DATETIME_DAYS: std::ops::RangeInclusive<i64> = -53_690..=2_958_463;

/// A DATETIME of eight bytes, or a SMALLDATETIME of four.
fn old_moment(source: &mut impl ByteSource, length: usize) -> io::Result<TdsCell> {
    match length {
        8 => {
            let (day, parts) = (i64::from(source.i32()?), i64::from(source.u32()?));
            if !DATETIME_DAYS.contains(&day) {
                return Err(invalid("a DATETIME is outside of the years 1753 to 9999"));
            }
            // Three-hundredths of a second, which stand for the nearest milliseconds.
            let millis = (parts * 10 + 1) / 3;
            Ok(TdsCell::Micros((day - EPOCH_1900) * DAY + millis * 1_000))
        }
        4 => {
            let (day, minutes) = (i64::from(source.u16()?), i64::from(source.u16()?));
            Ok(TdsCell::Micros((day - EPOCH_1900) * DAY + minutes * 60_000_000))
        }
        _ => Err(invalid("a date has a length that its type does not have")),
    }
}

fn decimal(source: &mut impl ByteSource, scale: u8, length: usize) -> io::Result<TdsCell> {
    let is_positive = source.u8()? != 0;
    let digits = source.number(length - 1)?;
    let digits = i128::try_from(digits).map_err(|_| invalid("a decimal has too many digits"))?;
    Ok(TdsCell::Decimal(if is_positive { digits } else { -digits }, scale))
}

/// A UUID, whose first three fields SQL Server has in little-endian order.
fn uuid(source: &mut impl ByteSource, length: usize, bytes: &mut Vec<u8>) -> io::Result<TdsCell> {
    if length != 16 {
        return Err(invalid("a uniqueidentifier has 16 bytes"));
    }
    let start = bytes.len();
    bytes.extend(swap_uuid(source.array()?));
    Ok(TdsCell::Bytes(start, bytes.len()))
}

fn swap_uuid(mut uuid: [u8; 16]) -> [u8; 16] {
    for range in [0..4, 4..6, 6..8] {
        uuid.get_mut(range).unwrap_or_default().reverse();
    }
    uuid
}

/// Days since 0001-01-01, as days since 1970-01-01.
fn days(source: &mut impl ByteSource) -> io::Result<i64> {
    Ok(source.number(3)? as i64 - EPOCH)
}

fn moment(source: &mut impl ByteSource, ty: TypeInfo, length: usize) -> io::Result<TdsCell> {
    let rest = match ty.id {
        type_id::TIME => 0,
        type_id::DATETIME2 => 3,
        _ => 5,
    };
    let time = length.checked_sub(rest).filter(|time| (3..=5).contains(time) && ty.scale <= 7);
    let time = time.ok_or_else(|| invalid("a time has a length that its type does not have"))?;
    let parts = source.number(time)? as i64;
    // The seconds' parts have `scale` digits; those after the sixth are less than a microsecond.
    let (micros, is_exact) = match ty.scale {
        7 => (parts / 10, parts % 10 == 0),
        scale => (parts * 10_i64.pow(6 - u32::from(scale)), true),
    };
    let day = if ty.id == type_id::TIME { 0 } else { days(source)? };
    if ty.id == type_id::DATETIMEOFFSET {
        // The moment is in UTC; the offset says in which zone it was written.
        source.u16()?;
    }
    Ok(match is_exact {
        true => TdsCell::Micros(day * DAY + micros),
        false => TdsCell::Foreign(
            "a time with digits after the microseconds: read it by CAST to DATETIME2(6) or TIME(6)",
        ),
    })
}

fn text_or_bytes(ty: TypeInfo, raw: &[u8], bytes: &mut Vec<u8>) -> TdsCell {
    let start = bytes.len();
    match ty.id {
        type_id::NVARCHAR | type_id::NCHAR | type_id::NTEXT | type_id::XML => {
            let (pairs, _) = raw.as_chunks::<2>();
            let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
            for character in char::decode_utf16(units) {
                let Ok(character) = character else {
                    return TdsCell::Foreign("a text with half of a surrogate pair");
                };
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            TdsCell::Text(start, bytes.len())
        }
        type_id::VARCHAR
        | type_id::CHAR
        | type_id::TEXT
        | type_id::OLD_CHAR
        | type_id::OLD_VARCHAR => match ty.collation.decode(raw, bytes) {
            Some(()) => TdsCell::Text(start, bytes.len()),
            None => TdsCell::Foreign("a text in another code page: read it by CAST to NVARCHAR"),
        },
        _ => {
            bytes.extend_from_slice(raw);
            TdsCell::Bytes(start, bytes.len())
        }
    }
}

/// A value in parts: the length of all, which may be unknown, then each after its length, then a zero.
fn parts(source: &mut impl ByteSource, ty: TypeInfo, bytes: &mut Vec<u8>) -> io::Result<TdsCell> {
    if source.u64()? == u64::MAX {
        return Ok(TdsCell::Null);
    }
    let mut raw = Vec::new();
    loop {
        match source.u32()? {
            0 => return Ok(text_or_bytes(ty, &raw, bytes)),
            length => source.append(length as usize, &mut raw)?,
        }
    }
}

fn old_long(
    source: &mut impl ByteSource,
    ty: TypeInfo,
    bytes: &mut Vec<u8>,
) -> io::Result<TdsCell> {
    let pointer = source.u8()?;
    if pointer == 0 {
        return Ok(TdsCell::Null);
    }
    source.skip(usize::from(pointer) + 8)?;
    let length = source.u32()?;
    let mut raw = Vec::new();
    source.append(length as usize, &mut raw)?;
    Ok(text_or_bytes(ty, &raw, bytes))
}

/// A value that is sent, of some [`SentKind`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TdsValue<'v> {
    Null,
    Int(i64),
    Float(f64),
    /// Days since 1970-01-01, none before 0001-01-01.
    Date(i64),
    /// Microseconds since midnight, of one day.
    Time(i64),
    /// Microseconds since 1970-01-01, none before 0001-01-01.
    Moment(i64),
    Text(&'v str),
    Bytes(&'v [u8]),
}

impl TdsValue<'_> {
    /// Writes the value after its length.
    pub(super) fn push(self, kind: SentKind, out: &mut Vec<u8>) {
        match (self, kind) {
            (Self::Null, SentKind::Text(None) | SentKind::Bytes(None)) => {
                out.extend(u64::MAX.to_le_bytes());
            }
            (Self::Null, SentKind::Text(_) | SentKind::Bytes(_)) => {
                out.extend(u16::MAX.to_le_bytes());
            }
            (Self::Null, _) => out.push(0),
            (Self::Int(scaled), SentKind::Money) => {
                out.extend([9, u8::from(scaled >= 0)]);
                out.extend(scaled.unsigned_abs().to_le_bytes());
            }
            (Self::Text(text), SentKind::Text(limit)) => {
                let mut raw = Vec::with_capacity(text.len() * 2);
                push_text(&mut raw, text);
                push_counted(out, &raw, limit.is_some());
            }
            (Self::Bytes(bytes), SentKind::Bytes(limit)) => {
                push_counted(out, bytes, limit.is_some());
            }
            (Self::Date(_), _) => self.push_sized(3, kind, out),
            (Self::Time(_), _) => self.push_sized(5, kind, out),
            (Self::Int(_), SentKind::Int(bytes)) => self.push_sized(bytes, kind, out),
            (Self::Int(_), _) => self.push_sized(1, kind, out),
            (Self::Float(_) | Self::Moment(_), _) => self.push_sized(8, kind, out),
            (Self::Text(_) | Self::Bytes(_), _) => self.push_sized(16, kind, out),
        }
    }

    fn push_sized(self, length: u8, kind: SentKind, out: &mut Vec<u8>) {
        out.push(length);
        self.push_plain(kind, out);
    }

    /// Writes the value without its length.
    pub(super) fn push_plain(self, kind: SentKind, out: &mut Vec<u8>) {
        let mut push_days = |days: i64| {
            let [a, b, c, ..] = (days + EPOCH).to_le_bytes();
            out.extend([a, b, c]);
        };
        match self {
            Self::Date(days) => push_days(days),
            Self::Time(micros) => {
                out.extend_from_slice(micros.to_le_bytes().get(..5).unwrap_or_default());
            }
            Self::Moment(micros) => {
                Self::Time(micros.rem_euclid(DAY)).push_plain(kind, out);
                Self::Date(micros.div_euclid(DAY)).push_plain(kind, out);
            }
            Self::Float(float) => out.extend(float.to_le_bytes()),
            Self::Int(integer) => {
                let length = if let SentKind::Int(bytes) = kind { usize::from(bytes) } else { 1 };
                out.extend_from_slice(integer.to_le_bytes().get(..length).unwrap_or_default());
            }
            Self::Bytes(bytes) => {
                out.extend(bytes.first_chunk().map_or([0; 16], |uuid| swap_uuid(*uuid)));
            }
            Self::Null | Self::Text(_) => {}
        }
    }
}

fn push_counted(out: &mut Vec<u8>, raw: &[u8], is_short: bool) {
    if is_short {
        out.extend(u16::try_from(raw.len()).unwrap_or(u16::MAX - 1).to_le_bytes());
        out.extend_from_slice(raw);
        return;
    }
    out.extend((raw.len() as u64).to_le_bytes());
    for part in raw.chunks(1 << 30) {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
    out.extend([0; 4]);
}

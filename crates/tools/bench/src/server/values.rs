//! Money and moments as PostgreSQL's binary form has them. Its usual driver gives the bytes, and
//! leaves the types to the program.

use std::error::Error;

use postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// Microseconds from 1970 to 2000, where PostgreSQL's moments begin.
const FROM_1970: i64 = 946_684_800_000_000;

/// An amount times 10,000, as `numeric(19,4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money(pub i64);

/// Microseconds since 1970, as `timestamp` or `timestamptz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub i64);

impl Moment {
    /// The eight bytes of the binary form.
    pub const fn bytes(self) -> [u8; 8] {
        self.0.saturating_sub(FROM_1970).to_be_bytes()
    }
}

impl Money {
    /// The binary form: how many digits of base 10,000, the first one's weight, the sign, how many
    /// decimals are shown, the digits. The last digit is the one of the four decimals.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut digits = [0_u16; 5];
        let mut rest = self.0.unsigned_abs();
        for digit in digits.iter_mut().rev() {
            *digit = u16::try_from(rest % 10_000).unwrap_or(0);
            rest /= 10_000;
        }
        let first = digits.iter().position(|digit| *digit != 0).unwrap_or(4);
        let digits = digits.get(first..).unwrap_or_default();
        let sign: u16 = if self.0 < 0 { 0x4000 } else { 0 };
        let weight = 3 - i16::try_from(first).unwrap_or(0);
        let count = u16::try_from(digits.len()).unwrap_or(0);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&weight.to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&4_u16.to_be_bytes());
        for digit in digits {
            out.extend_from_slice(&digit.to_be_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<2>();
        let word = |at: usize| words.get(at).map(|word| u16::from_be_bytes(*word));
        let (count, weight, sign) = (word(0)?, word(1)?.cast_signed(), word(2)?);
        let mut amount = 0_i64;
        for place in 0..count {
            // The digit of weight -1 holds the four decimals, that of weight 0 the units.
            let power = weight + 1 - i16::try_from(place).ok()?;
            let unit = 10_000_i64.checked_pow(u32::try_from(power).ok()?)?;
            amount = amount.checked_add(unit.checked_mul(word(4 + usize::from(place))?.into())?)?;
        }
        Some(Self(if sign == 0x4000 { -amount } else { amount }))
    }
}

impl<'a> FromSql<'a> for Money {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Self::read(bytes).ok_or_else(|| "a number is not money".into())
    }

    accepts!(NUMERIC);
}

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(bytes.try_into()?).saturating_add(FROM_1970)))
    }

    accepts!(TIMESTAMP, TIMESTAMPTZ);
}

impl ToSql for Money {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let mut bytes = Vec::with_capacity(18);
        self.write(&mut bytes);
        out.extend_from_slice(&bytes);
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl ToSql for Moment {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMP, TIMESTAMPTZ);
    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_comes_back() {
        for amount in [0, 1, -1, 9_999, 10_000, -10_001, 1_000_000, 99_999_999, 123_456_789_012] {
            let mut bytes = Vec::new();
            Money(amount).write(&mut bytes);
            assert_eq!(Money::read(&bytes), Some(Money(amount)), "{amount}: {bytes:?}");
        }
        // 1.5 as the server sends it: two digits, the second with its zeros.
        assert_eq!(Money::read(&[0, 2, 0, 0, 0, 0, 0, 4, 0, 1, 0x13, 0x88]), Some(Money(15_000)));
        // 20,000 has one digit only.
        assert_eq!(Money::read(&[0, 1, 0, 1, 0, 0, 0, 4, 0, 2]), Some(Money(200_000_000)));
        assert_eq!(Money::read(&[0, 1]), None);
    }
}

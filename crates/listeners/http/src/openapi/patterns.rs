//! Patterns of values as text.

use bobak_core::Type;

/// A date and time of day without a zone, to a microsecond.
pub(super) const DATE_TIME: &str = r"^(\d{4}|-00\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6}0*)?)?$";
/// A time of day, to a microsecond.
pub(super) const TIME: &str = r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6}0*)?)?$";
/// An instant, to a microsecond.
pub(super) const TIMESTAMP: &str =
    r"^(\d{4}|-00\d{4})-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6}0*)?([Zz]|[+-]\d\d:\d\d)$";
/// An amount of up to 14 digits and four decimals: the largest ones have 15 digits.
pub(super) const AMOUNT: &str = r"^-?\d{1,14}(\.\d{1,4})?$";
/// A character of a text that is percent-encoded.
pub(super) const ENCODED_CHARACTER: &str = "([0-9A-Za-z_.~-]|%[0-7][0-9A-F]|%(C[2-9A-F]|D[0-9A-F])%[89AB][0-9A-F]\
    |%(E0%[AB]|ED%[89]|E[1-9A-CEF]%[89AB])[0-9A-F]%[89AB][0-9A-F]\
    |%(F0%[9AB]|F4%8|F[1-3]%[89AB])[0-9A-F](%[89AB][0-9A-F]){2})";
/// Bytes in base64. The bits of the last character that belong to no byte are 0.
pub(super) const BASE64: &str =
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";
pub(super) const UUID: &str =
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";

/// A 64-bit integer, of at most 8999999999999999999.
pub(super) const fn integer(ty: Type) -> &'static str {
    match ty {
        Type::U64 => r"^[0-8]?\d{1,18}$",
        _ => r"^-?[0-8]?\d{1,18}$",
    }
}

//! Replaces SQLite's functions that search texts. Its own take the product of two lengths and cannot be
//! interrupted, so one call with two long texts would run for hours.

use super::collation::bytes;
use super::connection::{Connection, Failure};
use bobak_core::{Interrupt, check_pattern, glob, like, like_with_escape};
use libsqlite3_sys as sys;
use memchr::memmem;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_int};
use std::ptr;

/// The message for a pattern with more than `MAX_PATTERN_BYTES`.
const PATTERN_TOO_LONG: &CStr = c"a pattern is too long: it may have 50000 bytes";

type Function =
    unsafe extern "C" fn(*mut sys::sqlite3_context, c_int, *mut *mut sys::sqlite3_value);

const FUNCTIONS: [(&CStr, c_int, Function); 8] = [
    (c"like", 2, like_function),
    (c"like", 3, like_function),
    (c"glob", 2, glob_function),
    (c"instr", 2, instr),
    (c"replace", 3, replace),
    (c"trim", 2, trim::<true, true>),
    (c"ltrim", 2, trim::<true, false>),
    (c"rtrim", 2, trim::<false, true>),
];

impl Connection {
    /// Registers the functions. They compute what SQLite's do, except that `LIKE` does not stop at a NUL.
    pub(crate) fn register_text_functions(&mut self) -> Result<(), Failure> {
        let flags = sys::SQLITE_UTF8 | sys::SQLITE_DETERMINISTIC | sys::SQLITE_INNOCUOUS;
        for (name, arguments, function) in FUNCTIONS {
            // SAFETY: the handle is open, the name ends with NUL, the function needs no state.
            let code = unsafe {
                sys::sqlite3_create_function_v2(
                    self.raw.as_ptr(),
                    name.as_ptr(),
                    arguments,
                    flags,
                    ptr::null_mut(),
                    Some(function),
                    None,
                    None,
                    None,
                )
            };
            self.check(code)?;
        }
        Ok(())
    }
}

/// The arguments of a call, none of which is NULL; `None` if one is, since the result is NULL then.
///
/// # Safety
/// SQLite passes these arguments to a function that it calls.
unsafe fn arguments<'a>(
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) -> Option<&'a [*mut sys::sqlite3_value]> {
    // SAFETY: SQLite passes an array of this many values, which lives during the call.
    let values = unsafe { std::slice::from_raw_parts(values, usize::try_from(count).ok()?) };
    // SAFETY: each is a value.
    let is_null = |value: &*mut sys::sqlite3_value| unsafe { is(*value, sys::SQLITE_NULL) };
    (!values.iter().any(is_null)).then_some(values)
}

/// # Safety
/// The value is one of a running call.
unsafe fn is(value: *mut sys::sqlite3_value, kind: c_int) -> bool {
    // SAFETY: the caller says so.
    unsafe { sys::sqlite3_value_type(value) == kind }
}

/// The bytes of a value's text.
///
/// # Safety
/// The value is one of a running call, and not asked for another type while the result lives.
unsafe fn text_bytes<'a>(value: *mut sys::sqlite3_value) -> &'a [u8] {
    // SAFETY: `sqlite3_value_text` before `sqlite3_value_bytes`, as their order is prescribed.
    unsafe {
        let start = sys::sqlite3_value_text(value);
        bytes(start.cast(), sys::sqlite3_value_bytes(value))
    }
}

/// # Safety
/// As [`text_bytes`].
unsafe fn text<'a>(value: *mut sys::sqlite3_value) -> Cow<'a, str> {
    // SAFETY: the caller says so.
    String::from_utf8_lossy(unsafe { text_bytes(value) })
}

/// Returns a truth value, or ends the statement if the call was interrupted.
///
/// # Safety
/// The context is that of a running call.
unsafe fn result_bool(context: *mut sys::sqlite3_context, result: bool) {
    // SAFETY: the caller says so.
    unsafe {
        if Interrupt::is_now() {
            sys::sqlite3_result_error_code(context, sys::SQLITE_INTERRUPT);
        } else {
            sys::sqlite3_result_int(context, c_int::from(result));
        }
    }
}

/// `text LIKE pattern ESCAPE escape`, which SQLite calls as `like(pattern, text, escape)`.
unsafe extern "C" fn like_function(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: SQLite calls this with a context and its arguments.
    unsafe {
        let Some([pattern, subject, escape @ ..]) = arguments(count, values) else { return };
        let (pattern, subject) = (text(*pattern), text(*subject));
        if check_pattern(&pattern).is_err() {
            return fail_pattern(context);
        }
        let matches = match escape.first() {
            None => like(&pattern, &subject),
            Some(escape) => {
                let escape = text(*escape);
                let mut chars = escape.chars();
                let (Some(escape), None) = (chars.next(), chars.next()) else {
                    return fail(context, c"ESCAPE expression must be a single character");
                };
                like_with_escape(&pattern, &subject, escape)
            }
        };
        result_bool(context, matches);
    }
}

/// Ends the statement with an error.
///
/// # Safety
/// The context is that of a running call.
unsafe fn fail(context: *mut sys::sqlite3_context, message: &CStr) {
    // SAFETY: the caller says so; SQLite copies the message.
    unsafe { sys::sqlite3_result_error(context, message.as_ptr(), -1) }
}

/// Ends the statement because a pattern is too long.
///
/// # Safety
/// The context is that of a running call.
unsafe fn fail_pattern(context: *mut sys::sqlite3_context) {
    // SAFETY: the caller says so.
    unsafe {
        fail(context, PATTERN_TOO_LONG);
        // After the message, which SQLite would replace otherwise.
        sys::sqlite3_result_error_code(context, sys::SQLITE_TOOBIG);
    }
}

/// `text GLOB pattern`, which SQLite calls as `glob(pattern, text)`.
unsafe extern "C" fn glob_function(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: SQLite calls this with a context and its arguments.
    unsafe {
        let Some([pattern, subject]) = arguments(count, values) else { return };
        let pattern = text(*pattern);
        if check_pattern(&pattern).is_err() {
            return fail_pattern(context);
        }
        result_bool(context, glob(&pattern, &text(*subject)));
    }
}

/// `instr(text, part)`: the position of the first character of the part, counted from 1; 0 if it is absent. Bytes
/// in bytes are counted in bytes.
unsafe extern "C" fn instr(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: SQLite calls this with a context and its arguments.
    unsafe {
        let Some([whole, part]) = arguments(count, values) else { return };
        let position = if is(*whole, sys::SQLITE_BLOB) && is(*part, sys::SQLITE_BLOB) {
            let (whole, part) = (blob(*whole), blob(*part));
            memmem::find(whole, part).map_or(0, |at| at + 1)
        } else {
            let (whole, part) = (text_bytes(*whole), text_bytes(*part));
            find_text(whole, part).map_or(0, |at| characters(whole, at))
        };
        sys::sqlite3_result_int64(context, i64::try_from(position).unwrap_or(i64::MAX));
    }
}

/// Whether the byte continues a character.
const fn is_inner(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The first position of a part that begins a character.
fn find_text(whole: &[u8], part: &[u8]) -> Option<usize> {
    match part.first() {
        Some(first) if is_inner(*first) => whole.starts_with(part).then_some(0),
        _ => memmem::find(whole, part),
    }
}

/// The number of the character at this position, counted from 1.
fn characters(text: &[u8], position: usize) -> usize {
    let after_first = text.get(1..=position).unwrap_or_default();
    1 + after_first.iter().filter(|byte| !is_inner(**byte)).count()
}

/// # Safety
/// The value is one of a running call.
unsafe fn blob<'a>(value: *mut sys::sqlite3_value) -> &'a [u8] {
    // SAFETY: `sqlite3_value_blob` before `sqlite3_value_bytes`, as their order is prescribed.
    unsafe {
        let start = sys::sqlite3_value_blob(value);
        bytes(start, sys::sqlite3_value_bytes(value))
    }
}

/// `replace(text, part, other)`.
unsafe extern "C" fn replace(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: SQLite calls this with a context and its arguments.
    unsafe {
        let Some([whole, part, other]) = arguments(count, values) else { return };
        let (text, part, other) = (text_bytes(*whole), text_bytes(*part), text_bytes(*other));
        if part.is_empty() {
            return result_text(context, text);
        }
        let found = memmem::find_iter(text, part).count();
        let length = text.len() - found * part.len();
        let length = length.saturating_add(found.saturating_mul(other.len()));
        if !fits(context, length) {
            return sys::sqlite3_result_error_toobig(context);
        }
        let mut result = Vec::with_capacity(length);
        let mut rest = 0;
        for at in memmem::find_iter(text, part) {
            result.extend_from_slice(text.get(rest..at).unwrap_or_default());
            result.extend_from_slice(other);
            rest = at + part.len();
        }
        result.extend_from_slice(text.get(rest..).unwrap_or_default());
        result_text(context, &result);
    }
}

/// Whether a text of this length is within the connection's limit.
///
/// # Safety
/// The context is that of a running call.
unsafe fn fits(context: *mut sys::sqlite3_context, length: usize) -> bool {
    // SAFETY: the caller says so; -1 asks for the limit.
    let most = unsafe {
        let db = sys::sqlite3_context_db_handle(context);
        sys::sqlite3_limit(db, sys::SQLITE_LIMIT_LENGTH, -1)
    };
    usize::try_from(most).is_ok_and(|most| length <= most)
}

/// # Safety
/// The context is that of a running call.
unsafe fn result_text(context: *mut sys::sqlite3_context, text: &[u8]) {
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    // SAFETY: the caller says so; SQLite copies the text.
    unsafe {
        sys::sqlite3_result_text64(
            context,
            text.as_ptr().cast(),
            length,
            sys::SQLITE_TRANSIENT(),
            sys::SQLITE_UTF8 as u8,
        );
    }
}

/// `trim(text, characters)`, `ltrim` and `rtrim`.
unsafe extern "C" fn trim<const START: bool, const END: bool>(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: SQLite calls this with a context and its arguments.
    unsafe {
        let Some([whole, removed]) = arguments(count, values) else { return };
        let removed = TrimCharacters::new(text_bytes(*removed));
        let mut rest = text_bytes(*whole);
        while START && let Some(length) = removed.at_start(rest) {
            rest = rest.get(length..).unwrap_or_default();
        }
        while END && let Some(length) = removed.at_end(rest) {
            rest = rest.get(..rest.len() - length).unwrap_or_default();
        }
        if Interrupt::is_now() {
            return sys::sqlite3_result_error_code(context, sys::SQLITE_INTERRUPT);
        }
        result_text(context, rest);
    }
}

/// The characters that `trim` removes, as bytes: a text in SQLite need not be UTF-8.
struct TrimCharacters<'a> {
    /// Sorted.
    characters: Vec<&'a [u8]>,
    /// The lengths that occur.
    lengths: BTreeSet<usize>,
}

impl<'a> TrimCharacters<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut characters = Vec::new();
        let mut rest = text;
        while let Some((first, others)) = rest.split_first() {
            let is_inner = |byte: &&u8| *first >= 0xc0 && is_inner(**byte);
            let inner = others.iter().take_while(is_inner).count();
            let (character, after) = rest.split_at(1 + inner);
            characters.push(character);
            rest = after;
        }
        characters.sort_unstable();
        characters.dedup();
        let lengths = characters.iter().map(|character| character.len()).collect();
        Self { characters, lengths }
    }

    /// The length of the character that the text starts with, if it is one of these; `None` after an interrupt, too.
    fn at_start(&self, text: &[u8]) -> Option<usize> {
        self.find(|length| text.get(..length))
    }

    /// The same for the end of the text.
    fn at_end(&self, text: &[u8]) -> Option<usize> {
        self.find(|length| text.get(text.len().checked_sub(length)?..))
    }

    fn find<'t>(&self, part: impl Fn(usize) -> Option<&'t [u8]>) -> Option<usize> {
        let is_one = |length: &usize| {
            part(*length).is_some_and(|part| self.characters.binary_search(&part).is_ok())
        };
        let found = self.lengths.iter().copied().find(is_one);
        found.filter(|_| !Interrupt::is_now())
    }
}

//! Values as bytes that only a key opens.
//!
//! ```text
//! form          1 byte: 1 for XChaCha20-Poly1305 with a random nonce, 2 for AES-256-SIV without one
//! key           4 bytes, little-endian: the key's number
//! check         4 bytes derived from the key
//! nonce         24 bytes; only form 1
//! sealed value  the ciphertext, then its tag of 16 bytes; in form 2 the tag first
//! ```
//!
//! The first nine bytes and the context are authenticated with the value. A value is a byte for its class (1 integer, 2 float,
//! 3 text, 4 bytes), then its content; numbers are 8 bytes, little-endian.

use super::keys::{FieldKey, FieldKeys};
use aes_siv::siv::Aes256Siv;
use bobak_core::{Error, ErrorKind, Result, Value, ValueRef};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use zeroize::Zeroizing;

const RANDOM: u8 = 1;
const SEARCHABLE: u8 = 2;
/// Form, key and check.
const HEAD_BYTES: usize = 9;
const NONCE_BYTES: usize = 24;

/// Encrypts a value that is not NULL with a key: to different bytes each time, or if it is searchable to the same.
///
/// # Errors
/// `Engine` if the system provides no random bytes.
pub(super) fn seal(
    key: &FieldKey,
    searchable: bool,
    context: &[u8],
    value: ValueRef<'_>,
) -> Result<Vec<u8>> {
    let plain = encode(value);
    let mut bytes = head(key, if searchable { SEARCHABLE } else { RANDOM });
    let bound = [&bytes, context].concat();
    let sealed = if searchable {
        let mut cipher = Aes256Siv::new((&*key.searchable).into());
        cipher.encrypt([&bound], &plain).map_err(drop)
    } else {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| {
            Error::new(ErrorKind::Engine, "the system provides no random bytes")
                .with_source(error.to_string())
        })?;
        bytes.extend_from_slice(&nonce);
        let payload = Payload { msg: &plain, aad: &bound };
        let cipher = XChaCha20Poly1305::new((&*key.random).into());
        cipher.encrypt((&nonce).into(), payload).map_err(drop)
    };
    // The cipher's limit is 256 GiB.
    let sealed = sealed
        .map_err(|()| Error::new(ErrorKind::TooLong, "the value is too long to be encrypted"))?;
    bytes.extend_from_slice(&sealed);
    Ok(bytes)
}

/// Decrypts a value.
///
/// # Errors
/// `Denied` for a key that is not among the keys; `Corrupt` for bytes that [`seal`] did not return for this context.
pub(super) fn open(keys: &FieldKeys, context: &[u8], stored: &[u8]) -> Result<Value<'static>> {
    let (head, sealed) = stored.split_first_chunk::<HEAD_BYTES>().ok_or_else(damaged)?;
    let [form, id @ .., _, _, _, _] = head;
    let id = u32::from_le_bytes(*id);
    if ![RANDOM, SEARCHABLE].contains(form) {
        return Err(damaged());
    }
    let denied = |message| Err(Error::new(ErrorKind::Denied, message));
    let Some(key) = keys.all().iter().find(|key| key.id == id) else {
        return denied(format!("the value is encrypted with key {id}, which was not given"));
    };
    if !head.ends_with(&key.check) {
        return denied(format!("the value is encrypted with another key {id} than the given one"));
    }
    let bound = [&head[..], context].concat();
    let plain = if *form == SEARCHABLE {
        Aes256Siv::new((&*key.searchable).into()).decrypt([&bound], sealed).map_err(drop)
    } else {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>().ok_or_else(damaged)?;
        let payload = Payload { msg: sealed, aad: &bound };
        XChaCha20Poly1305::new((&*key.random).into()).decrypt(nonce.into(), payload).map_err(drop)
    };
    let plain = plain.map(Zeroizing::new).map_err(|()| damaged())?;
    decode(&plain).ok_or_else(damaged)
}

/// Whether bytes are encrypted with this key.
pub(super) fn is_sealed_with(key: &FieldKey, searchable: bool, stored: &[u8]) -> bool {
    stored.starts_with(&head(key, if searchable { SEARCHABLE } else { RANDOM }))
}

/// Appends a value to a context, so that no two lists of values have the same bytes.
pub(super) fn bind(context: &mut Vec<u8>, value: ValueRef<'_>) {
    let value = encode(value);
    context.extend_from_slice(&(value.len() as u64).to_le_bytes());
    context.extend_from_slice(&value);
}

fn head(key: &FieldKey, form: u8) -> Vec<u8> {
    [&[form][..], &key.id.to_le_bytes(), &key.check].concat()
}

fn encode(value: ValueRef<'_>) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(match value {
        ValueRef::Null => Vec::new(),
        ValueRef::Int(int) => [&[1][..], &int.to_le_bytes()].concat(),
        ValueRef::Float(float) => [&[2][..], &float.to_bits().to_le_bytes()].concat(),
        ValueRef::Text(text) => [&[3], text.as_bytes()].concat(),
        ValueRef::Bytes(bytes) => [&[4], bytes].concat(),
    })
}

fn decode(bytes: &[u8]) -> Option<Value<'static>> {
    let (class, content) = bytes.split_first()?;
    Some(match class {
        1 => Value::Int(i64::from_le_bytes(content.try_into().ok()?)),
        2 => Value::Float(f64::from_bits(u64::from_le_bytes(content.try_into().ok()?))),
        3 => Value::from(std::str::from_utf8(content).ok()?.to_owned()),
        4 => Value::from(content.to_vec()),
        _ => return None,
    })
}

#[cold]
fn damaged() -> Error {
    let message = "the encrypted value is damaged, or belongs to another row or column";
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_open_with_their_key_and_context_alone() {
        let (one, two) = (FieldKeys::new(1, [1; 32]), FieldKeys::new(1, [2; 32]));
        let values = [
            ValueRef::Int(-7),
            ValueRef::Float(0.5),
            ValueRef::Text("grüezi"),
            ValueRef::Text(""),
            ValueRef::Bytes(&[0, 255]),
        ];
        for value in values {
            for searchable in [false, true] {
                let sealed = seal(&one.all()[0], searchable, b"a", value).unwrap();
                assert_eq!(open(&one, b"a", &sealed).unwrap().as_ref(), value);
                let again = seal(&one.all()[0], searchable, b"a", value).unwrap();
                assert_eq!(again == sealed, searchable);
                let kind = |keys: &FieldKeys, context: &[u8], bytes: &[u8]| {
                    open(keys, context, bytes).unwrap_err().kind()
                };
                assert_eq!(kind(&one, b"b", &sealed), ErrorKind::Corrupt);
                assert_eq!(kind(&two, b"a", &sealed), ErrorKind::Denied);
                assert_eq!(kind(&FieldKeys::new(2, [1; 32]), b"a", &sealed), ErrorKind::Denied);
                for end in 0..sealed.len() {
                    assert_eq!(kind(&one, b"a", &sealed[..end]), ErrorKind::Corrupt);
                }
                for place in 0..sealed.len() {
                    let mut bytes = sealed.clone();
                    bytes[place] ^= 0x40;
                    let found = kind(&one, b"a", &bytes);
                    let of_key = (1..HEAD_BYTES).contains(&place);
                    let wanted = if of_key { ErrorKind::Denied } else { ErrorKind::Corrupt };
                    assert_eq!(found, wanted, "byte {place}");
                }
            }
        }
    }

    #[test]
    fn contexts_tell_lists_of_values_apart() {
        let of = |values: &[&str]| {
            let mut context = b"t.c".to_vec();
            values.iter().for_each(|text| bind(&mut context, ValueRef::Text(text)));
            context
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
    }
}

//! E-mail addresses.

/// The longest address, by RFC 5321.
const MAX_BYTES: usize = 254;
/// The longest label of a domain, by RFC 1034.
const MAX_LABEL: usize = 63;

/// Whether a text is an e-mail address as the HTML standard defines it for `<input type=email>`: what browsers accept.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    let is_local = |c: u8| c.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&c);
    text.len() <= MAX_BYTES
        && !local.is_empty()
        && local.bytes().all(is_local)
        && domain.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let is_inner = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
    (1..=MAX_LABEL).contains(&label.len())
        && label.bytes().all(is_inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::is_email;

    #[test]
    fn addresses_are_those_of_the_html_standard() {
        let good =
            ["a@b", "ada.lovelace+math@example.org", "o'neil@xn--bcher-kva.example", ".@a-b.c1"];
        for text in good {
            assert!(is_email(text), "{text}");
        }
        let bad = [
            "", "@", "a@", "@b", "a b@c", "a@b@c", "a@b..c", "a@.b", "a@-b", "a@b-", "ä@b.de",
            "a@b.", "a@b\n", " a@b",
        ];
        for text in bad {
            assert!(!is_email(text), "{text}");
        }
        assert!(is_email(&format!("a@{}.de", "b".repeat(63))));
        assert!(!is_email(&format!("a@{}.de", "b".repeat(64))));
        assert!(!is_email(&format!("{}@example.org", "a".repeat(243))));
    }
}

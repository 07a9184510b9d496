//! The codes of `strftime` that all engines have.

use super::unsupported;
use bobak_core::Result;

/// How a server writes formats.
pub(super) struct FormatStyle {
    codes: [(char, &'static str); 14],
    /// Appends text that stands for itself.
    push_text: fn(&mut String, &str),
    /// Between two codes.
    separator: &'static str,
}

/// `to_char`.
pub(super) const POSTGRES: FormatStyle = FormatStyle {
    codes: [
        ('Y', "YYYY"),
        ('m', "MM"),
        ('d', "DD"),
        ('H', "HH24"),
        ('M', "MI"),
        ('S', "SS"),
        ('f', "SS.US"),
        ('j', "DDD"),
        ('I', "HH12"),
        ('p', "AM"),
        ('G', "IYYY"),
        ('V', "IW"),
        ('F', "YYYY-MM-DD"),
        ('T', "HH24:MI:SS"),
    ],
    push_text: |out, text| {
        out.push('"');
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                out.push('\\');
            }
            out.push(character);
        }
        out.push('"');
    },
    // `DDDDD` may be read in two ways.
    separator: "\"\"",
};

/// `DATE_FORMAT`.
pub(super) const MYSQL: FormatStyle = FormatStyle {
    codes: [
        ('Y', "%Y"),
        ('m', "%m"),
        ('d', "%d"),
        ('H', "%H"),
        ('M', "%i"),
        ('S', "%s"),
        ('f', "%s.%f"),
        ('j', "%j"),
        ('I', "%I"),
        ('p', "%p"),
        ('G', "%x"),
        ('V', "%v"),
        ('F', "%Y-%m-%d"),
        ('T', "%H:%i:%s"),
    ],
    push_text: |out, text| out.push_str(&text.replace('%', "%%")),
    separator: "",
};

/// A format of `strftime` in another style.
///
/// # Errors
/// `Unsupported` for a code that the style has not.
pub(super) fn formatted(style: &FormatStyle, format: &str) -> Result<String> {
    let (mut out, mut text) = (String::new(), String::new());
    let mut was_code = false;
    let mut rest = format.chars();
    while let Some(character) = rest.next() {
        let code = if character == '%' { rest.next() } else { Some('%') };
        match (character, code) {
            ('%', Some('%')) => text.push('%'),
            ('%', code) => {
                let found = style.codes.iter().find(|(own, _)| Some(*own) == code);
                let (_, written) = found.ok_or_else(|| unknown(style, code))?;
                if !text.is_empty() {
                    push_text(style, &mut out, &text);
                } else if was_code {
                    out.push_str(style.separator);
                }
                text.clear();
                out.push_str(written);
                was_code = true;
            }
            _ => text.push(character),
        }
    }
    if !text.is_empty() {
        push_text(style, &mut out, &text);
    }
    Ok(out)
}

/// Punctuation stands for itself in every style.
fn push_text(style: &FormatStyle, out: &mut String, text: &str) {
    if text.chars().all(|c| matches!(c, '-' | ':' | ' ' | '.' | '/')) {
        out.push_str(text);
    } else {
        (style.push_text)(out, text);
    }
}

#[cold]
fn unknown(style: &FormatStyle, code: Option<char>) -> bobak_core::Error {
    let code = code.map(String::from).unwrap_or_default();
    let known: Vec<String> = style.codes.iter().map(|(code, _)| format!("%{code}")).collect();
    let known = known.join(" ");
    unsupported(format!("strftime's %{code} is not possible on this server: use {known} %%"))
}

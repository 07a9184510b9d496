//! Names in other cases.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

/// The name without `r#`.
pub fn plain(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// `FlightPlan` as `flight_plan`, `HTTPServer` as `http_server`; underscores stay.
pub fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (at, &letter) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let after = chars.get(at + 1);
        let begins = before.is_some_and(|before| {
            let in_capitals =
                before.is_uppercase() && after.is_some_and(|after| after.is_lowercase());
            before.is_lowercase() || before.is_numeric() || in_capitals
        });
        if letter.is_uppercase() && begins {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// The constant for a field: `first_name` as `FIRST_NAME`, with the field's span.
pub fn constant(field: &Ident) -> Ident {
    let name = snake(&plain(field));
    let valid = |name: &String| syn::parse_str::<Ident>(name).is_ok();
    // The capitals of a few letters of other scripts are no part of a name.
    let upper = Some(name.to_uppercase()).filter(valid);
    let name = upper.unwrap_or_else(|| name.to_ascii_uppercase());
    Ident::new(&name, field.span())
}

/// An identifier of the expansion.
pub fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// How `rename_all` writes the names of variants.
#[derive(Clone, Copy)]
pub enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// The words of the attribute.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("kebab-case", Self::Kebab),
        ("SCREAMING-KEBAB-CASE", Self::ScreamingKebab),
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("camelCase", Self::Camel),
        ("PascalCase", Self::Pascal),
    ];

    /// A variant's name in this case.
    pub fn apply(self, variant: &str) -> String {
        let snake = snake(variant);
        match self {
            Self::Lower => variant.to_lowercase(),
            Self::Upper => variant.to_uppercase(),
            Self::Pascal => snake.split('_').map(capitalized).collect(),
            Self::Camel => {
                let (first, rest) = snake.split_once('_').unwrap_or((&snake, ""));
                first.to_owned() + &rest.split('_').map(capitalized).collect::<String>()
            }
            Self::Snake => snake,
            Self::ScreamingSnake => snake.to_uppercase(),
            Self::Kebab => snake.replace('_', "-"),
            Self::ScreamingKebab => snake.to_uppercase().replace('_', "-"),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_keeps_words_and_underscores() {
        for (name, expected) in [
            ("Person", "person"),
            ("FlightPlan", "flight_plan"),
            ("HTTPServer", "http_server"),
            ("Utf8Text", "utf8_text"),
            ("first_name", "first_name"),
            ("_hidden", "_hidden"),
            ("A", "a"),
            ("Größe", "größe"),
        ] {
            assert_eq!(snake(name), expected);
        }
    }

    #[test]
    fn constants_are_the_fields_in_capitals() {
        for (field, expected) in
            [("first_name", "FIRST_NAME"), ("r#type", "TYPE"), ("größe", "GRÖSSE")]
        {
            assert_eq!(constant(&syn::parse_str(field).unwrap()), expected);
        }
    }

    #[test]
    fn variants_in_every_case() {
        let all: Vec<_> = Case::ALL.iter().map(|(_, case)| case.apply("OnHold")).collect();
        let expected =
            ["on_hold", "ON_HOLD", "on-hold", "ON-HOLD", "onhold", "ONHOLD", "onHold", "OnHold"];
        assert_eq!(all, expected);
    }
}

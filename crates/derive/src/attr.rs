//! The parts of an attribute, before anything is known about their meaning.
//!
//! Each part is read by itself, so that a mistake in one does not hide those in the others.

use crate::errors::Errors;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{Parse, Parser};
use syn::{Attribute, Error, LitInt, LitStr, MacroDelimiter, Meta, Path, Result};

/// A value, and the tokens to blame for it.
pub struct At<T> {
    pub value: T,
    pub at: TokenStream,
}

/// One part of an attribute: `unique`, `max = 40`, `index(a, b)`.
pub struct Item {
    pub name: Ident,
    given: ItemValue,
    tokens: TokenStream,
}

enum ItemValue {
    Nothing,
    Value(TokenStream),
    List(TokenStream),
}

/// The parts of all attributes of a namespace, in order; of one given twice, the first.
pub fn items(
    attributes: &[Attribute],
    namespace: &str,
    repeatable: &[&str],
    errors: &mut Errors,
) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for attribute in attributes {
        if !attribute.path().is_ident(namespace) {
            continue;
        }
        let tokens = match &attribute.meta {
            Meta::List(list) if matches!(list.delimiter, MacroDelimiter::Paren(_)) => {
                list.tokens.clone()
            }
            _ => {
                errors.at(attribute, format!("write `#[{namespace}(…)]`"));
                continue;
            }
        };
        for item in split(tokens, errors) {
            let repeatable = repeatable.iter().any(|name| item.name == name);
            if !repeatable && items.iter().any(|other| other.name == item.name) {
                errors.at(&item.tokens, format!("`{}` is given twice: keep one", item.name));
            } else {
                items.push(item);
            }
        }
    }
    items
}

/// The path under which the expansion finds Bobak.
pub fn crate_path(item: &Item, errors: &mut Errors) -> Option<TokenStream> {
    let text = item.literal(r#"crate = "::bobak""#, errors)?;
    match text.parse_with(Path::parse_mod_style) {
        Ok(path) => Some(path.into_token_stream()),
        Err(_) => {
            errors.at(text, "not a path: write `crate = \"::bobak\"`");
            None
        }
    }
}

/// Where Bobak is, unless the user says otherwise.
pub fn default_crate() -> TokenStream {
    quote::quote!(::bobak)
}

impl Item {
    /// The value, with this item's tokens to blame.
    pub fn at<T>(&self, value: T) -> At<T> {
        At { value, at: self.tokens.clone() }
    }

    /// Whether it stands alone; with a value it is a mistake, and counts all the same.
    pub fn flag(&self, errors: &mut Errors) -> At<()> {
        if !matches!(self.given, ItemValue::Nothing) {
            errors.at(&self.tokens, format!("`{0}` takes no value: write `{0}` alone", self.name));
        }
        self.at(())
    }

    /// Whether it stands alone, without a word about it.
    pub fn is_flag(&self) -> bool {
        matches!(self.given, ItemValue::Nothing)
    }

    /// The parts in its parentheses.
    pub fn list(&self, example: &str, errors: &mut Errors) -> Option<Vec<Self>> {
        match &self.given {
            ItemValue::List(tokens) => Some(split(tokens.clone(), errors)),
            _ => {
                errors.at(&self.tokens, format!("`{}` takes a list: write `{example}`", self.name));
                None
            }
        }
    }

    /// Its value, parsed.
    pub fn parse<T: Parse>(&self, example: &str, errors: &mut Errors) -> Option<T> {
        self.parse_with(T::parse, example, errors)
    }

    /// Its value, parsed.
    pub fn parse_with<T>(
        &self,
        parser: impl Parser<Output = T>,
        example: &str,
        errors: &mut Errors,
    ) -> Option<T> {
        if let ItemValue::Value(tokens) = &self.given
            && let Ok(value) = parser.parse2(tokens.clone())
        {
            return Some(value);
        }
        errors.at(&self.tokens, format!("`{}` can't be read: write `{example}`", self.name));
        None
    }

    /// Its value, not parsed.
    pub fn tokens(&self, example: &str, errors: &mut Errors) -> Option<TokenStream> {
        self.parse(example, errors)
    }

    /// The text in its parentheses, parsed.
    pub fn parse_list<T>(
        &self,
        parser: impl Parser<Output = T>,
        example: &str,
        errors: &mut Errors,
    ) -> Option<T> {
        if let ItemValue::List(tokens) = &self.given
            && let Ok(value) = parser.parse2(tokens.clone())
        {
            return Some(value);
        }
        errors.at(&self.tokens, format!("`{}` can't be read: write `{example}`", self.name));
        None
    }

    /// A text.
    pub fn text(&self, example: &str, errors: &mut Errors) -> Option<At<String>> {
        let text = self.literal(example, errors)?;
        Some(At { value: text.value(), at: text.into_token_stream() })
    }

    /// A name in the database: a text that is neither empty nor has a NUL.
    pub fn name(&self, example: &str, errors: &mut Errors) -> Option<At<String>> {
        let text = self.text(example, errors)?;
        if text.value.is_empty() || text.value.contains('\0') {
            errors.at(
                &text.at,
                format!("not a name: write `{example}`, neither empty nor with a NUL"),
            );
            return None;
        }
        Some(text)
    }

    /// A count from 1.
    pub fn count(&self, example: &str, errors: &mut Errors) -> Option<At<u32>> {
        let literal: LitInt = self.parse(example, errors)?;
        match literal.base10_parse() {
            Ok(value @ 1..) => Some(At { value, at: literal.into_token_stream() }),
            _ => {
                errors.at(literal, format!("`{}` must be from 1 to {}", self.name, u32::MAX));
                None
            }
        }
    }

    /// One of some words; returns the value that is listed with it.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)], errors: &mut Errors) -> Option<At<T>> {
        let allowed: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let example = words.first().map_or("", |(word, _)| word);
        let text = self.text(&format!("{} = \"{example}\"", self.name), errors)?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let message =
                format!("`{}` has no \"{}\": write {}", self.name, text.value, any_of(&allowed));
            errors.at(&text.at, message);
        }
        found.map(|(_, value)| At { value: *value, at: text.at })
    }

    /// Notes that nothing has this name here. `elsewhere` are the names that the other place has.
    pub fn unknown(&self, allowed: &[&str], elsewhere: &[&str], place: &str, errors: &mut Errors) {
        let message = if elsewhere.iter().any(|name| self.name == name) {
            format!("`{}` belongs on {place}", self.name)
        } else {
            format!("unknown attribute `{}`: write {}", self.name, self.likely_first(allowed))
        };
        errors.at(&self.name, message);
    }

    /// The names, that of the attribute that was probably meant first: `max` for `max_chars`.
    fn likely_first(&self, allowed: &[&str]) -> String {
        let name = self.name.to_string();
        let part = |long: &str, short: &str| {
            short.len() > 2 && (long.starts_with(short) || long.ends_with(short))
        };
        let similar = |other: &&&str| part(&name, other) || part(other, &name);
        let likely = allowed.iter().filter(similar).max_by_key(|other| other.len());
        let Some(likely) = likely.filter(|_| allowed.len() > 1) else { return any_of(allowed) };
        let others: Vec<_> = allowed.iter().filter(|other| *other != likely).collect();
        format!("{likely}, or {}", any_of(&others))
    }

    fn literal(&self, example: &str, errors: &mut Errors) -> Option<LitStr> {
        self.parse(example, errors)
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.tokens.to_tokens(tokens);
    }
}

fn any_of(names: &[impl AsRef<str>]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    match names[..] {
        [name] => name.to_owned(),
        _ => format!("one of {}", names.join(", ")),
    }
}

/// Parts at top-level commas; one that is no part is a mistake, and left out.
fn split(tokens: TokenStream, errors: &mut Errors) -> Vec<Item> {
    let mut parts = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => parts.push(Vec::new()),
            _ => {
                if let Some(part) = parts.last_mut() {
                    part.push(token);
                }
            }
        }
    }
    let mut items = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        match item(part) {
            Ok(item) => items.push(item),
            Err(error) => errors.push(error),
        }
    }
    items
}

fn item(part: Vec<TokenTree>) -> Result<Item> {
    let tokens: TokenStream = part.iter().cloned().collect();
    let wrong = || Error::new_spanned(&tokens, "write `name`, `name = value` or `name(…)`");
    let mut part = part.into_iter();
    let Some(TokenTree::Ident(name)) = part.next() else {
        return Err(wrong());
    };
    let given = match part.next() {
        None => ItemValue::Nothing,
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => ItemValue::Value(part.collect()),
        Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Parenthesis && part.next().is_none() =>
        {
            ItemValue::List(group.stream())
        }
        Some(_) => return Err(wrong()),
    };
    Ok(Item { name, given, tokens })
}

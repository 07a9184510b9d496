//! Public items as text, without attributes, bodies and private fields: what a program that depends on a crate sees.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::imports;

/// The text of the item whose keyword is at `at`; `None` for modules and imports.
pub fn of_item(tokens: &[TokenTree], at: usize) -> Option<String> {
    let words: Vec<String> = tokens.iter().skip(at).take(5).map(imports::name).collect();
    let is_function = words.iter().find(|word| !is_modifier(word)).is_some_and(|word| word == "fn");
    let keyword = if is_function { "fn" } else { words.iter().find(|word| *word != "unsafe")? };
    let item: Vec<TokenTree> = match keyword {
        "fn" | "union" => until(tokens, at, |token| is_braces(token) || is_mark(token, ';')),
        "const" | "static" => until(tokens, at, |token| is_mark(token, '=') || is_mark(token, ';')),
        "type" => until(tokens, at, |token| is_mark(token, ';')),
        "struct" => struct_item(tokens, at),
        "enum" => whole(tokens, at, without_attributes),
        "trait" => whole(tokens, at, without_bodies),
        _ => return None,
    };
    Some(text(item))
}

/// The name, type and default of a setting of `settings!`.
pub fn of_setting(tokens: &[TokenTree]) -> Option<String> {
    let tokens: Vec<_> = without_attributes(tokens.iter().cloned().collect()).into_iter().collect();
    let mut options = tokens.iter().enumerate();
    let option = |at: usize| {
        is_mark(&tokens[at], ',') && tokens.get(at + 2).is_some_and(|t| is_mark(t, '='))
    };
    let end = options.find_map(|(at, _)| option(at).then_some(at)).unwrap_or(tokens.len());
    (end > 0).then(|| text(tokens[..end].to_vec()))
}

/// The head of the `impl` block at `at`: the text, the name of its type, whether it implements a trait, and its body.
pub fn of_impl(tokens: &[TokenTree], at: usize) -> Option<(String, String, bool, Group)> {
    let head = until(tokens, at, is_braces);
    let Some(TokenTree::Group(body)) = tokens.get(at + head.len()) else { return None };
    let for_at = head.iter().position(|token| is_word(token, "for"));
    // The type is the last name before its own parameters.
    let start = for_at.map_or_else(|| after_parameters(&head), |at| at + 1);
    let stops = |token: &TokenTree| is_mark(token, '<') || is_word(token, "where");
    let end = head[start..].iter().position(stops).map_or(head.len(), |end| start + end);
    let mut names = head[start..end].iter().filter(|token| matches!(token, TokenTree::Ident(_)));
    let name = imports::name(names.next_back()?);
    Some((text(head), name, for_at.is_some(), body.clone()))
}

/// The position behind `impl<…>`.
fn after_parameters(head: &[TokenTree]) -> usize {
    let mut depth = 0;
    for (at, token) in head.iter().enumerate().skip(1) {
        let arrow = at > 0 && is_mark(&head[at - 1], '-');
        depth += i32::from(is_mark(token, '<'));
        depth -= i32::from(is_mark(token, '>') && !arrow);
        if depth == 0 {
            return if is_mark(token, '>') { at + 1 } else { at };
        }
    }
    head.len()
}

/// A struct with its public fields; `_` stands for the private ones of a tuple.
fn struct_item(tokens: &[TokenTree], at: usize) -> Vec<TokenTree> {
    let head = until(tokens, at, |token| is_braces(token) || is_mark(token, ';'));
    match tokens.get(at + head.len()) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let fields = fields(group, "..");
            [head, vec![TokenTree::Group(Group::new(Delimiter::Brace, fields))]].concat()
        }
        _ => {
            let hidden = |token: TokenTree| match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    TokenTree::Group(Group::new(Delimiter::Parenthesis, fields(&group, "_")))
                }
                token => token,
            };
            head.into_iter().map(hidden).collect()
        }
    }
}

/// The fields of a struct; `hidden` stands for those that are not public.
fn fields(group: &Group, hidden: &str) -> TokenStream {
    let tokens: Vec<TokenTree> = without_attributes(group.stream()).into_iter().collect();
    let mut depth = 0;
    let parts = tokens.split(|token| {
        depth += i32::from(is_mark(token, '<')) - i32::from(is_mark(token, '>'));
        depth <= 0 && is_mark(token, ',')
    });
    let mut all = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        let restricted = matches!(part.get(1), Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Parenthesis && part.len() > 2);
        let public = is_word(&part[0], "pub") && !restricted;
        let field = if public { text(part.to_vec()) } else { hidden.to_owned() };
        if public || hidden == "_" || !all.contains(&field) {
            all.push(field);
        }
    }
    all.join(", ").parse().unwrap_or_default()
}

/// The tokens from `at` on, up to where `ends`, without attributes.
fn until(tokens: &[TokenTree], at: usize, ends: impl Fn(&TokenTree) -> bool) -> Vec<TokenTree> {
    tokens[at..].iter().take_while(|token| !ends(token)).cloned().collect()
}

/// The tokens from `at` on up to a body, and what `keep` leaves of the body.
fn whole(
    tokens: &[TokenTree],
    at: usize,
    keep: impl Fn(TokenStream) -> TokenStream,
) -> Vec<TokenTree> {
    let mut item = until(tokens, at, is_braces);
    if let Some(TokenTree::Group(body)) = tokens.get(at + item.len()) {
        item.push(TokenTree::Group(Group::new(Delimiter::Brace, keep(body.stream()))));
    }
    item
}

fn without_attributes(stream: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let is_attribute = |at: usize| {
        let brackets = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket);
        is_mark(&tokens[at], '#') && brackets(tokens.get(at + 1))
            || at > 0 && is_mark(&tokens[at - 1], '#') && brackets(tokens.get(at))
    };
    let kept = (0..tokens.len()).filter(|at| !is_attribute(*at));
    kept.map(|at| match &tokens[at] {
        TokenTree::Group(group) => {
            TokenTree::Group(Group::new(group.delimiter(), without_attributes(group.stream())))
        }
        token => token.clone(),
    })
    .collect()
}

/// A trait's items; a method with a default ends with `{}`.
fn without_bodies(stream: TokenStream) -> TokenStream {
    let empty = |token: TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            TokenTree::Group(Group::new(Delimiter::Brace, TokenStream::new()))
        }
        token => token,
    };
    without_attributes(stream).into_iter().map(empty).collect()
}

/// Tokens on one line, with the spaces that people write.
fn text(tokens: Vec<TokenTree>) -> String {
    let mut text = tokens.into_iter().collect::<TokenStream>().to_string();
    for (spaced, plain) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("-> ", "->"),
        ("->", " -> "),
        ("& ", "&"),
        (" ,", ","),
        (" ;", ";"),
        (" : ", ": "),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        ("  ", " "),
        ("{ }", "{}"),
    ] {
        text = text.replace(spaced, plain);
    }
    text.trim().to_owned()
}

fn is_modifier(word: &str) -> bool {
    ["async", "unsafe", "extern", "const"].contains(&word) || word.starts_with('"')
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<TokenTree> {
        text.parse::<TokenStream>().unwrap().into_iter().collect()
    }

    fn item(text: &str) -> String {
        of_item(&tokens(text), 0).unwrap()
    }

    #[test]
    fn items_are_shown_without_bodies_and_private_fields() {
        assert_eq!(
            item("fn f<'a>(x: &'a str) -> Vec<u8> { 1 }"),
            "fn f<'a>(x: &'a str) -> Vec<u8>"
        );
        assert_eq!(item("const fn f() {}"), "const fn f()");
        assert_eq!(item("const A: u8 = 3;"), "const A: u8");
        assert_eq!(item("struct A<T>(pub T, u8);"), "struct A<T>(pub T, _)");
        assert_eq!(item("struct A { #[x] pub a: u8, b: u8, c: u8 }"), "struct A { pub a: u8, .. }");
        assert_eq!(item("enum A { #[x] B, C(u8) }"), "enum A { B, C(u8) }");
        assert_eq!(item("trait A: B { fn c(); fn d() { 1 } }"), "trait A: B { fn c(); fn d() {} }");
    }

    #[test]
    fn an_impl_names_its_type() {
        let read = |text: &str| {
            let (_, name, of_trait, _) = of_impl(&tokens(text), 0).unwrap();
            (name, of_trait)
        };
        assert_eq!(read("impl<T: Into<u8>> a::B<T> where T: C {}"), ("B".into(), false));
        assert_eq!(read("impl D for E<'_> {}"), ("E".into(), true));
        assert_eq!(read("impl F {}"), ("F".into(), false));
    }
}

//! The SQL in Rust sources: texts that are written in calls of `sql`, `sql_for_each`, `execute` and `explain`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::HashMap;
use std::str::FromStr;
use syn::{Data, DeriveInput, Fields, GenericArgument, LitStr, Meta, PathArguments, Type};

/// A call with an SQL text.
pub struct SqlCall {
    pub line: usize,
    pub text: String,
    pub parameters: GivenParameters,
    pub rows: RowType,
}

/// The parameters of a call, as far as the source shows them.
pub enum GivenParameters {
    /// A tuple of so many.
    Tuple(usize),
    /// The names in `named!`.
    Names(Vec<String>),
    Unknown,
}

/// What a call reads rows into.
pub enum RowType {
    /// A tuple of so many columns.
    Tuple(usize),
    /// A struct with this name.
    Struct(String),
    /// Not known, or no rows.
    Unknown,
}

/// What a source has.
#[derive(Default)]
pub struct RustSource {
    pub calls: Vec<SqlCall>,
    /// The lines of calls whose text is made while the program runs.
    pub unseen: Vec<usize>,
    /// The columns of structs that derive `FromRow` or `Record`, by the structs' names.
    pub structs: HashMap<String, Vec<String>>,
}

impl RustSource {
    /// Reads a source.
    ///
    /// # Errors
    /// If it is no Rust.
    pub fn parse(source: &str) -> Result<Self, String> {
        let stream = TokenStream::from_str(source).map_err(|error| error.to_string())?;
        let mut found = Self::default();
        found.walk(stream);
        Ok(found)
    }

    fn walk(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.walk(group.stream()),
                TokenTree::Ident(word) if word == "struct" => self.add_struct(&tokens, at),
                TokenTree::Ident(word) if at > 0 && is_punct(tokens.get(at - 1), '.') => {
                    self.add_call(&word.to_string(), tokens.split_at(at));
                }
                _ => {}
            }
        }
    }

    /// Adds a call, if the tokens behind a method's name are one of an SQL text.
    fn add_call(&mut self, method: &str, (before, after): (&[TokenTree], &[TokenTree])) {
        if !["sql", "sql_for_each", "execute", "explain"].contains(&method) {
            return;
        }
        let mut after = after.get(1..).unwrap_or_default();
        let annotated = || annotated_rows(before, after).unwrap_or(RowType::Unknown);
        let mut rows = if method == "sql" { annotated() } else { RowType::Unknown };
        if is_punct(after.first(), ':') && is_punct(after.get(2), '<') {
            let Some(end) = generic_end(after) else { return };
            rows = row_type(after.get(3..end).unwrap_or_default());
            after = after.get(end + 1..).unwrap_or_default();
        }
        let Some(TokenTree::Group(group)) = after.first() else { return };
        if group.delimiter() != Delimiter::Parenthesis {
            return;
        }
        let arguments = arguments(group.stream());
        let line = group.span_open().start().line;
        let mut arguments = arguments.into_iter();
        let Some(text) = arguments.next() else { return };
        match (syn::parse2::<LitStr>(text), arguments.next()) {
            (Ok(text), Some(values)) => {
                let parameters = given_parameters(values);
                self.calls.push(SqlCall { line, text: text.value(), parameters, rows });
            }
            (Err(_), Some(_)) if method.starts_with("sql") => self.unseen.push(line),
            _ => {}
        }
    }

    /// Adds a struct that derives `FromRow` or `Record`; `at` is the place of the word `struct`.
    fn add_struct(&mut self, tokens: &[TokenTree], at: usize) {
        let start = attributes_start(tokens, at);
        let body = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let Some(length) = tokens.get(at..).and_then(|rest| rest.iter().take(3).position(body))
        else {
            return;
        };
        let item = tokens.get(start..=at + length).unwrap_or_default().iter().cloned().collect();
        let Ok(item) = syn::parse2::<DeriveInput>(item) else { return };
        let Data::Struct(data) = &item.data else { return };
        let derives = |attribute: &&syn::Attribute| attribute.path().is_ident("derive");
        let derived =
            item.attrs.iter().filter(derives).filter_map(|one| one.meta.require_list().ok());
        let derived: String = derived.map(|list| list.tokens.to_string()).collect();
        let is_row = ["FromRow", "Record"].iter().any(|name| derived.contains(name));
        if let (true, Fields::Named(fields)) = (is_row, &data.fields) {
            let columns = fields.named.iter().filter_map(column).collect();
            self.structs.insert(item.ident.to_string(), columns);
        }
    }
}

/// The column that a field reads: that of its attribute, or of its name; `None` if it is skipped.
fn column(field: &syn::Field) -> Option<String> {
    let name = field.ident.as_ref()?.to_string();
    let mut column = name.strip_prefix("r#").unwrap_or(&name).to_owned();
    for attribute in &field.attrs {
        let Meta::List(list) = &attribute.meta else { continue };
        if !["row", "record"].iter().any(|name| list.path.is_ident(name)) {
            continue;
        }
        for item in arguments(list.tokens.clone()) {
            let tokens: Vec<TokenTree> = item.into_iter().collect();
            match tokens.as_slice() {
                [TokenTree::Ident(word), ..] if word == "skip" => return None,
                [TokenTree::Ident(word), _, TokenTree::Literal(text)] if word == "column" => {
                    let text = TokenStream::from(TokenTree::from(text.clone()));
                    column = syn::parse2::<LitStr>(text).ok()?.value();
                }
                _ => {}
            }
        }
    }
    Some(column)
}

/// The place of the first attribute of an item.
fn attributes_start(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some(before) = at.checked_sub(1) {
        let is_part = match tokens.get(before) {
            Some(TokenTree::Ident(word)) => word == "pub",
            Some(TokenTree::Punct(punct)) => punct.as_char() == '#',
            Some(TokenTree::Group(group)) => group.delimiter() != Delimiter::Brace,
            _ => false,
        };
        if !is_part {
            break;
        }
        at = before;
    }
    at
}

/// The place of the bracket that closes `::<…>`.
fn generic_end(tokens: &[TokenTree]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(2) {
        if is_punct(Some(token), '<') {
            depth += 1;
        } else if is_punct(Some(token), '>') {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

fn row_type(tokens: &[TokenTree]) -> RowType {
    let parsed = syn::parse2::<Type>(tokens.iter().cloned().collect());
    parsed.map_or(RowType::Unknown, |parsed| row_of(&parsed))
}

fn row_of(parsed: &Type) -> RowType {
    match parsed {
        Type::Tuple(tuple) => RowType::Tuple(tuple.elems.len()),
        Type::Path(path) => match path.path.segments.last() {
            Some(last) => RowType::Struct(last.ident.to_string()),
            None => RowType::Unknown,
        },
        _ => RowType::Unknown,
    }
}

/// The `T` of `let name: Vec<T> = … .sql(…)?;`: of the tokens before the method's name, and of those behind it.
fn annotated_rows(before: &[TokenTree], after: &[TokenTree]) -> Option<RowType> {
    let is_word =
        |token: &TokenTree, name: &str| matches!(token, TokenTree::Ident(word) if word == name);
    let start = before.iter().rposition(|token| is_word(token, "let"))?;
    let mut rest = before.get(start + 1..)?;
    if rest.iter().any(|token| is_punct(Some(token), ';')) {
        return None;
    }
    rest = rest.get(usize::from(is_word(rest.first()?, "mut"))..)?;
    let end = rest.iter().position(|token| is_punct(Some(token), '='))?;
    if !matches!(rest.first()?, TokenTree::Ident(_)) || !is_punct(rest.get(1), ':') {
        return None;
    }
    // What a later call makes of the rows is not known.
    let mut later = after.get(1..)?.iter().take_while(|token| !is_punct(Some(token), ';'));
    let is_result = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '?' | '.'),
        TokenTree::Ident(word) => word == "unwrap" || word == "expect",
        token => matches!(token, TokenTree::Group(_)),
    };
    let annotated = syn::parse2::<Type>(rest.get(2..end)?.iter().cloned().collect()).ok()?;
    later.all(is_result).then(|| element(&annotated).map(row_of))?
}

/// The `T` of `Vec<T>` and of `Result<Vec<T>>`.
fn element(list: &Type) -> Option<&Type> {
    let Type::Path(path) = list else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let GenericArgument::Type(first) = arguments.args.first()? else { return None };
    match last.ident.to_string().as_str() {
        "Vec" => Some(first),
        "Result" => element(first),
        _ => None,
    }
}

/// The parts of a list that commas part.
fn arguments(stream: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![Vec::new()];
    for token in stream {
        match parts.last_mut() {
            Some(part) if !is_punct(Some(&token), ',') => part.push(token),
            _ => parts.push(Vec::new()),
        }
    }
    let filled = parts.into_iter().filter(|part| !part.is_empty());
    filled.map(|part| part.into_iter().collect()).collect()
}

fn given_parameters(tokens: TokenStream) -> GivenParameters {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            let has_comma = group.stream().into_iter().any(|token| is_punct(Some(&token), ','));
            let values = arguments(group.stream());
            match has_comma || values.is_empty() {
                true => GivenParameters::Tuple(values.len()),
                false => GivenParameters::Unknown,
            }
        }
        [.., TokenTree::Ident(name), bang, TokenTree::Group(group)]
            if name == "named" && is_punct(Some(bang), '!') =>
        {
            let first = |value: TokenStream| value.into_iter().next().map(|name| name.to_string());
            GivenParameters::Names(
                arguments(group.stream()).into_iter().filter_map(first).collect(),
            )
        }
        _ => GivenParameters::Unknown,
    }
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

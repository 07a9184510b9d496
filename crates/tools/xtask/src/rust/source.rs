//! One Rust source file: its imports, the paths in its code, and the names that it defines. Test code is left out.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::imports::{self, Import};
use super::signatures;

/// What a file, or a module that is written inline, contains.
#[derive(Debug, Default)]
pub struct Source {
    /// Modules that are declared by `mod name;`.
    pub children: Vec<String>,
    /// Modules that are written in this file, with their contents.
    pub inline: Vec<(String, Source)>,
    /// What `use` declarations bring in, those inside functions included.
    pub imports: Vec<Import>,
    /// Paths of two or more names in code, such as `crate::a::b` or `child::f`.
    pub paths: BTreeSet<Vec<String>>,
    /// The names of all items of the module.
    pub items: BTreeSet<String>,
    /// The types and traits of the module.
    pub types: Vec<TypeName>,
    /// Public items, as programs see them.
    pub public: Vec<Signature>,
    /// Public methods, and implemented traits.
    pub impls: Vec<Signature>,
    /// The children that are declared by `pub mod`.
    pub public_modules: Vec<String>,
    /// All functions with a body, methods included.
    pub functions: Vec<Function>,
}

/// Where a name can be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Visibility {
    /// In its own module.
    #[default]
    Private,
    /// In other modules of the crate: `pub(crate)` and the like.
    Restricted,
    /// In other crates, if its module can.
    Public,
}

/// A public item, or an `impl` block of a type.
#[derive(Debug)]
pub struct Signature {
    /// The item, or the type of the block.
    pub name: String,
    /// On one line, without bodies.
    pub text: String,
}

/// A type or trait at the place of its definition.
#[derive(Debug)]
pub struct TypeName {
    pub name: String,
    /// Whether other modules can see it: `pub`, restricted or not.
    pub exported: bool,
    /// Counted from 1.
    pub line: usize,
}

/// A function with a body.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    /// How many lines it has, from `fn` to the closing brace.
    pub length: usize,
}

/// Words before the name of an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

/// Words that begin an item that ends with a semicolon, whatever stands in braces before it.
const ENDS_WITH_SEMICOLON: [&str; 6] = ["use", "const", "static", "type", "extern", "let"];

/// Reads the text of a file.
///
/// # Errors
/// If it cannot be split into tokens: it is not Rust.
pub fn read(text: &str) -> Result<Source, String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut source = Source::default();
    source.scan(&tokens.into_iter().collect::<Vec<_>>(), true);
    Ok(source)
}

impl Source {
    /// Reads tokens: those of a module if `of_module`, otherwise those of a body or of a macro.
    fn scan(&mut self, tokens: &[TokenTree], of_module: bool) {
        let mut at = 0;
        let mut visibility = Visibility::Private;
        while let Some(token) = tokens.get(at) {
            at = match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    let (next, test_only) = read_attribute(tokens, at);
                    if test_only { skip_item(tokens, next, of_module) } else { next }
                }
                TokenTree::Punct(mark) => {
                    if matches!(mark.as_char(), ';' | ',') {
                        visibility = Visibility::Private;
                    }
                    at + 1
                }
                TokenTree::Group(group) => {
                    self.scan(&group.stream().into_iter().collect::<Vec<_>>(), false);
                    visibility = Visibility::Private;
                    at + 1
                }
                TokenTree::Ident(word) if word == "pub" => {
                    let restricted = is_restriction(tokens.get(at + 1));
                    visibility =
                        if restricted { Visibility::Restricted } else { Visibility::Public };
                    let next = at + 1 + usize::from(restricted);
                    if of_module && !restricted {
                        self.add_public(tokens, next);
                    }
                    next
                }
                TokenTree::Ident(_) => self.scan_word(tokens, at, of_module, &mut visibility),
                TokenTree::Literal(_) => at + 1,
            };
        }
    }

    /// Reads from a word on, and returns the position of the first token that is not read.
    fn scan_word(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        of_module: bool,
        visibility: &mut Visibility,
    ) -> usize {
        let word = imports::name(&tokens[at]);
        let following = tokens.get(at + 1);
        let name = following.and_then(|token| match token {
            TokenTree::Ident(_) => Some(imports::name(token)),
            _ => None,
        });
        match (word.as_str(), name) {
            // Not `impl Trait + use<'a>`.
            ("use", _) if !is_mark(following, '<') => {
                let end = position_of(tokens, at, ';');
                self.imports.extend(imports::flatten(&tokens[at + 1..end], *visibility));
                *visibility = Visibility::Private;
                end
            }
            ("mod", Some(name)) if of_module => {
                if *visibility == Visibility::Public {
                    self.public_modules.push(name.clone());
                }
                *visibility = Visibility::Private;
                self.add_module(name, tokens.get(at + 2));
                at + 3
            }
            ("struct" | "enum" | "union" | "trait" | "type", Some(name)) if of_module => {
                let line = tokens[at + 1].span().start().line;
                self.items.insert(name.clone());
                self.types.push(TypeName {
                    name,
                    exported: std::mem::take(visibility) != Visibility::Private,
                    line,
                });
                at + 2
            }
            ("const" | "static", Some(name)) if of_module && name != "fn" => {
                self.items.insert(name);
                at + 2
            }
            ("fn", Some(name)) => {
                if of_module {
                    self.items.insert(name.clone());
                }
                self.add_function(name, &tokens[at..]);
                at + 2
            }
            ("impl", _) if of_module => {
                self.add_impl(tokens, at);
                at + 1
            }
            ("settings", None) if of_module && is_mark(following, '!') => {
                self.add_settings(tokens.get(at + 2));
                at + 3
            }
            ("macro_rules", _) => {
                self.items.extend(tokens.get(at + 2).map(imports::name));
                at + 3
            }
            _ => self.add_path(tokens, at),
        }
    }

    fn add_public(&mut self, tokens: &[TokenTree], at: usize) {
        let Some(text) = signatures::of_item(tokens, at) else { return };
        let words = tokens[at..].iter().map(imports::name);
        let mut words = words.skip_while(|word| !ITEMS.contains(&word.as_str()));
        // The function in `const fn`.
        let name = words.nth(1).filter(|word| word != "fn").or_else(|| words.next());
        self.public.extend(name.map(|name| Signature { name, text }));
    }

    /// Reads the `impl` block at `at`: its public methods, or the trait.
    fn add_impl(&mut self, tokens: &[TokenTree], at: usize) {
        let Some((head, name, of_trait, body)) = signatures::of_impl(tokens, at) else { return };
        if of_trait {
            self.impls.push(Signature { name, text: head });
            return;
        }
        let body: Vec<TokenTree> = body.stream().into_iter().collect();
        for (at, token) in body.iter().enumerate() {
            let is_public = matches!(token, TokenTree::Ident(word) if word == "pub");
            if is_public && !is_restriction(body.get(at + 1)) {
                let text = signatures::of_item(&body, at + 1).map(|text| format!("{head}: {text}"));
                self.impls.extend(text.map(|text| Signature { name: name.clone(), text }));
            }
        }
    }

    /// Adds the struct that `settings!` makes, with a line for each setting, which is a method of the builder.
    fn add_settings(&mut self, declaration: Option<&TokenTree>) {
        let Some(TokenTree::Group(declaration)) = declaration else { return };
        let tokens: Vec<TokenTree> = declaration.stream().into_iter().collect();
        let is_struct =
            |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "struct");
        let Some(at) = tokens.iter().position(is_struct) else { return };
        let name = tokens.get(at + 1).map(imports::name).unwrap_or_default();
        let line = tokens[at].span().start().line;
        self.items.insert(name.clone());
        self.types.push(TypeName { name: name.clone(), exported: true, line });
        self.public.push(Signature { name: name.clone(), text: format!("struct {name} {{ .. }}") });
        let body = tokens[at..].iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                Some(group.stream())
            }
            _ => None,
        });
        let body: Vec<TokenTree> = body.into_iter().flatten().collect();
        for setting in body.split(|token| is_mark(Some(token), ';')) {
            let text = signatures::of_setting(setting);
            let text = text.map(|text| format!("impl {name}: setting {text}"));
            self.impls.extend(text.map(|text| Signature { name: name.clone(), text }));
        }
    }

    fn add_module(&mut self, name: String, body: Option<&TokenTree>) {
        match body {
            Some(TokenTree::Group(body)) => {
                let mut source = Self::default();
                source.scan(&body.stream().into_iter().collect::<Vec<_>>(), true);
                self.inline.push((name, source));
            }
            _ => self.children.push(name),
        }
    }

    fn add_function(&mut self, name: String, tokens: &[TokenTree]) {
        let body = tokens.iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Some(group)),
            TokenTree::Punct(mark) if mark.as_char() == ';' => Some(None),
            _ => None,
        });
        let Some(Some(body)) = body else { return };
        let line = tokens[0].span().start().line;
        let length = body.span_close().end().line + 1 - line;
        self.functions.push(Function { name, length });
    }

    /// Reads `a::b::c`, and returns the position behind it.
    fn add_path(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let mut path = vec![imports::name(&tokens[at])];
        let mut end = at + 1;
        while is_mark(tokens.get(end), ':') && is_mark(tokens.get(end + 1), ':') {
            let Some(next @ TokenTree::Ident(_)) = tokens.get(end + 2) else { break };
            path.push(imports::name(next));
            end += 3;
        }
        let after_path =
            at >= 2 && is_mark(tokens.get(at - 1), ':') && is_mark(tokens.get(at - 2), ':');
        if path.len() > 1 && !after_path {
            self.paths.insert(path);
        }
        end
    }
}

/// The position behind the attribute at `at`, and whether what it belongs to exists in tests only.
fn read_attribute(tokens: &[TokenTree], at: usize) -> (usize, bool) {
    let at = at + 1 + usize::from(is_mark(tokens.get(at + 1), '!'));
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
            (at + 1, is_test_only(group))
        }
        _ => (at, false),
    }
}

/// Whether an attribute is `test`, `cfg(test)` or `cfg(all(test, …))`.
fn is_test_only(attribute: &Group) -> bool {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(word)] => word == "test",
        [TokenTree::Ident(word), TokenTree::Group(condition)] if word == "cfg" || word == "all" => {
            let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
            condition.iter().enumerate().any(|(at, token)| match token {
                TokenTree::Ident(word) if word == "test" => true,
                TokenTree::Ident(word) if word == "all" => {
                    let all = condition[at..].iter().take(2).cloned().collect();
                    is_test_only(&Group::new(Delimiter::Bracket, all))
                }
                _ => false,
            })
        }
        _ => false,
    }
}

/// The position behind the item, field or arm that begins at `at`.
fn skip_item(tokens: &[TokenTree], at: usize, of_module: bool) -> usize {
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(word)) => word.to_string(),
        _ => String::new(),
    };
    let mut start = at;
    while is_mark(tokens.get(start), '#') {
        start = read_attribute(tokens, start).0;
    }
    if word(start) == "pub" {
        start += 1 + usize::from(is_restriction(tokens.get(start + 1)));
    }
    let first = word(start);
    let is_function = [word(start), word(start + 1), word(start + 2)].contains(&"fn".to_owned());
    let braces_end = !ENDS_WITH_SEMICOLON.contains(&first.as_str()) || is_function;
    let comma_ends = !of_module && braces_end && !is_function && first != "impl" && first != "mod";
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => braces_end && group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';' || comma_ends && mark.as_char() == ',',
        _ => false,
    };
    tokens[start..].iter().position(ends).map_or(tokens.len(), |end| start + end + 1)
}

/// Whether a token is the `(crate)` of `pub(crate)`.
fn is_restriction(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = token else { return false };
    let first = group.stream().into_iter().next().map(|token| token.to_string());
    group.delimiter() == Delimiter::Parenthesis
        && first.is_some_and(|word| ["crate", "super", "self", "in"].contains(&word.as_str()))
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// The position of the first `mark` from `at` on, or the end.
fn position_of(tokens: &[TokenTree], at: usize, mark: char) -> usize {
    tokens[at..]
        .iter()
        .position(|token| is_mark(Some(token), mark))
        .map_or(tokens.len(), |n| at + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(source: &Source) -> Vec<String> {
        source.paths.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_in_bodies_and_macros() {
        let source = read(
            "fn f() -> crate::a::B { vec![super::c(), self::d::<crate::e::F>()]; x.y::<Z>(); $crate::g::H }",
        )
        .unwrap();
        assert_eq!(
            paths(&source),
            ["crate::a::B", "crate::e::F", "crate::g::H", "self::d", "super::c"]
        );
    }

    #[test]
    fn test_code_is_left_out() {
        let source = read(
            "#[cfg(test)] use crate::a; #[cfg(all(test, unix))] mod tests { use super::*; }
             #[cfg(test)] mod more; #[test] fn t() { crate::b::c() } #[cfg(not(unix))] use crate::kept;
             struct S { #[cfg(test)] f: crate::d::E, g: u8 } #[cfg(any(test, unix))] mod both;
             impl S { #[cfg(test)] fn f<A, B>() { crate::h::i() } fn j() { crate::k::l() } }",
        )
        .unwrap();
        let imports: Vec<String> =
            source.imports.iter().map(|import| import.path.join("::")).collect();
        assert_eq!(imports, ["crate::kept"]);
        assert_eq!(paths(&source), ["crate::k::l"]);
        assert_eq!(source.children, ["both"]);
    }

    #[test]
    fn types_and_functions_have_lines_and_visibility() {
        let source = read(
            "pub(crate) struct A(u8);\nenum B {}\npub trait C {\n type D;\n fn f();\n fn g() {\n }\n}",
        )
        .unwrap();
        let types: Vec<_> = source.types.iter().map(|t| (&*t.name, t.exported, t.line)).collect();
        assert_eq!(types, [("A", true, 1), ("B", false, 2), ("C", true, 3)]);
        let functions: Vec<_> = source.functions.iter().map(|f| (&*f.name, f.length)).collect();
        assert_eq!(functions, [("g", 2)]);
    }

    #[test]
    fn inline_modules_have_contents_of_their_own() {
        let source = read("mod a { pub struct B; } mod c; pub use a::B;").unwrap();
        assert_eq!(source.inline[0].0, "a");
        assert!(source.inline[0].1.items.contains("B") && !source.items.contains("B"));
        assert!(source.imports[0].visibility == Visibility::Public);
    }
}

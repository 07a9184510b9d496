//! `use` trees, flattened into one import for each name.

use proc_macro2::{Delimiter, TokenTree};

use super::source::Visibility;

/// One imported name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The full path; of a glob import, the path before `*`.
    pub path: Vec<String>,
    /// The name that the module gains, or `None` for a glob import.
    pub name: Option<String>,
    /// Who can see the name.
    pub visibility: Visibility,
}

/// Reads the tokens between `use` and `;`.
pub fn flatten(tree: &[TokenTree], visibility: Visibility) -> Vec<Import> {
    let mut imports = Vec::new();
    add_tree(tree, &[], visibility, &mut imports);
    imports
}

fn add_tree(tree: &[TokenTree], prefix: &[String], visibility: Visibility, into: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    let mut alias = None;
    let mut tokens = tree.iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "as" => alias = tokens.next().map(name),
            TokenTree::Ident(_) => path.push(name(token)),
            TokenTree::Punct(star) if star.as_char() == '*' => {
                into.push(Import { path, name: None, visibility });
                return;
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma =
                    |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
                for part in inner.split(is_comma).filter(|part| !part.is_empty()) {
                    add_tree(part, &path, visibility, into);
                }
                return;
            }
            _ => {}
        }
    }
    // `use a::{self}` imports `a` itself.
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.or_else(|| path.last().cloned());
    into.push(Import { path, name, visibility });
}

/// An identifier as it is referred to: `r#type` is `type`.
pub fn name(token: &TokenTree) -> String {
    let text = token.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Option<String>)> {
        let tokens: Vec<TokenTree> =
            text.parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect();
        flatten(&tokens, Visibility::Private)
            .into_iter()
            .map(|one| (one.path.join("::"), one.name))
            .collect()
    }

    #[test]
    fn nested_trees_become_one_import_per_name() {
        let import = |path: &str, name: &str| (path.to_owned(), Some(name.to_owned()));
        assert_eq!(
            read("crate::a::{self, B, c::{D as E, f}}"),
            [
                import("crate::a", "a"),
                import("crate::a::B", "B"),
                import("crate::a::c::D", "E"),
                import("crate::a::c::f", "f"),
            ]
        );
        assert_eq!(read("super::*"), [("super".to_owned(), None)]);
        assert_eq!(read("self::x as _"), [import("self::x", "_")]);
    }
}

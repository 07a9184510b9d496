//! Paths as they are written in Markdown, made into paths of the repository.

/// The path and the anchor of an address, when it leads into this repository: `None` for other sites.
///
/// The path is empty for an anchor in the same file, begins with `/` when it starts at the root, and has its
/// percent-encoding undone. `repository` is the tree's own address on the web.
pub fn local(repository: &str, address: &str) -> Option<(String, Option<String>)> {
    let (path, anchor) = match address.split_once('#') {
        Some((path, anchor)) => (path, Some(decoded(anchor))),
        None => (address, None),
    };
    if let Some(page) = path.strip_prefix(repository) {
        // `/blob/main/docs/x.md`: the branch does not matter here.
        let page = page.strip_prefix("/blob/").or_else(|| page.strip_prefix("/tree/"))?;
        let (_branch, file) = page.split_once('/')?;
        return Some((format!("/{}", decoded(file)), anchor));
    }
    let has_scheme = path.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    let path = path.split('?').next().unwrap_or_default();
    (!has_scheme && !path.starts_with("//")).then(|| (decoded(path), anchor))
}

/// `path`, as written in the file `from`, from the root: `None` when it leads out of the repository.
pub fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').collect(),
    };
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The last line that an anchor like `L10` or `L10-L20` names.
pub fn last_line(anchor: &str) -> Option<usize> {
    let last = anchor.rsplit('-').next()?;
    let first = anchor.strip_prefix('L')?;
    first.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    last.trim_start_matches('L').parse().ok()
}

/// The path and the line in a word of code, `crates/core/src/lib.rs:12`, if it can be a path at all.
///
/// Words with placeholders, `crates/<name>`, are no paths of ours, nor are words without a `/` and absolute paths.
pub fn in_code(word: &str) -> Option<(&str, Option<usize>)> {
    let word = word.trim_matches(|c: char| matches!(c, '"' | '\'' | '(' | ')' | ',' | ';'));
    if word.contains("...") || word.starts_with('/') {
        return None;
    }
    let word = word.trim_end_matches(['.', ':']);
    let word = word.strip_prefix("./").unwrap_or(word);
    // `file.rs:12`, `file.rs:12:5` and `file.rs::item` all name the file.
    let (path, rest) = word.split_once(':').unwrap_or((word, ""));
    let (path, anchor) = path.split_once('#').unwrap_or((path, ""));
    let line =
        last_line(anchor).or_else(|| rest.split(':').next().and_then(|line| line.parse().ok()));
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '*' | '+');
    let is_path = path.contains('/') && !path.contains("//") && path.chars().all(allowed);
    is_path.then_some((path, line))
}

/// Whether a path is, by its ending, a file that this repository would hold.
pub fn is_source(path: &str) -> bool {
    [".rs", ".md", ".toml"].iter().any(|ending| path.ends_with(ending))
}

/// Whether `pattern`, in which `*` stands for any part of one name, is the path of a file or of a folder above one.
pub fn matches_any<'a>(pattern: &str, mut files: impl Iterator<Item = &'a str>) -> bool {
    let wanted: Vec<&str> = pattern.split('/').collect();
    pattern.contains('*')
        && files.any(|file| {
            let names: Vec<&str> = file.split('/').collect();
            names.len() >= wanted.len()
                && wanted.iter().zip(&names).all(|(wanted, name)| matches(wanted, name))
        })
}

/// Whether `name` is `pattern`, with any text for each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|tail| {
            let cuts = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            cuts.into_iter().any(|at| matches(rest, &tail[at..]))
        }),
    }
}

fn is_scheme(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// `text` with each `%20` made into its byte; what is no valid escape stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape =
            tail.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_ours_or_not() {
        let ours = |address| local("https://host/us/it", address);
        let path =
            |path: &str, anchor: Option<&str>| Some((path.to_string(), anchor.map(String::from)));
        assert_eq!(ours("a%20b.md#c%C3%A4"), path("a b.md", Some("cä")));
        assert_eq!(ours("#here"), path("", Some("here")));
        assert_eq!(ours("a.md?plain=1"), path("a.md", None));
        assert_eq!(ours("100%.md"), path("100%.md", None));
        assert_eq!(ours("https://host/us/it/blob/v1/a/b.md#L3"), path("/a/b.md", Some("L3")));
        for other in
            ["https://host/us/it/issues/3", "https://host/us/it", "mailto:a@b", "//host/x", "tel:1"]
        {
            assert_eq!(ours(other), None, "{other}");
        }
    }

    #[test]
    fn paths_are_resolved_from_the_file() {
        assert_eq!(resolve("docs/a/b.md", "../c.md").as_deref(), Some("docs/c.md"));
        assert_eq!(resolve("README.md", "./docs//x/").as_deref(), Some("docs/x"));
        assert_eq!(resolve("docs/a.md", "/x.md").as_deref(), Some("x.md"));
        assert_eq!(resolve("docs/a.md", "..").as_deref(), Some(""));
        assert_eq!(resolve("docs/a.md", "../../x"), None);
    }

    #[test]
    fn code_is_a_path_or_not() {
        assert_eq!(in_code("a/b.rs:12"), Some(("a/b.rs", Some(12))));
        assert_eq!(in_code("a/b.rs:12:5,"), Some(("a/b.rs", Some(12))));
        assert_eq!(in_code("a/b.rs#L4-L9"), Some(("a/b.rs", Some(9))));
        assert_eq!(in_code("./a/b.rs::open"), Some(("a/b.rs", None)));
        for no_path in
            ["lib.rs", "a/<b>", "https://a/b", "a/{b,c}", "crates/...", "x=a/b", "$HOME/a"]
        {
            assert_eq!(in_code(no_path), None, "{no_path}");
        }
    }

    #[test]
    fn stars_stand_for_a_part_of_one_name() {
        let any =
            |pattern| matches_any(pattern, ["crates/core/src/lib.rs", "docs/a.md"].into_iter());
        assert!(any("crates/*/src/*.rs") && any("*/core") && any("docs/*a*.md*"));
        assert!(!any("crates/*/lib.rs") && !any("docs/b*.md") && !any("docs/a.md/*"));
    }

    #[test]
    fn line_anchors_and_headings_are_distinguished() {
        assert_eq!(last_line("L10-L20"), Some(20));
        assert_eq!(last_line("L7"), Some(7));
        assert_eq!(last_line("Layers"), None);
        assert_eq!(last_line("limits"), None);
    }
}

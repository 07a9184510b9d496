//! One Markdown file as the link check sees it: the anchors it offers, and what it refers to.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{
    BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd,
};

/// The anchors and references of one file.
pub struct Document {
    /// What may stand behind `#` in a link to it.
    pub anchors: BTreeSet<String>,
    /// What it refers to, in the order of the text.
    pub references: Vec<FoundReference>,
}

/// A reference and its line.
pub struct FoundReference {
    /// The line, counted from 1.
    pub line: usize,
    /// What is referred to.
    pub reference: Reference,
}

/// Something that a text refers to.
#[derive(Debug, PartialEq)]
pub enum Reference {
    /// The address of a link or of an image.
    Link(String),
    /// The name in a reference link that is defined nowhere in the file.
    Undefined(String),
    /// A whole piece of inline code without a space.
    Code(String),
    /// One word of a command line, in inline code or in a fenced block for a shell.
    Command(String),
}

/// The words behind a fence whose blocks are commands.
const SHELLS: [&str; 4] = ["sh", "bash", "shell", "console"];

impl Document {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader::new(text);
        let mut undefined = Vec::new();
        // A bracket alone is ordinary text; two in a row were meant as a link.
        let mut broken = |link: BrokenLink<'_>| {
            if matches!(link.link_type, LinkType::Reference | LinkType::Collapsed) {
                undefined.push((link.span.start, link.reference.to_string()));
            }
            None::<(CowStr<'_>, CowStr<'_>)>
        };
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
        for (event, span) in Parser::new_with_broken_link_callback(text, options, Some(&mut broken))
            .into_offset_iter()
        {
            reader.read(event, span.start);
        }
        for (at, name) in undefined {
            reader.add(at, Reference::Undefined(name));
        }
        reader.references.sort_by_key(|found| found.line);
        Self { anchors: reader.anchors, references: reader.references }
    }
}

/// What is known while the events of the parser go by.
struct Reader<'a> {
    text: &'a str,
    anchors: BTreeSet<String>,
    references: Vec<FoundReference>,
    /// The words of the heading that is open.
    heading: Option<String>,
    /// How often each heading has been seen: the second one gets the anchor `name-1`.
    seen: BTreeMap<String, usize>,
    in_commands: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            anchors: BTreeSet::new(),
            references: Vec::new(),
            heading: None,
            seen: BTreeMap::new(),
            in_commands: false,
        }
    }

    fn read(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(Tag::Heading { .. }) => self.heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => self.close_heading(),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.add(at, Reference::Link(dest_url.into_string()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split([',', ' ']).next().unwrap_or_default();
                self.in_commands = SHELLS.contains(&language);
            }
            Event::End(TagEnd::CodeBlock) => self.in_commands = false,
            Event::Html(html) | Event::InlineHtml(html) => self.read_html(&html, at),
            Event::Code(code) => {
                self.add_to_heading(&code);
                if code.contains(char::is_whitespace) {
                    self.add_commands(&code, at);
                } else {
                    self.add(at, Reference::Code(code.into_string()));
                }
            }
            Event::Text(words) if self.in_commands => self.add_commands(&words, at),
            Event::Text(words) => self.add_to_heading(&words),
            Event::SoftBreak | Event::HardBreak => self.add_to_heading(" "),
            _ => {}
        }
    }

    fn add(&mut self, at: usize, reference: Reference) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        self.references.push(FoundReference { line, reference });
    }

    /// Each word of `commands`, which stand at or shortly behind `at`.
    fn add_commands(&mut self, commands: &str, at: usize) {
        let mut line_at = at;
        for line in commands.split_inclusive('\n') {
            for word in line.split_whitespace() {
                self.add(line_at, Reference::Command(word.to_string()));
            }
            line_at += line.len();
        }
    }

    fn add_to_heading(&mut self, words: &str) {
        if let Some(heading) = &mut self.heading {
            *heading += words;
        }
    }

    fn close_heading(&mut self) {
        let Some(words) = self.heading.take() else {
            return;
        };
        let name = anchor(&words);
        let count = self.seen.entry(name.clone()).or_default();
        self.anchors.insert(if *count == 0 { name } else { format!("{name}-{count}") });
        *count += 1;
    }

    /// The attributes that offer an anchor or refer to something.
    fn read_html(&mut self, html: &str, at: usize) {
        for name in ["id", "name"] {
            self.anchors.extend(attributes(html, name).map(|(_, value)| value.to_string()));
        }
        for name in ["href", "src", "srcset"] {
            for (offset, value) in attributes(html, name) {
                self.add(at + offset, Reference::Link(value.to_string()));
            }
        }
    }
}

/// The anchor that GitHub gives a heading: lower case, spaces as hyphens, no punctuation but `-` and `_`.
fn anchor(heading: &str) -> String {
    let kept =
        heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The values of the attribute `name` in double quotes, with their offsets.
fn attributes<'a>(html: &'a str, name: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    html.match_indices(name).filter_map(move |(at, _)| {
        let own_word = html[..at].ends_with(char::is_whitespace);
        let value = html[at + name.len()..].strip_prefix("=\"")?;
        own_word.then_some((at, value.split('"').next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(text: &str) -> Vec<(usize, Reference)> {
        Document::parse(text)
            .references
            .into_iter()
            .map(|found| (found.line, found.reference))
            .collect()
    }

    fn anchors(text: &str) -> Vec<String> {
        Document::parse(text).anchors.into_iter().collect()
    }

    #[test]
    fn anchors_are_made_as_on_github() {
        assert_eq!(anchors("# What's *new* in `Db::open`?"), ["whats-new-in-dbopen"]);
        assert_eq!(anchors("## A_b – C & D"), ["a_b--c--d"]);
        assert_eq!(anchors("Größe\n====="), ["größe"]);
        assert_eq!(anchors("# [linked](x.md) words"), ["linked-words"]);
        assert_eq!(anchors("# Notes\n# Notes\n# Notes"), ["notes", "notes-1", "notes-2"]);
    }

    #[test]
    fn html_offers_anchors_and_refers() {
        assert_eq!(anchors("<a id=\"top\"></a>\n\ntext <a name=\"mid\"></a>"), ["mid", "top"]);
        let found = references("<p>\n<img width=\"3\" src=\"a.svg\">\n</p>\n");
        assert_eq!(found, [(2, Reference::Link("a.svg".into()))]);
        assert_eq!(references("<img data-src=\"a.svg\">"), []);
    }

    #[test]
    fn each_kind_of_link_is_found_with_its_line() {
        let text = "a [link](x.md)\n![image](y.png)\n\n| `a/b` |\n|---|\n| [t](z.md) |\n\n```sh\nrun it\nthen\n```\n`two words`";
        let link = |address: &str| Reference::Link(address.into());
        let command = |word: &str| Reference::Command(word.into());
        assert_eq!(
            references(text),
            [
                (1, link("x.md")),
                (2, link("y.png")),
                (4, Reference::Code("a/b".into())),
                (6, link("z.md")),
                (9, command("run")),
                (9, command("it")),
                (10, command("then")),
                (12, command("two")),
                (12, command("words")),
            ]
        );
    }

    #[test]
    fn code_and_escapes_hide_links() {
        assert_eq!(references("```text\n[a](b.md)\n```\n\\[a](b.md)\n"), []);
    }
}

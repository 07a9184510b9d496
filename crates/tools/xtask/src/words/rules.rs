//! The words that the project does not use, and the standard term for each.

use std::collections::HashMap;

use super::text::{Region, Word};

/// Where a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In comments, in strings and in names.
    Everywhere,
    /// In comments and strings.
    Prose,
    /// In comments alone: the word is syntax or data elsewhere.
    Comments,
    /// In names alone: the word is ordinary English elsewhere.
    Names,
}

/// A word or phrase, where it is not used, and what is written instead. `a/b` are two forms of one word.
pub type Rule = (&'static str, Scope, &'static str);

use Scope::{Comments, Everywhere, Names, Prose};

/// All rules.
pub const RULES: &[Rule] = &[
    // Servers and their clients.
    ("door/doors", Everywhere, "listener or transport"),
    ("guest/guests", Everywhere, "client, or attached engine"),
    ("stranger/strangers", Everywhere, "unauthenticated client"),
    ("lobby", Everywhere, "poller"),
    ("let/lets in", Prose, "accept, authenticate"),
    ("come/comes in", Prose, "connect, authenticate"),
    ("seat/seats", Everywhere, "connection slot, PooledConnection"),
    ("crowded", Everywhere, "accept backlog is full"),
    ("belief", Everywhere, "precondition (RFC 9110)"),
    ("inflow", Everywhere, "body reader"),
    ("visitor", Names, "peer"),
    // Permissions.
    ("rights", Everywhere, "permissions"),
    ("betray/betrays/betrayed", Everywhere, "leak"),
    ("conceal/conceals/concealed", Everywhere, "redact"),
    // Replication, archives, backups.
    ("follower/followers", Everywhere, "replica"),
    ("shipped/shipper", Names, "archive (ArchiveReport)"),
    ("made again", Prose, "replayed, applied"),
    ("making again", Prose, "replaying, applying"),
    ("boiled down", Prose, "compacted"),
    ("boil/boiling down", Prose, "compact"),
    ("border/borders", Comments, "transaction boundary"),
    ("border/borders", Names, "transaction boundary"),
    ("written down", Prose, "captured (change capture), recorded"),
    ("writes down", Prose, "captures, records"),
    ("laid", Everywhere, "layout, stored"),
    ("put/puts aside", Everywhere, "moved, renamed"),
    ("aside", Names, "AtomicFile"),
    ("quiet", Names, "suppress triggers and foreign keys"),
    // Engines, pools, queues.
    ("vigil", Everywhere, "AdaptiveSpin"),
    ("patience", Everywhere, "..._TIMEOUT"),
    ("impatient", Everywhere, "starving"),
    ("nap", Names, "..._INTERVAL"),
    ("lane/lanes", Everywhere, "write queue; contender (benchmark)"),
    ("lone", Everywhere, "single, alone"),
    ("lackingrows", Names, "PartialInsert"),
    ("let go", Everywhere, "unpin, release, drop"),
    ("at stake", Everywhere, "commit pending"),
    ("stopper", Everywhere, "canceller"),
    ("aheads", Everywhere, "batched lookup"),
    ("touched", Names, "referenced tables"),
    ("stand in", Names, "stub"),
    ("standing", Names, "ActiveCursors"),
    ("survey/surveys/surveyed", Everywhere, "infer the schema"),
    ("lacking", Names, "missing, partial"),
    // Names that say nothing.
    ("who", Names, "actor, caller, client"),
    ("told", Names, "reported, notified"),
    ("asked", Names, "request, requested"),
    ("answer/answers/answered", Names, "response or reply (protocols), result"),
    // People are "they".
    ("he", Prose, "they: callers and clients have no sex"),
    ("him", Prose, "them"),
    ("his", Prose, "their"),
    ("she", Prose, "they"),
    ("her", Prose, "their"),
    // Nouns in place of clauses.
    ("who come/comes/came", Prose, "clients, newcomers"),
    ("who write/writes/wrote", Prose, "the writer, the actor"),
    ("who read/reads", Prose, "the reader"),
    ("who ask/asks/asked", Prose, "the caller, the client"),
    ("who call/calls/called", Prose, "the caller"),
    ("who wait/waits", Prose, "the waiter"),
    ("what wait/waits", Prose, "waiters, the queue"),
    ("what come/comes/came", Prose, "the next item, the input"),
    ("what stand/stands/stood", Prose, "the contents, the existing rows"),
    ("what lie/lies/lay", Prose, "the contents, the files"),
    ("what run/runs/ran", Prose, "the running request"),
    ("what act/acts", Prose, "triggers and foreign keys"),
    ("by whom", Prose, "the actor, the owner"),
    ("to whom", Prose, "the recipient"),
    ("for whom", Prose, "the client"),
    ("with whom", Prose, "the peer"),
    ("whom", Prose, "the actor, the client"),
    // Sentences with an actor.
    ("is/are/was/were told", Prose, "name the actor: the server reports, notifies"),
    ("is/are/was/were asked", Prose, "name the actor: the caller requests, queries"),
    ("is/are to be", Prose, "must be, will be"),
    ("there is to be", Prose, "will be, must be"),
    ("was/were to be", Prose, "should have been"),
    // "if" for conditions.
    ("where there is/are/was/were", Prose, "if there is"),
    ("where that is/was", Prose, "if it is"),
    ("where this is/was", Prose, "if it is"),
    ("where it is/was not", Prose, "if it is not"),
    ("where it can/could/may/must/has/had/does", Prose, "if it can"),
    ("where none/nothing/nobody", Prose, "if there is none"),
    ("where they are/were not", Prose, "if they are not"),
    ("only where", Prose, "only if"),
    ("except/unless where", Prose, "unless"),
    ("also where", Prose, "even if"),
    ("even where", Prose, "even if"),
    // Words that nobody uses any more.
    ("anew", Everywhere, "again, re-"),
    ("beneath", Prose, "under, below"),
    ("beside", Prose, "next to, along with, in addition to"),
    ("mend/mends/mended/mending", Everywhere, "fix, fixed"),
    ("in turns", Everywhere, "interleaved, alternately"),
    ("lest", Prose, "so that not"),
    ("whence/thence/hither/thither/whither", Prose, "from where, there"),
    ("whereof/thereof/therein/whereby", Prose, "of it, in it"),
    ("nought/naught", Prose, "nothing, zero"),
    ("as yet", Prose, "yet, so far"),
    ("of no use", Prose, "useless, not needed"),
    ("of no matter", Prose, "does not matter"),
    ("no matter of", Prose, "does not concern"),
    ("heeded/heeds/heed", Everywhere, "respected, followed"),
    ("refuse/refuses/refused/refusing/refusal", Everywhere, "reject"),
    ("clash/clashes/clashed", Everywhere, "conflict"),
    ("whoever", Prose, "every client, any program, the reader"),
    ("for ever", Prose, "without limit"),
    ("in vain", Prose, "until the timeout, without success"),
    ("likewise", Prose, "also"),
    ("held against", Prose, "compared with"),
    ("taken out of", Prose, "removed from, pruned"),
    ("what becomes/became of", Prose, "the outcome, the result"),
    ("nobody knows", Prose, "it is unknown"),
    // Error messages.
    ("is/are there already", Prose, "already exists"),
    ("value is wanted", Prose, "a value is required, is expected"),
    ("password/token/key is wanted", Prose, "is required"),
    ("is/are there twice", Prose, "is given twice"),
    ("the line to", Prose, "the connection to"),
    ("line broke", Prose, "the connection broke"),
    ("hung/hangs up", Prose, "closed the connection"),
    ("answer came/comes", Prose, "the server answered, did not answer"),
    ("wholly", Prose, "completely"),
    ("handing out", Prose, "returning rows; in a row callback"),
    ("sign of life", Prose, "check the connection"),
    ("out of turn", Prose, "unexpected"),
    ("make room", Prose, "free space"),
    ("tell/tells of", Prose, "reveal, describe"),
    ("take/takes/taken/took away", Prose, "remove"),
    ("go/goes/went on with", Prose, "continue with"),
    ("another than", Prose, "differs from, other than"),
];

/// Phrases that contain a word of [`RULES`] and are ordinary English.
pub const ORDINARY: &[&str] = &[
    "laid out",
    "beside the point",
    "all rights reserved",
    "rights reserved",
    "lone surrogate",
    "lone surrogates",
    "come in order",
    "seat map",
];

/// A rule, ready to compare.
pub struct Pattern {
    words: Vec<Vec<&'static str>>,
    pub rule: &'static Rule,
}

/// All rules by the first word of their phrases.
pub type Patterns = HashMap<&'static str, Vec<Pattern>>;

/// All rules, ready to compare.
pub fn patterns() -> Patterns {
    let forms =
        |phrase: &'static str| phrase.split(' ').map(|word| word.split('/').collect()).collect();
    let mut patterns = Patterns::new();
    for rule in RULES {
        let words: Vec<Vec<&str>> = forms(rule.0);
        for first in &words[0] {
            let pattern = Pattern { words: words.clone(), rule };
            patterns.entry(first).or_default().push(pattern);
        }
    }
    patterns
}

impl Pattern {
    /// Whether the phrase stands at the beginning of `words`.
    pub fn matches(&self, words: &[Word]) -> bool {
        let Some(first) = words.first() else { return false };
        let applies = match self.rule.1 {
            Scope::Everywhere => true,
            Scope::Prose => first.region != Region::Code && !first.capitals,
            Scope::Comments => first.region == Region::Comment,
            Scope::Names => first.region == Region::Code,
        };
        applies
            && words.len() >= self.words.len()
            && self.words.iter().zip(words).enumerate().all(|(at, (forms, word))| {
                (at == 0 || !word.first && word.region == first.region)
                    && forms.contains(&word.text.as_str())
            })
    }
}

/// Whether an ordinary phrase stands at the beginning of `words`.
pub fn is_ordinary(words: &[Word]) -> bool {
    ORDINARY.iter().any(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.len() >= phrase.len()
            && phrase
                .iter()
                .zip(words)
                .enumerate()
                .all(|(at, (wanted, word))| (at == 0 || !word.first) && *wanted == word.text)
    })
}

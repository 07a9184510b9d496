//! Query parameters.

use crate::problem::Problem;
use std::borrow::Cow;
use std::collections::HashSet;
use std::str::FromStr;

/// The parameters of a query string that no resource has taken yet.
///
/// Each resource takes the parameters that it knows and then calls [`finish`](Self::finish), which
/// rejects the rest. Ignoring a misspelt parameter would return something else than the client asked
/// for.
#[derive(Debug, Default)]
pub(crate) struct QueryParameters {
    left: Vec<(String, String)>,
    /// The names that the resource knows, while a parameter is left.
    known: Vec<String>,
}

impl QueryParameters {
    /// Parses `name=value` pairs; `+` is a space.
    ///
    /// # Errors
    /// 400 for a value that is not UTF-8, or a duplicate name.
    pub fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut names = HashSet::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !names.insert(name.clone()) {
                return Err(Problem::bad_request(format!("the parameter '{name}' occurs twice")));
            }
            all.push((name, value));
        }
        Ok(Self { left: all, known: Vec::new() })
    }

    /// Takes a parameter.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.know(name);
        let index = self.left.iter().position(|(other, _)| other == name)?;
        Some(self.left.swap_remove(index).1)
    }

    /// Whether the request has a parameter that is not taken yet.
    pub fn has(&self, name: &str) -> bool {
        self.left.iter().any(|(other, _)| other == name)
    }

    /// Takes `order` if it is `count` or `-count`; returns whether the order is descending.
    pub fn take_count_order(&mut self) -> Option<bool> {
        let index = self.left.iter().position(|(name, order)| {
            name == "order" && matches!(order.as_str(), "count" | "-count")
        })?;
        Some(self.left.swap_remove(index).1.starts_with('-'))
    }

    fn know(&mut self, name: &str) {
        if !self.left.is_empty() && !self.known.iter().any(|known| known == name) {
            self.known.push(name.to_owned());
        }
    }

    /// The names of the parameters that are left.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(|(name, _)| name.as_str())
    }

    /// Takes a number.
    ///
    /// # Errors
    /// 400 for anything else.
    pub fn number<N: FromStr>(&mut self, name: &str) -> Result<Option<N>, Problem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let error = |_| Problem::bad_request(format!("'{text}' is not a number for '{name}'"));
        text.parse().map(Some).map_err(error)
    }

    /// Takes one of several words.
    ///
    /// # Errors
    /// 400 for another word; the message lists the choices.
    pub fn choice<V: Copy>(
        &mut self,
        name: &str,
        choices: &[(&str, V)],
    ) -> Result<Option<V>, Problem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let found = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text));
        found.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
            let words = choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            Problem::bad_request(format!("{name} is one of {words}, not '{text}'"))
        })
    }

    /// Takes a flag: `true`, `false`, or a name without a value for `true`. Default: `false`.
    ///
    /// # Errors
    /// 400 for anything else.
    pub fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        self.know(name);
        match self.left.iter_mut().find(|(other, _)| other == name) {
            None => return Ok(false),
            Some((_, value)) if value.is_empty() => value.push_str("true"),
            Some(_) => {}
        }
        let flag = self.choice(name, &[("true", true), ("false", false)])?;
        Ok(flag.unwrap_or(false))
    }

    /// Checks that all parameters were taken.
    ///
    /// # Errors
    /// 400 for an unknown parameter; the message lists the known ones.
    pub fn finish(&self) -> Result<(), Problem> {
        let Some((name, _)) = self.left.first() else { return Ok(()) };
        let known = match &self.known[..] {
            [] => "this resource takes none".to_owned(),
            known => format!("there are: {}", known.join(", ")),
        };
        Err(Problem::bad_request(format!("unknown parameter '{name}'; {known}")))
    }
}

fn decode(text: &str) -> Result<String, Problem> {
    let text: Cow<'_, str> =
        if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    let decoded = percent_encoding::percent_decode_str(&text).decode_utf8();
    decoded
        .map(String::from)
        .map_err(|_| Problem::bad_request("the query is not percent-encoded UTF-8"))
}

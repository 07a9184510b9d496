//! The parameters behind the question mark.

use crate::problem::Problem;
use bobak_core::url;
use std::borrow::Cow;
use std::collections::HashSet;
use std::str::FromStr;

/// What a request's query string says. Those that nobody takes are refused: a misspelt one would
/// be passed over else, and the answer be another than the one that was meant.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads `name=value` pairs; `+` is a space.
    ///
    /// # Errors
    /// 400 where a value is not UTF-8, or a name comes twice.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut names = HashSet::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !names.insert(name.clone()) {
                return Err(Problem::bad_request(format!("the parameter '{name}' comes twice")));
            }
            all.push((name, value));
        }
        Ok(Self(all))
    }

    /// Takes a parameter.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(other, _)| other == name)?;
        Some(self.0.swap_remove(place).1)
    }

    /// Takes a number.
    ///
    /// # Errors
    /// 400 where it is none.
    pub fn number<N: FromStr>(&mut self, name: &str) -> Result<Option<N>, Problem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let wrong = |_| Problem::bad_request(format!("'{text}' is not a number for '{name}'"));
        text.parse().map(Some).map_err(wrong)
    }

    /// Takes one of some words.
    ///
    /// # Errors
    /// 400 for another, with those that there are.
    pub fn choice<V: Copy>(
        &mut self,
        name: &str,
        choices: &[(&str, V)],
    ) -> Result<Option<V>, Problem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let choice = url::choice(name, &text, choices);
        choice.map(Some).map_err(|error| Problem::bad_request(error.message()))
    }

    /// Takes a flag: `true`, `false`, or nothing behind its name for `true`.
    ///
    /// # Errors
    /// 400 for anything else.
    pub fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.0.iter_mut().find(|(other, _)| other == name) {
            None => return Ok(false),
            Some((_, value)) if value.is_empty() => value.push_str("true"),
            Some(_) => {}
        }
        let flag = self.choice(name, &[("true", true), ("false", false)])?;
        Ok(flag.unwrap_or(false))
    }

    /// To be called when all that are known were taken.
    ///
    /// # Errors
    /// 400 where one is left.
    pub fn finish(&self) -> Result<(), Problem> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(Problem::bad_request(format!("there is no parameter '{name}' here")))
            }
        }
    }
}

fn decode(text: &str) -> Result<String, Problem> {
    let text: Cow<'_, str> =
        if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    let decoded = percent_encoding::percent_decode_str(&text).decode_utf8();
    decoded
        .map(String::from)
        .map_err(|_| Problem::bad_request("the parameters are not UTF-8 in percent signs"))
}

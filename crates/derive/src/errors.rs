//! Mistakes, collected: the user sees all of them at once, each at its place.

use proc_macro2::TokenStream;
use quote::ToTokens;
use std::fmt::Display;
use syn::Error;

/// The mistakes found so far.
#[derive(Default)]
pub struct Errors(Vec<Error>);

impl Errors {
    /// Notes a mistake at these tokens.
    pub fn at(&mut self, place: impl ToTokens, message: impl Display) {
        self.0.push(Error::new_spanned(place, message));
    }

    /// Notes a mistake that syn found.
    pub fn push(&mut self, error: Error) {
        self.0.push(error);
    }

    /// The expansion if there is no mistake; otherwise only the mistakes, so that the errors that follow from them are not
    /// reported too.
    pub fn or_expand<T>(
        self,
        parsed: Option<T>,
        expand: impl FnOnce(&T) -> TokenStream,
    ) -> TokenStream {
        self.or_expand_with(parsed, expand, |_| TokenStream::new())
    }

    /// The expansion if there is no mistake; otherwise the mistakes, and what the rest of the program needs to compile.
    pub fn or_expand_with<T>(
        self,
        parsed: Option<T>,
        expand: impl FnOnce(&T) -> TokenStream,
        stub: impl FnOnce(&T) -> TokenStream,
    ) -> TokenStream {
        match parsed {
            Some(parsed) if self.0.is_empty() => expand(&parsed),
            parsed => {
                let mistakes = self.0.iter().map(Error::to_compile_error);
                mistakes.chain(parsed.as_ref().map(stub)).collect()
            }
        }
    }
}

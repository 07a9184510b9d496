//! Facts about types that only the compiler knows, as constant assertions in the expansion.
//!
//! Each is a constant of its own, so that the compiler reports all of them. They are emitted only if the type's text leaves
//! a doubt: most records have none.

use crate::names::{ident, plain};
use crate::record::ast::{FieldAst, RecordAst};
use crate::record::attr::ReferenceTarget;
use crate::types::Plain;
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;

/// The assertions of a record.
pub fn assertions(table: &RecordAst<'_>) -> TokenStream {
    let mut assertions = TokenStream::new();
    for (place, column) in table.places().filter(|(_, column)| column.any.is_none()) {
        let is_key = table.key.contains(&place);
        Assertions { record: table.ident, column, out: &mut assertions }.all(is_key);
    }
    assertions
}

struct Assertions<'a> {
    record: &'a Ident,
    column: &'a FieldAst<'a>,
    out: &'a mut TokenStream,
}

impl Assertions<'_> {
    fn all(&mut self, is_key: bool) {
        let attrs = &self.column.attrs;
        if is_key && self.column.shape.optional.is_none() {
            // A `Value` holds values of every type, and the table rejects NULL.
            let ty = self.field();
            let condition =
                quote!(!#ty::NULLABLE || ::core::matches!(#ty::TYPE, __bobak::Type::Any));
            self.assert(condition, "a key is never NULL: remove the Option");
        }
        for role in &attrs.roles {
            let (variant, wanted) = role.value.wanted();
            let variant = ident(variant);
            let message =
                format!("`{}` belongs on {wanted}: change the field's type", role.value.word());
            self.of_type(quote!(Type::#variant), &message);
            self.not_null(&format!("`{}` is never NULL: remove the Option", role.value.word()));
        }
        let text = "is for texts: remove it here, or change the field's type";
        if attrs.max.is_some() {
            self.of_type(quote!(Type::Text), &format!("`max` {text}"));
        }
        if attrs.collation.is_some() {
            self.of_type(quote!(Type::Text), &format!("`collation` {text}"));
        }
        if attrs.as_text.is_some() {
            let ty = self.field();
            let message = "`store = \"text\"` is for dates, times and UUIDs: remove it here";
            self.assert(quote!(#ty::TYPE.has_text_form()), message);
        }
        if let Some(default) = &attrs.default {
            let message = "the default is not of the field's type: defaults are for booleans, \
                           numbers and texts";
            self.of_type(default.value.fits(), message);
        }
        self.reference();
    }

    fn reference(&mut self) {
        let (attrs, ty) = (&self.column.attrs, self.field());
        if attrs.on_delete.as_ref().is_some_and(|action| action.value == "SetNull")
            && self.column.shape.optional.is_none()
        {
            let message = "\"set_null\" needs a field that may be NULL: make it an Option";
            self.assert(quote!(#ty::NULLABLE), message);
        }
        if let Some(ReferenceTarget::Record(target)) = attrs.references.as_ref().map(|at| &at.value)
        {
            let name = target.to_token_stream().to_string();
            let message = format!("the field is not of the type of {name}'s key");
            let span = target.span();
            let target = without_self(target.to_token_stream(), self.record);
            let key = quote_spanned!(span=> <<#target as __bobak::Record>::Key as __bobak::Field>);
            self.assert(quote!(#ty::TYPE.storage() as u8 == #key::TYPE.storage() as u8), &message);
        }
    }

    /// Asserts that the type is one of the alternatives, where its text leaves a doubt.
    fn of_type(&mut self, alternatives: TokenStream, message: &str) {
        if self.column.shape.plain == Plain::Unknown {
            let ty = self.field();
            let condition = quote! {{
                use __bobak::Type;
                ::core::matches!(#ty::TYPE, #alternatives)
            }};
            self.assert(condition, message);
        }
    }

    fn not_null(&mut self, message: &str) {
        let ty = self.field();
        self.assert(quote!(!#ty::NULLABLE), message);
    }

    fn field(&self) -> TokenStream {
        let ty = without_self(self.column.ty.to_token_stream(), self.record);
        quote!(<#ty as __bobak::Field>)
    }

    fn assert(&mut self, condition: TokenStream, message: &str) {
        let message = format!("field `{}`: {message}", plain(self.column.ident));
        let span = self.column.ty.span();
        self.out.extend(quote_spanned!(span=>
            const _: () = ::core::assert!(#condition, #message);
        ));
    }
}

/// The record's name in place of `Self`, which a constant outside of its `impl` has not.
fn without_self(tokens: TokenStream, record: &Ident) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(name) if name == "Self" => {
            let mut record = record.clone();
            record.set_span(name.span());
            TokenTree::Ident(record)
        }
        TokenTree::Group(group) => {
            let inner = without_self(group.stream(), record);
            let mut replaced = Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::Group(replaced)
        }
        other => other,
    };
    tokens.into_iter().map(replace).collect()
}

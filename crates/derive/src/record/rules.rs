//! Normalizers and validators: `trim`, `length = 1..=80`, `validate = path`.

use crate::attr::{At, Item};
use crate::errors::Errors;
use crate::record::ast::{FieldAst, RecordAst};
use crate::record::attr::EncryptedAttr;
use crate::types::{Plain, TypeSyntax, generic_argument};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{LitInt, LitStr, Path, Token, Type};

/// A rule of a field.
pub enum RuleAttr {
    Trim,
    Lowercase,
    Uppercase,
    Normalize(Path),
    Length(u32, Option<u32>),
    /// The tokens of the range.
    Range(TokenStream),
    Email,
    Pattern(LitStr),
    Validate(Path),
}

/// The names of the rules of fields.
pub const RULES: &[&str] = &[
    "trim",
    "lowercase",
    "uppercase",
    "normalize",
    "length",
    "range",
    "email",
    "pattern",
    "validate",
];

/// Those that may be given more than once.
pub const REPEATABLE: &[&str] = &["normalize", "validate"];

impl RuleAttr {
    /// Reads one of [`RULES`].
    pub fn parse(item: &Item, errors: &mut Errors) -> Option<At<Self>> {
        let flag = |rule, errors: &mut Errors| {
            item.flag(errors);
            Some(rule)
        };
        let path = |errors: &mut Errors| {
            let example = format!("{} = path::to::function", item.name);
            item.parse_with(Path::parse_mod_style, &example, errors)
        };
        let rule = match item.name.to_string().as_str() {
            "trim" => flag(Self::Trim, errors),
            "lowercase" => flag(Self::Lowercase, errors),
            "uppercase" => flag(Self::Uppercase, errors),
            "email" => flag(Self::Email, errors),
            "normalize" => path(errors).map(Self::Normalize),
            "validate" => path(errors).map(Self::Validate),
            "pattern" => item.parse(r#"pattern = "[a-z]+""#, errors).map(Self::Pattern),
            "range" => item.tokens("range = 0..=100", errors).map(Self::Range),
            _ => item
                .parse_with(length, "length = 1..=80`, `length = 1..` or `length = ..=80", errors)
                .map(|(min, max)| Self::Length(min, max)),
        };
        rule.map(|rule| item.at(rule))
    }

    const fn is_normalizer(&self) -> bool {
        matches!(self, Self::Trim | Self::Lowercase | Self::Uppercase | Self::Normalize(_))
    }

    /// Whether it applies to texts only.
    const fn is_for_texts(&self) -> bool {
        !matches!(self, Self::Normalize(_) | Self::Range(_) | Self::Validate(_))
    }
}

fn length(input: ParseStream<'_>) -> syn::Result<(u32, Option<u32>)> {
    let number = |input: ParseStream<'_>| match input.peek(LitInt) {
        true => input.parse::<LitInt>()?.base10_parse().map(Some),
        false => Ok(None),
    };
    let min: Option<u32> = number(input)?;
    let max: Option<u32> = match input.peek(Token![..=]) {
        true => {
            input.parse::<Token![..=]>()?;
            Some(input.parse::<LitInt>()?.base10_parse()?)
        }
        false => {
            input.parse::<Token![..]>()?;
            None
        }
    };
    let (least, is_empty) = (min.unwrap_or(0), min.is_none() && max.is_none());
    match max {
        Some(max) if max < least => Err(input.error("empty")),
        _ if is_empty => Err(input.error("without an end")),
        max => Ok((least, max)),
    }
}

/// Whether a type is written as `Vec<u8>` or `Option<Vec<u8>>`.
fn is_bytes(ty: &Type) -> bool {
    let ty = generic_argument(ty, "Option").unwrap_or(ty);
    let item = generic_argument(ty, "Vec").map(|item| TypeSyntax::of(item).plain);
    matches!(item, Some(Plain::Integer("u8", ..)))
}

/// Checks the rules of a field.
pub fn check(column: &FieldAst<'_>, is_key: bool, errors: &mut Errors) {
    for rule in &column.attrs.rules {
        let is_bytes = is_bytes(column.ty);
        let fits = match rule.value {
            RuleAttr::Length(..) if is_bytes => true,
            _ => !is_bytes && !column.shape.plain.is_not(|plain| plain == Plain::Text),
        };
        if rule.value.is_for_texts() && !fits {
            errors.at(&rule.at, "this rule is for texts: remove it here");
        }
        if is_key && rule.value.is_normalizer() {
            errors.at(&rule.at, "a key finds its row as it is: remove the normalizer");
        }
        let attrs = &column.attrs;
        if !attrs.roles.is_empty() || attrs.deleted_at.is_some() || attrs.live.is_some() {
            errors.at(&rule.at, "Bobak fills this field: remove the rule");
        }
    }
}

/// The method `rules`; nothing for a record without any.
pub fn expand(table: &RecordAst<'_>) -> Option<TokenStream> {
    let fields: Vec<_> = table
        .places()
        .filter(|(_, column)| !column.attrs.rules.is_empty())
        .map(|(place, column)| {
            let (first, then): (Vec<_>, Vec<_>) =
                column.attrs.rules.iter().partition(|rule| rule.value.is_normalizer());
            let rules = first.into_iter().chain(then).map(|rule| field_rule(column, &rule.value));
            quote!(__bobak::rules::FieldRules { column: #place, rules: &[#(#rules),*] })
        })
        .collect();
    let encrypted = encrypted(table);
    let deleted_at = table.deleted_at().map(|(place, _)| place);
    let has_rules = !fields.is_empty() || !table.validators.is_empty();
    if !has_rules && deleted_at.is_none() && encrypted.is_none() {
        return None;
    }
    let option = |place: Option<usize>| match place {
        Some(place) => quote!(::core::option::Option::Some(#place)),
        None => quote!(::core::option::Option::None),
    };
    let (deleted_at, live) = (option(deleted_at), option(table.live().map(|(place, _)| place)));
    let ident = table.ident;
    let calls = table.validators.iter().map(|path| {
        quote_spanned!(path.span()=> |record: &#ident, violations| #path(record, violations))
    });
    let record = match table.validators.is_empty() {
        true => quote!(::core::option::Option::None),
        false => quote! {
            ::core::option::Option::Some(|row, violations| {
                #(__bobak::check_record::<#ident>(row, violations, #calls)?;)*
                ::core::result::Result::Ok(())
            })
        },
    };
    let encrypted = encrypted.unwrap_or_else(|| quote!(&[]));
    Some(quote! {
        // A path is called in a closure, so that `&String` becomes the `&str` of a validator.
        #[allow(clippy::redundant_closure)]
        fn rules() -> &'static __bobak::rules::Rules {
            static RULES: __bobak::rules::Rules = __bobak::rules::Rules {
                fields: &[#(#fields),*],
                record: #record,
                deleted_at: #deleted_at,
                live: #live,
                encrypted: #encrypted,
            };
            &RULES
        }
    })
}

/// The encrypted fields; `None` if there are none.
fn encrypted(table: &RecordAst<'_>) -> Option<TokenStream> {
    let fields: Vec<_> = table
        .places()
        .filter_map(|(place, column)| {
            let EncryptedAttr { searchable, context } = &column.attrs.encrypted.as_ref()?.value;
            let context = match context {
                Some(context) => quote!(::core::option::Option::Some(#context)),
                None => quote!(::core::option::Option::None),
            };
            Some(quote!(__bobak::rules::EncryptedField {
                column: #place,
                searchable: #searchable,
                context: #context
            }))
        })
        .collect();
    (!fields.is_empty()).then(|| quote!(__bobak::encrypted_fields!(#(#fields),*)))
}

fn field_rule(column: &FieldAst<'_>, rule: &RuleAttr) -> TokenStream {
    let ty = generic_argument(column.ty, "Option").unwrap_or(column.ty);
    let rule = match rule {
        RuleAttr::Trim => quote!(Trim),
        RuleAttr::Lowercase => quote!(Lowercase),
        RuleAttr::Uppercase => quote!(Uppercase),
        RuleAttr::Email => quote!(Email),
        RuleAttr::Length(min, max) => {
            let (min, max) = (*min as usize, max.map(|max| max as usize));
            let max = match max {
                Some(max) => quote!(::core::option::Option::Some(#max)),
                None => quote!(::core::option::Option::None),
            };
            quote!(Length { min: #min, max: #max })
        }
        RuleAttr::Range(range) => quote_spanned! {range.span()=>
            Range {
                check: |value| __bobak::rules::check_range::<#ty>(value, &(#range)),
                limits: || __bobak::rules::range_limits::<#ty>(&(#range)),
            }
        },
        RuleAttr::Normalize(path) => quote_spanned! {path.span()=>
            Normalize(|value| __bobak::rules::normalize_with::<#ty>(value, |value| #path(value)))
        },
        RuleAttr::Validate(path) => quote_spanned! {path.span()=>
            Validate(|value| __bobak::rules::check_with::<#ty, _>(value, |value| #path(value)))
        },
        RuleAttr::Pattern(text) => {
            return quote_spanned!(text.span()=> __bobak::pattern_rule!(#text));
        }
    };
    quote!(__bobak::rules::FieldRule::#rule)
}

/// The implementation of `SoftDelete`; nothing for a record without `deleted_at`.
pub fn soft_delete(table: &RecordAst<'_>) -> Option<TokenStream> {
    let (_, column) = table.deleted_at()?;
    let (record, constant) = (table.ident, &column.constant);
    let liveness = table.live().map(|(_, live)| {
        let constant = &live.constant;
        quote_spanned! {live.ty.span()=>
            const LIVENESS: ::core::option::Option<
                __bobak::Column<Self, ::core::option::Option<bool>>,
            > = ::core::option::Option::Some(Self::#constant);
        }
    });
    Some(quote_spanned! {column.ty.span()=>
        #[automatically_derived]
        impl __bobak::SoftDelete for #record {
            const DELETION: __bobak::Column<Self, ::core::option::Option<__bobak::Timestamp>> =
                Self::#constant;
            #liveness
        }
    })
}

//! The expansion of foreign keys of several fields: relations, and calls for the schema.

use crate::errors::Errors;
use crate::names::{constant, ident, plain};
use crate::record::ast::{FieldAst, RecordAst};
use crate::record::foreign_key::{ForeignKeyAttr, ForeignTarget};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::HashSet;

/// The name of a foreign key's relation: that of the record in capitals, with `_REF` if a column has it. `None` if it refers to
/// a table.
fn relation_name(table: &RecordAst<'_>, key: &ForeignKeyAttr) -> Option<Ident> {
    let ForeignTarget::Record { record, .. } = &key.target else { return None };
    if let Some(name) = &key.relation {
        return Some(name.clone());
    }
    let last = &record.segments.last()?.ident;
    let name = constant(if last == "Self" { table.ident } else { last });
    let name = Ident::new(&name.to_string(), last.span());
    let is_column = table.columns.iter().any(|column| column.constant == name);
    Some(if is_column { Ident::new(&format!("{name}_REF"), last.span()) } else { name })
}

/// The constants of the columns and of the relations by one field.
fn constants_of_fields(table: &RecordAst<'_>) -> Vec<Ident> {
    let columns = table.columns.iter();
    let mut names: Vec<_> = columns.clone().map(|column| column.constant.clone()).collect();
    names.extend(columns.filter(|c| c.refers_to_record()).map(|column| table.relation(column)));
    names
}

/// Whether two constants of the record have the same name.
pub fn has_duplicate_constants(table: &RecordAst<'_>) -> bool {
    let mut names = constants_of_fields(table);
    names.extend(table.foreign_keys.iter().filter_map(|(_, key)| relation_name(table, key)));
    let mut seen = HashSet::new();
    !names.iter().all(|name| seen.insert(name))
}

/// Notes relations of the same name.
pub fn check_relations(table: &RecordAst<'_>, errors: &mut Errors) {
    let mut names = constants_of_fields(table);
    for (_, key) in &table.foreign_keys {
        let Some(name) = relation_name(table, key) else { continue };
        if names.contains(&name) {
            let message =
                format!("the constant `{name}` already exists: write `relation = OTHER_NAME`");
            errors.at(&name, message);
        }
        names.push(name);
    }
}

/// The constants of the relations.
pub fn constants(table: &RecordAst<'_>) -> TokenStream {
    let constants = table.foreign_keys.iter().filter_map(|(columns, key)| {
        let (name, owner) = (relation_name(table, key)?, table.ident);
        let ForeignTarget::Record { record, fields } = &key.target else { return None };
        let own: Vec<&FieldAst<'_>> =
            columns.iter().filter_map(|&place| table.columns.get(place)).collect();
        let vis = own.first().map(|column| column.vis);
        let pairs = own.iter().zip(fields).map(|(column, field)| {
            // Errors of both are at the field that is referred to.
            let (mut owner, mut own) = (owner.clone(), column.constant.clone());
            owner.set_span(field.span());
            own.set_span(field.span());
            let other = constant(field);
            quote_spanned!(field.span()=> #owner::#own.refers_to_field(#record::#other))
        });
        let names: Vec<_> = own.iter().map(|column| format!("`{}`", plain(column.ident))).collect();
        let doc = format!(" The record that {} refer to.", names.join(", "));
        Some(quote_spanned! {name.span()=>
            #[doc = #doc]
            #vis const #name: __bobak::ToOne<#owner, #record> =
                __bobak::ToOne::by_fields([#(#pairs),*]);
        })
    });
    constants.collect()
}

/// What has the compiler evaluate the constants, which compare the types of fields, whether or not a program uses them.
pub fn assertions(table: &RecordAst<'_>) -> TokenStream {
    let names = table.foreign_keys.iter().filter_map(|(_, key)| relation_name(table, key));
    let owner = table.ident;
    names
        .map(|name| quote_spanned!(name.span()=> const _: bool = #owner::#name.is_nullable();))
        .collect()
}

/// The calls that add the foreign keys to the schema.
pub fn schema_calls(table: &RecordAst<'_>) -> impl Iterator<Item = TokenStream> {
    table.foreign_keys.iter().map(|(columns, key)| {
        let columns = columns.iter().filter_map(|&place| table.columns.get(place));
        let columns = columns.map(|column| &column.name);
        let on_delete = ident(
            key.on_delete
                .as_ref()
                .map_or_else(|| ForeignKeyAttr::default_action(key.deferred), |at| at.value),
        );
        let on_update = ident(key.on_update.as_ref().map_or("NoAction", |at| at.value));
        let deferred = key.deferred.then(|| quote!(.deferred()));
        let foreign_key = match (&key.target, relation_name(table, key)) {
            (ForeignTarget::Table { table, columns }, _) => quote! {
                __bobak::ForeignKey::new(#table, [#(#columns),*], __bobak::OnDelete::#on_delete)
            },
            (_, name) => {
                let (owner, name) = (table.ident, name.to_token_stream());
                quote!(#owner::#name.foreign_key(__bobak::OnDelete::#on_delete))
            }
        };
        quote! {
            .foreign_key(
                [#(#columns),*],
                #foreign_key.on_update(__bobak::OnUpdate::#on_update)
                    #deferred,
            )
        }
    })
}

//! The expansion: data, and thin calls.

use crate::names::{constant, ident, plain};
use crate::record::assert::assertions;
use crate::record::ast::{FieldAst, RecordAst, ReferencePart};
use crate::record::attr::{EncryptedAttr, ReferenceTarget};
use crate::record::foreign_key::ForeignKeyAttr;
use crate::record::{relations, rules};
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

/// The implementations for a table without mistakes.
pub fn expand(table: &RecordAst<'_>) -> TokenStream {
    let (krate, record, name) = (&table.krate, table.ident, &table.name);
    let count = table.columns.len();
    let (constants, schema) = (constants(table), schema(table));
    let (key_type, key) = key(table);
    let key_column = table.key_columns().next().map_or("", |column| &column.name);
    let (values, encode, from_row) = (values(table), encode(table), from_row(table));
    let (read, read_from, set_written) = (read(table), read_from(table), set_written(table));
    let (on_request, assertions) = (on_request(table), assertions(table));
    let relation_types = relations::assertions(table);
    let (rules, soft_delete) = (rules::expand(table), rules::soft_delete(table));
    quote! {
        #[allow(dead_code, deprecated, unused_qualifications)]
        const _: () = {
            use #krate::__private as __bobak;
            #constants
            #[automatically_derived]
            impl __bobak::Record for #record {
                type Key = #key_type;
                type Values<'a> = [__bobak::Value<'a>; #count];
                const TABLE: &'static str = #name;
                const KEY_COLUMN: &'static str = #key_column;
                #on_request
                #schema
                #rules
                #key
                #values
                #encode
                #read
                #read_from
                #set_written
            }
            #soft_delete
            #from_row
            #assertions
            #relation_types
        };
    }
}

/// The constants of columns and relations.
pub fn constants(table: &RecordAst<'_>) -> TokenStream {
    let record = table.ident;
    let constants = table.places().map(|(place, column)| {
        let FieldAst { vis, constant, name, .. } = column;
        let ty = column_type(column);
        let any = (column.any == Some(ReferencePart::Table)).then(|| any_constant(record, place, column));
        let doc = format!(" The column `{name}`.");
        let (kind, searchable) = match column.attrs.encrypted.as_ref().map(|at| &at.value) {
            Some(EncryptedAttr { searchable: true, .. }) => ("EncryptedColumn", quote!(, true)),
            Some(_) => ("EncryptedColumn", quote!()),
            None => ("Column", quote!()),
        };
        let kind = ident(kind);
        quote! {
            #[doc = #doc]
            #vis const #constant: __bobak::#kind<#record, #ty #searchable> = __bobak::#kind::new(#place);
            #any
        }
    });
    let search = table.search.as_ref().map(|_| {
        quote! {
            /// The records whose texts have what is searched for, the best first.
            #[must_use]
            pub fn search(text: impl ::core::convert::Into<::std::string::String>) -> __bobak::Query<#record> {
                __bobak::Query::search(text)
            }
        }
    });
    let by_field = table.places().filter_map(|(place, column)| relation(table, place, column));
    let by_fields = relations::constants(table);
    quote! {
        #[automatically_derived]
        impl #record {
            #(#constants)*
            #(#by_field)*
            #by_fields
            #search
        }
    }
}

/// Both columns of a reference to a record of any type.
fn any_constant(record: &Ident, place: usize, column: &FieldAst<'_>) -> TokenStream {
    let FieldAst { vis, ty, ident, .. } = column;
    let constant = constant(ident);
    let doc = format!(" The record that `{}` refers to.", plain(ident));
    quote! {
        #[doc = #doc]
        #vis const #constant: __bobak::AnyReferenceColumns<#record, #ty> =
            __bobak::AnyReferenceColumns::new(#place);
    }
}

/// The type of a column's values.
fn column_type(column: &FieldAst<'_>) -> TokenStream {
    let ty = column.ty;
    match column.any {
        None => quote!(#ty),
        Some(ReferencePart::Table) => quote!(<#ty as __bobak::AnyReference>::Table),
        Some(ReferencePart::Key) => quote!(<#ty as __bobak::AnyReference>::Key),
    }
}

/// A column's value of `self`: a `Result`.
fn value(column: &FieldAst<'_>) -> TokenStream {
    let field = column.ident;
    let value = match column.any {
        None if column.on_request => quote!(OnRequest::to_value(&self.#field)),
        None => quote!(Field::to_value(&self.#field)),
        Some(ReferencePart::Table) => {
            quote!(Result::Ok(__bobak::AnyReference::table_value(&self.#field)))
        }
        Some(ReferencePart::Key) => quote!(AnyReference::key_value(&self.#field)),
    };
    quote_spanned!(column.ty.span()=> __bobak::#value)
}

/// The relation of a field that refers to a record.
fn relation(table: &RecordAst<'_>, place: usize, column: &FieldAst<'_>) -> Option<TokenStream> {
    let Some(ReferenceTarget::Record(target)) =
        column.attrs.references.as_ref().map(|at| &at.value)
    else {
        return None;
    };
    let FieldAst { vis, ty, .. } = column;
    let (record, constant) = (table.ident, table.relation(column));
    let doc = format!(" The record that `{}` refers to.", column.name);
    Some(quote_spanned! {target.span()=>
        #[doc = #doc]
        #vis const #constant: __bobak::ToOne<#record, #target> =
            __bobak::ToOne::new(#place, <#ty as __bobak::Field>::NULLABLE);
    })
}

fn schema(table: &RecordAst<'_>) -> TokenStream {
    let name = &table.name;
    let columns = table.places().map(|(place, described)| {
        let column = column(described);
        match table.key.contains(&place) && described.shape.optional.is_none() {
            true => quote!(#column.nullable(false)),
            false => column,
        }
    });
    let key: Vec<_> = table.key_columns().map(|column| &column.name).collect();
    let key = (!key.is_empty()).then(|| quote!(.key([#(#key),*])));
    let view = table.view.then(|| quote!(.view()));
    let given = table.given_key.then(|| quote!(.given_key()));
    let indexes = table.indexes.iter().map(|index| {
        let name = &index.name;
        let method = ident(if index.unique { "unique_index" } else { "index" });
        let columns = index.columns.iter().filter_map(|&place| table.columns.get(place));
        let columns = columns.map(|column| &column.name);
        quote!(.#method(#name, [#(#columns),*]))
    });
    let search = table.search.as_ref().map(|search| {
        let columns = search.columns.iter().filter_map(|&place| table.columns.get(place));
        let columns = columns.map(|column| &column.name);
        let language = ident(search.language);
        quote!(.search([#(#columns),*], __bobak::search::SearchLanguage::#language))
    });
    let former = table.renamed_from.as_ref().map(|name| quote!(.renamed_from(#name)));
    let former_columns = table.columns.iter().filter_map(|column| {
        let (name, former) = (&column.name, &column.attrs.renamed_from.as_ref()?.value);
        Some(quote!(.column_renamed_from(#name, #former)))
    });
    let never_reused = table.never_reuse_keys.as_ref().map(|_| quote!(.never_reuse_keys()));
    let foreign_keys = relations::schema_calls(table);
    quote! {
        fn schema() -> &'static __bobak::Arc<__bobak::TableSchema> {
            static SCHEMA: __bobak::SchemaCell = __bobak::SchemaCell::new();
            SCHEMA.get_or_build(|| {
                __bobak::TableSchema::builder(#name)
                    #(.column(#columns))*
                    #key
                    #view
                    #given
                    #never_reused
                    #(#indexes)*
                    #former
                    #(#former_columns)*
                    #(#foreign_keys)*
                    #search
            })
        }
    }
}

/// The column's description.
fn column(column: &FieldAst<'_>) -> TokenStream {
    let FieldAst { name, attrs, .. } = column;
    let ty = column_type(column);
    let mut rules = TokenStream::new();
    if let Some(max) = attrs.max.as_ref().map(|max| max.value) {
        rules.extend(quote!(.max_chars(#max)));
    }
    if attrs.unique.is_some() {
        rules.extend(quote!(.unique()));
    }
    if let Some(collation) = attrs.collation.as_ref().map(|at| ident(at.value)) {
        rules.extend(quote!(.collation(__bobak::Collation::#collation)));
    }
    if let Some(default) = &attrs.default {
        let default = default.value.expand(column.shape.plain);
        rules.extend(quote!(.default(#default)));
    }
    if attrs.live.is_some() {
        // Of rows that exist when the column is added.
        rules.extend(quote!(.default(true)));
    }
    if let Some(check) = attrs.check.as_ref().map(|check| &check.value) {
        rules.extend(quote!(.check(#check)));
    }
    if let Some(expression) = attrs.generated.as_ref().map(|at| &at.value) {
        rules.extend(quote!(.generated(#expression)));
    }
    for role in attrs.roles.iter().map(|role| ident(role.value.variant())) {
        rules.extend(quote!(.role(__bobak::ColumnRole::#role)));
    }
    if attrs.as_text.is_some() {
        rules.extend(quote!(.as_text()));
    }
    let target = attrs.references.as_ref().and_then(|at| target(&at.value));
    if let Some(target) = target {
        let action = ident(attrs.on_delete.as_ref().map_or_else(
            || ForeignKeyAttr::default_action(attrs.deferred.is_some()),
            |at| at.value,
        ));
        rules.extend(quote!(.references(#target, __bobak::OnDelete::#action)));
        if let Some(action) = attrs.on_update.as_ref().map(|at| ident(at.value)) {
            rules.extend(quote!(.on_update(__bobak::OnUpdate::#action)));
        }
        if attrs.deferred.is_some() {
            rules.extend(quote!(.deferred()));
        }
    }
    quote!(__bobak::ColumnSchema::of::<#ty>(#name) #rules)
}

/// The table and the column referred to. Its schema is not asked for: it may refer back.
fn target(target: &ReferenceTarget) -> Option<TokenStream> {
    match target {
        ReferenceTarget::Record(ty) => {
            let record = quote_spanned!(ty.span()=> <#ty as __bobak::Record>);
            Some(quote!(#record::TABLE, #record::KEY_COLUMN))
        }
        ReferenceTarget::Column { table, column } => Some(quote!(#table, #column)),
        ReferenceTarget::Wrong => None,
    }
}

/// The key's type, and the method that gives it.
fn key(table: &RecordAst<'_>) -> (TokenStream, TokenStream) {
    let types: Vec<_> = table.key_columns().map(|column| column.ty).collect();
    let clones = table.key_columns().map(|column| {
        let field = column.ident;
        quote!(::core::clone::Clone::clone(&self.#field))
    });
    let (ty, body) = match types.len() {
        0 => (quote!(()), quote!()),
        1 => (quote!(#(#types)*), quote!(#(#clones)*)),
        _ => (quote!((#(#types),*)), quote!((#(#clones),*))),
    };
    let method = quote! {
        #[inline]
        fn key(&self) -> Self::Key {
            #body
        }
    };
    (ty, method)
}

/// Which fields are read on request, and which of them are not loaded; nothing for a record without such fields.
fn on_request(table: &RecordAst<'_>) -> Option<TokenStream> {
    let (mut words, mut tests) = ([0_u64; 4], Vec::new());
    for (place, column) in table.places().filter(|(_, column)| column.on_request) {
        if let Some(word) = words.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
        let field = column.ident;
        tests.push(quote!(if !self.#field.is_loaded() { columns.insert(#place); }));
    }
    (!tests.is_empty()).then(|| {
        quote! {
            const ON_REQUEST: __bobak::FieldSet = __bobak::FieldSet::from_words([#(#words),*]);

            fn not_loaded(&self) -> __bobak::FieldSet {
                let mut columns = __bobak::FieldSet::EMPTY;
                #(#tests)*
                columns
            }
        }
    })
}

fn values(table: &RecordAst<'_>) -> TokenStream {
    let name = &table.name;
    let values = table.columns.iter().map(|column| {
        let (value, column_name) = (value(column), &column.name);
        quote!(__bobak::named(#value, #name, #column_name)?)
    });
    quote! {
        #[inline]
        fn values(&self) -> __bobak::Result<Self::Values<'_>> {
            ::core::result::Result::Ok([#(#values),*])
        }
    }
}

fn encode(table: &RecordAst<'_>) -> TokenStream {
    let name = &table.name;
    let count = table.columns.len();
    let puts = table.places().map(|(place, column)| {
        let (value, column_name) = (value(column), &column.name);
        quote!(row.put::<#place>(__bobak::named(#value, #name, #column_name)?);)
    });
    quote! {
        #[inline]
        fn encode(&self, out: &mut ::std::vec::Vec<u8>) -> __bobak::Result<()> {
            let mut row = __bobak::codec::RowEncoder::<#count>::begin(out);
            #(#puts)*
            row.finish()
        }
    }
}

/// The columns at which fields are read: the first one of a field with two.
fn read_columns<'t>(table: &'t RecordAst<'_>) -> impl Iterator<Item = (usize, &'t FieldAst<'t>)> {
    table.places().filter(|(_, column)| column.any != Some(ReferencePart::Key))
}

fn read_method(column: &FieldAst<'_>) -> Ident {
    ident(match column.any {
        Some(_) => "read_any_reference",
        None if column.on_request => "read_on_request",
        None => "read_field",
    })
}

fn read(table: &RecordAst<'_>) -> TokenStream {
    let fields = read_columns(table).map(|(place, column)| {
        let (field, method) = (column.ident, read_method(column));
        let read = quote_spanned!(column.ty.span()=> __bobak::#method(row, #place, schema)?);
        quote!(#field: #read)
    });
    let skipped = table.skipped.iter().map(|skipped| {
        let field = skipped.ident;
        quote!(#field: ::core::default::Default::default())
    });
    quote! {
        #[inline]
        fn read(row: &dyn __bobak::Row) -> __bobak::Result<Self> {
            let schema = <Self as __bobak::Record>::schema;
            ::core::result::Result::Ok(Self {
                #(#fields,)*
                #(#skipped,)*
            })
        }
    }
}

fn read_from(table: &RecordAst<'_>) -> TokenStream {
    let fields = read_columns(table).map(|(place, column)| {
        let (field, method) = (column.ident, read_method(column));
        match column.any {
            None if !column.on_request => quote_spanned!(column.ty.span()=>
                __bobak::read_field_into(&mut self.#field, row, #place, schema)?;
            ),
            _ => quote_spanned!(column.ty.span()=>
                self.#field = __bobak::#method(row, #place, schema)?;
            ),
        }
    });
    quote! {
        #[inline]
        fn read_from(&mut self, row: &dyn __bobak::Row) -> __bobak::Result<()> {
            let schema = <Self as __bobak::Record>::schema;
            #(#fields)*
            ::core::result::Result::Ok(())
        }
    }
}

/// Sets the fields that a write sets; nothing for a record without such fields.
fn set_written(table: &RecordAst<'_>) -> Option<TokenStream> {
    let is_made = !table.given_key && table.key_columns().count() == 1;
    // An upsert on a unique index sets the key of the row that it updates.
    let is_unique = table.columns.iter().any(|column| column.attrs.unique.is_some())
        || table.indexes.iter().any(|index| index.unique);
    let is_key = |column: &FieldAst<'_>| {
        (is_made || is_unique) && table.key_columns().any(|key| std::ptr::eq(key, column))
    };
    let arms: Vec<_> = table
        .places()
        .filter(|(_, column)| !column.attrs.roles.is_empty() || column.on_request || is_key(column))
        .map(|(place, column)| {
            let field = column.ident;
            let method = match column.on_request {
                true => quote!(OnRequest::set_value),
                false => quote!(Field::read_from),
            };
            let set = quote_spanned!(column.ty.span()=>
                __bobak::#method(&mut self.#field, value)
            );
            quote!(#place => #set,)
        })
        .collect();
    (!arms.is_empty()).then(|| {
        quote! {
            fn set_written(
                &mut self,
                column: usize,
                value: __bobak::ValueRef<'_>,
            ) -> __bobak::Result<()> {
                match column {
                    #(#arms)*
                    _ => ::core::result::Result::Ok(()),
                }
            }
        }
    })
}

/// The implementation of `FromRow`.
pub fn from_row(table: &RecordAst<'_>) -> TokenStream {
    let record = table.ident;
    let names = table.columns.iter().map(|column| &column.name);
    quote! {
        #[automatically_derived]
        impl __bobak::FromRow for #record {
            fn columns() -> ::core::option::Option<&'static [&'static str]> {
                ::core::option::Option::Some(&[#(#names),*])
            }

            #[inline]
            fn from_row(row: &dyn __bobak::Row) -> __bobak::Result<Self> {
                __bobak::read_result_record::<Self>(row)
            }
        }
    }
}

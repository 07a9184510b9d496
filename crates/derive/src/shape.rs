//! `#[derive(Shape)]`: a struct that says what to load of a record.

use crate::attr::{Item, crate_path, default_crate, items};
use crate::errors::Errors;
use crate::names::{constant, plain};
use crate::types::generic_argument;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Fields, Token, Type};

/// The expansion, or every mistake.
pub fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let shape = Shape::parse(input, &mut errors);
    errors.or_expand(shape, Shape::expand)
}

struct Shape<'a> {
    ident: &'a Ident,
    krate: TokenStream,
    record: Type,
    parameters: Vec<Parameter>,
    fields: Vec<Field<'a>>,
}

/// A parameter of the filters: `me: Option<i64>`.
struct Parameter {
    name: Ident,
    ty: Type,
}

struct Field<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    content: Content,
}

/// What a field holds.
enum Content {
    /// A column of the record.
    Column(TokenStream),
    /// Related records, or what is known of them.
    Related(Relation),
}

struct Relation {
    kind: RelatedKind,
    path: TokenStream,
    query: TokenStream,
    /// The type of the shape, or of the selected values.
    inner: TokenStream,
    select: Option<TokenStream>,
    with: TokenStream,
    optional: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum RelatedKind {
    One,
    Many,
    Count,
    Exists,
}

const KINDS: &[(&str, RelatedKind)] = &[
    ("one", RelatedKind::One),
    ("many", RelatedKind::Many),
    ("count", RelatedKind::Count),
    ("exists", RelatedKind::Exists),
];
const ON_STRUCT: &[&str] = &["of", "with", "crate"];
const ON_FIELD: &[&str] =
    &["column", "one", "many", "count", "exists", "filter", "order_by", "limit", "select", "with"];

impl Parse for Parameter {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Self { name, ty: input.parse()? })
    }
}

impl<'a> Shape<'a> {
    fn parse(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        if !input.generics.params.is_empty() {
            errors.at(
                &input.generics.params,
                "a shape has no type parameters: write a struct for each type",
            );
        }
        let (mut krate, mut record, mut parameters) = (default_crate(), None, Vec::new());
        for item in items(&input.attrs, "shape", &[], errors) {
            match item.name.to_string().as_str() {
                "of" => record = item.parse("of = Record", errors),
                "with" => {
                    let parser = Punctuated::<Parameter, Token![,]>::parse_terminated;
                    let list = item.parse_list(parser, "with(me: i64, since: Date)", errors);
                    parameters = list.into_iter().flatten().collect();
                }
                "crate" => krate = crate_path(&item, errors).unwrap_or(krate),
                _ => item.unknown(ON_STRUCT, ON_FIELD, "a field", errors),
            }
        }
        let named = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(named) if !named.named.is_empty() => Some(&named.named),
                _ => None,
            },
            _ => None,
        };
        if named.is_none() {
            errors.at(
                &input.ident,
                "a shape is a struct with named fields: one for each thing to load",
            );
        }
        if record.is_none() {
            errors.at(&input.ident, "a shape shows a record: write `#[shape(of = Record)]`");
        }
        let (named, record) = (named?, record?);
        let mut fields = Vec::new();
        for field in named {
            let Some(ident) = &field.ident else { continue };
            let content = Content::parse(ident, &field.ty, &field.attrs, &record, errors)?;
            fields.push(Field { ident, ty: &field.ty, content });
        }
        Some(Self { ident: &input.ident, krate, record, parameters, fields })
    }

    fn expand(&self) -> TokenStream {
        let Self { ident, krate, record, .. } = self;
        let types = self.parameters.iter().map(|parameter| &parameter.ty);
        let with = match self.parameters.len() {
            1 => quote!(#(#types)*),
            _ => quote!((#(#types),*)),
        };
        let columns = self.columns();
        let relations: Vec<_> = self.relations().collect();
        let names: Vec<_> = relations.iter().map(|(field, _)| field.ident).collect();
        let part_types = relations.iter().map(|(_, relation)| relation.part_type());
        let loads = relations.iter().map(|(field, relation)| self.load(field, relation));
        let joins = self.joins();
        let links = relations.iter().map(|(field, Relation { path, .. })| {
            quote_spanned!(field.ty.span()=> columns.relation::<#record, _>(#path);)
        });
        let assertions = relations.iter().filter_map(|(field, relation)| relation.assertion(field));
        let fields = self.build();
        quote! {
            #[allow(dead_code, deprecated, unused_qualifications, unused_variables, unreachable_pub)]
            const _: () = {
                use #krate::__private as __bobak;
                pub struct Parts { #(#names: #part_types,)* }
                #[automatically_derived]
                impl __bobak::Shape for #ident {
                    type Record = #record;
                    type With = #with;
                    type Parts = Parts;

                    fn columns(columns: &mut __bobak::ShapeColumns) {
                        #(columns.field((#columns).index());)*
                        #(#links)*
                    }

                    #joins
                    fn load_parts(
                        level: &__bobak::ShapeLevel<'_>,
                        with: &Self::With,
                    ) -> __bobak::Result<Parts> {
                        ::core::result::Result::Ok(Parts { #(#names: #loads,)* })
                    }

                    fn build(
                        row: &dyn __bobak::Row,
                        number: usize,
                        parts: &mut Parts,
                    ) -> __bobak::Result<Self> {
                        ::core::result::Result::Ok(Self { #fields })
                    }
                }
                #(#assertions)*
            };
        }
    }

    fn columns(&self) -> Vec<&TokenStream> {
        let mut columns = Vec::new();
        for field in &self.fields {
            if let Content::Column(column) = &field.content {
                columns.push(column);
            }
        }
        columns
    }

    fn relations(&self) -> impl Iterator<Item = (&Field<'a>, &Relation)> {
        self.fields.iter().filter_map(|field| match &field.content {
            Content::Related(relation) => Some((field, relation)),
            Content::Column(_) => None,
        })
    }

    /// The place of a field among those that hold one related record, or among those that count such.
    fn place(&self, field: &Field<'_>, relation: &Relation) -> usize {
        let is_one = relation.kind == RelatedKind::One;
        let same = |(_, other): &(&Field<'_>, &Relation)| {
            other.kind != RelatedKind::Many && (other.kind == RelatedKind::One) == is_one
        };
        let mut places = self.relations().filter(same);
        places.position(|(other, _)| std::ptr::eq(other, field)).unwrap_or(usize::MAX)
    }

    /// The function that joins and counts related records.
    fn joins(&self) -> Option<TokenStream> {
        let record = &self.record;
        let mut joins = self.relations().filter_map(|(field, relation)| {
            let (bind, Relation { path, query, with, inner, .. }) = (self.bind(), relation);
            let call = match relation.kind {
                RelatedKind::Many => return None,
                RelatedKind::One => {
                    quote!(one::<#record, _, #inner>(#path, #query, &(#with)))
                }
                kind => {
                    let only_exists = kind == RelatedKind::Exists;
                    quote!(count::<#record, _>(#path, &#query, #only_exists))
                }
            };
            Some(quote_spanned!(field.ty.span()=> { #bind joins.#call?; }))
        });
        let first = joins.next()?;
        Some(quote! {
            fn join_related(
                joins: &mut __bobak::ShapeJoins<'_>,
                with: &Self::With,
            ) -> __bobak::Result<()> {
                #first
                #(#joins)*
                ::core::result::Result::Ok(())
            }
        })
    }

    /// The parameters as variables: of each field for itself, so that it may consume them.
    fn bind(&self) -> TokenStream {
        let names = self.parameters.iter().map(|parameter| &parameter.name);
        match self.parameters.len() {
            0 => TokenStream::new(),
            1 => quote!(let #(#names)* = ::core::clone::Clone::clone(with);),
            _ => quote!(let (#(#names),*) = ::core::clone::Clone::clone(with);),
        }
    }

    /// Loads the part of a field.
    fn load(&self, field: &Field<'_>, relation: &Relation) -> TokenStream {
        let Relation { path, query, with, inner, .. } = relation;
        let (record, bind) = (&self.record, self.bind());
        let place = self.place(field, relation);
        let call = match (relation.kind, &relation.select) {
            (RelatedKind::Count | RelatedKind::Exists, _) => {
                quote!(count::<#record, _>(#place, #path, #query))
            }
            (RelatedKind::One, _) => {
                quote!(one::<#record, _, #inner>(#place, #path, #query, &(#with)))
            }
            (_, Some(column)) => quote!(values::<#record, _, #inner>(#path, #query, #column)),
            _ => quote!(related::<#record, _, #inner>(#path, #query, &(#with))),
        };
        quote_spanned!(field.ty.span()=> { #bind level.#call? })
    }

    fn build(&self) -> TokenStream {
        let mut position = 0usize;
        let mut fields = TokenStream::new();
        for field in &self.fields {
            let (ident, name) = (field.ident, plain(field.ident));
            let value = match &field.content {
                Content::Column(column) => {
                    let read = quote!(__bobak::read_shape_field(row, #position, #column)?);
                    position += 1;
                    read
                }
                Content::Related(relation) => match relation.kind {
                    RelatedKind::One if relation.optional => {
                        quote!(parts.#ident.one(number, #name)?)
                    }
                    RelatedKind::One => quote!(parts.#ident.required(number, #name)?),
                    RelatedKind::Many => quote!(parts.#ident.many(number)?),
                    RelatedKind::Count => quote!(parts.#ident.count(number)),
                    RelatedKind::Exists => quote!(parts.#ident.exists(number)),
                },
            };
            fields.extend(quote_spanned!(field.ty.span()=> #ident: #value,));
        }
        fields
    }
}

impl Relation {
    fn parse(
        items: &[Item],
        kind: RelatedKind,
        path: TokenStream,
        ty: &Type,
        errors: &mut Errors,
    ) -> Option<Self> {
        let mut query = quote!(__bobak::Query::all());
        for item in items {
            match item.name.to_string().as_str() {
                "filter" => {
                    let filter = item.tokens("filter = Line::PRICE.gt(0)", errors)?;
                    query.extend(quote!(.and(#filter)));
                }
                "order_by" => {
                    let order = item.tokens("order_by = Line::ID.asc()", errors)?;
                    query.extend(quote!(.order_by(#order)));
                }
                "limit" => {
                    let limit = item.tokens("limit = 10", errors)?;
                    query.extend(quote!(.limit(#limit)));
                }
                _ => {}
            }
        }
        let optional = generic_argument(ty, "Option");
        let inner = match kind {
            RelatedKind::Many => generic_argument(ty, "Vec"),
            RelatedKind::One => Some(optional.unwrap_or(ty)),
            RelatedKind::Count | RelatedKind::Exists => Some(ty),
        };
        let Some(inner) = inner.map(ToTokens::to_token_stream) else {
            errors.at(ty, "`many` fills a Vec: write `Vec<…>`");
            return None;
        };
        let mut value = |name: &str| {
            let item = items.iter().find(|item| item.name == name)?;
            item.tokens(&format!("{name} = …"), errors)
        };
        let select = value("select");
        let with = value("with").unwrap_or_else(|| quote!(()));
        let optional = optional.is_some();
        Some(Self { kind, path, query, inner, select, with, optional })
    }
    fn part_type(&self) -> TokenStream {
        let inner = &self.inner;
        match (self.kind, &self.select) {
            (RelatedKind::Count | RelatedKind::Exists, _) => quote!(__bobak::RelatedCounts),
            (_, Some(_)) => quote!(__bobak::RelatedValues<#inner>),
            _ => quote!(__bobak::RelatedRecords<#inner>),
        }
    }

    /// A reference that may be NULL needs an `Option`.
    fn assertion(&self, field: &Field<'_>) -> Option<TokenStream> {
        let path = &self.path;
        let message = format!(
            "field `{}`: there may be no related record: make it an Option",
            plain(field.ident)
        );
        (self.kind == RelatedKind::One && !self.optional).then(|| {
            quote_spanned!(field.ty.span()=>
                const _: () = ::core::assert!(!(#path).is_nullable(), #message);
            )
        })
    }
}

impl Content {
    fn parse(
        ident: &Ident,
        ty: &Type,
        attributes: &[Attribute],
        record: &Type,
        errors: &mut Errors,
    ) -> Option<Self> {
        let items = items(attributes, "shape", &["order_by"], errors);
        for item in items.iter().filter(|item| ON_FIELD.iter().all(|name| item.name != name)) {
            item.unknown(ON_FIELD, ON_STRUCT, "the struct", errors);
        }
        let find = |name: &str| items.iter().find(|item| item.name == name);
        let kinds: Vec<_> =
            KINDS.iter().filter_map(|&(name, kind)| Some((find(name)?, kind))).collect();
        let [(item, kind)] = kinds[..] else {
            if let Some((second, _)) = kinds.get(1) {
                errors
                    .at(second, "a field holds one thing: keep one of one, many, count and exists");
                return None;
            }
            let needs_relation = |item: &&Item| {
                item.name != "column" && ON_FIELD.iter().any(|name| item.name == name)
            };
            for item in items.iter().filter(needs_relation) {
                let message = format!("`{}` goes with one, many, count or exists", item.name);
                errors.at(item, message);
            }
            let column = constant(ident);
            let given = items.iter().find(|item| item.name == "column");
            let given = given.and_then(|item| item.tokens("column = Order::PLACED", errors));
            let column = given.unwrap_or_else(|| quote!(<#record>::#column));
            return Some(Self::Column(column));
        };
        reject_beside(&items, kind, errors);
        let path = item.tokens("one = Order::CUSTOMER", errors)?;
        Relation::parse(&items, kind, path, ty, errors).map(Self::Related)
    }
}

/// Reports the attributes that do not go with this kind.
fn reject_beside(items: &[Item], kind: RelatedKind, errors: &mut Errors) {
    for item in items {
        let name = item.name.to_string();
        let goes = match name.as_str() {
            "column" => false,
            "order_by" | "limit" | "with" => matches!(kind, RelatedKind::One | RelatedKind::Many),
            "select" => kind == RelatedKind::Many,
            _ => true,
        };
        if !goes {
            errors.at(
                item.to_token_stream(),
                format!("`{name}` does not apply to this field: remove it"),
            );
        }
    }
}

//! What the text of a type shows about it.
//!
//! A macro sees names, not types: an alias hides what it stands for. So only names that hardly
//! anything else has are taken at their word; the others are looked at by constant assertions in
//! the expansion.

use syn::{GenericArgument, PathArguments, Type};

/// What is known about a field's type from its text.
#[derive(Clone, Copy, PartialEq)]
pub struct TypeSyntax {
    /// Whether it is an `Option`; `None` where only the compiler knows.
    pub optional: Option<bool>,
    /// What it is, or what the option holds.
    pub plain: Plain,
}

/// A type known by its name.
#[derive(Clone, Copy, PartialEq)]
pub enum Plain {
    Bool,
    /// With its name, and its smallest and largest value that engines store.
    Integer(&'static str, i64, i64),
    Float,
    Text,
    /// No field can have it; what to take in its place.
    Rejected(&'static str),
    Unknown,
}

impl TypeSyntax {
    /// Looks at a type.
    pub fn of(ty: &Type) -> Self {
        if let Some(inner) = option(ty) {
            let plain = if option(inner).is_some() {
                Plain::Rejected("one Option: a column has one NULL")
            } else {
                plain(inner)
            };
            return Self { optional: Some(true), plain };
        }
        let plain = plain(ty);
        let optional = (plain != Plain::Unknown).then_some(false);
        Self { optional, plain }
    }
}

impl Plain {
    /// Whether it is known not to be what `is` says.
    pub fn is_not(self, is: impl FnOnce(Self) -> bool) -> bool {
        !matches!(self, Self::Unknown | Self::Rejected(_)) && !is(self)
    }
}

fn option(ty: &Type) -> Option<&Type> {
    generic_argument(ty, "Option")
}

/// `T`, if the type is written as `name<T>`.
pub fn generic_argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = bare(ty) else {
        return None;
    };
    let segment = path.path.segments.last().filter(|_| path.qself.is_none())?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if segment.ident == name => Some(inner),
        _ => None,
    }
}

fn plain(ty: &Type) -> Plain {
    let path = match bare(ty) {
        Type::Path(path) if path.qself.is_none() => &path.path,
        Type::Reference(_) => {
            return Plain::Rejected("a type that owns its value: String, Vec<u8>");
        }
        Type::Array(_) | Type::Slice(_) => return Plain::Rejected("Vec<u8>, or Json<…>"),
        Type::Tuple(_) => return Plain::Rejected("a field for each part, or Json<…>"),
        _ => return Plain::Unknown,
    };
    if path.is_ident("String") {
        return Plain::Text;
    }
    let Some(ident) = path.get_ident() else {
        return Plain::Unknown;
    };
    match ident.to_string().as_str() {
        "bool" => Plain::Bool,
        "f32" | "f64" => Plain::Float,
        "i8" => Plain::Integer("i8", i8::MIN.into(), i8::MAX.into()),
        "i16" => Plain::Integer("i16", i16::MIN.into(), i16::MAX.into()),
        "i32" => Plain::Integer("i32", i32::MIN.into(), i32::MAX.into()),
        "i64" => Plain::Integer("i64", i64::MIN, i64::MAX),
        "u8" => Plain::Integer("u8", 0, u8::MAX.into()),
        "u16" => Plain::Integer("u16", 0, u16::MAX.into()),
        "u32" => Plain::Integer("u32", 0, u32::MAX.into()),
        "u64" => Plain::Integer("u64", 0, i64::MAX),
        "usize" | "u128" => Plain::Rejected("u32 or u64"),
        "isize" | "i128" => Plain::Rejected("i32 or i64"),
        "char" | "str" => Plain::Rejected("String"),
        _ => Plain::Unknown,
    }
}

/// The type without the parentheses that macros put around it.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        _ => ty,
    }
}

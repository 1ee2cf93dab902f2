//! Generates calls of the methods of typed fields.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Tokens in delimiters.
pub(crate) fn group(delimiter: Delimiter, tokens: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(delimiter, tokens);
    group.set_span(span);
    group.into()
}

/// An operator of one character.
pub(crate) fn punct(character: char, span: Span) -> TokenTree {
    let mut punct = Punct::new(character, Spacing::Alone);
    punct.set_span(span);
    punct.into()
}

/// `::`.
fn path_separator(span: Span) -> [TokenTree; 2] {
    let mut first = Punct::new(':', Spacing::Joint);
    first.set_span(span);
    [first.into(), punct(':', span)]
}

/// `(left) operator (right)`.
pub(crate) fn binary(
    left: TokenStream,
    operator: char,
    right: TokenStream,
    span: Span,
) -> TokenStream {
    [
        group(Delimiter::Parenthesis, left, span),
        punct(operator, span),
        group(Delimiter::Parenthesis, right, span),
    ]
    .into_iter()
    .collect()
}

/// `receiver.name(arguments)`, with a type in between if there is one.
pub(crate) fn method(
    receiver: TokenStream,
    name: Ident,
    of: TokenStream,
    arguments: TokenStream,
) -> TokenStream {
    let span = name.span();
    let mut call = receiver;
    call.extend([punct('.', span), name.into()]);
    call.extend(of);
    call.extend([group(Delimiter::Parenthesis, arguments, span)]);
    call
}

/// `<Type>::NAME`, the constant of a field.
pub(crate) fn constant(ty: TokenStream, field: &Ident) -> TokenStream {
    let span = field.span();
    let name = field.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name).to_uppercase();
    let mut path = TokenStream::new();
    path.extend([punct('<', span)]);
    path.extend(ty);
    path.extend([punct('>', span)]);
    path.extend(path_separator(span));
    path.extend([TokenTree::from(Ident::new(&name, span))]);
    path
}

/// `|name| body`.
pub(crate) fn closure(name: &Ident, body: TokenStream) -> TokenStream {
    let span = name.span();
    let mut closure = TokenStream::new();
    closure.extend([punct('|', span), name.clone().into(), punct('|', span)]);
    closure.extend(body);
    closure
}

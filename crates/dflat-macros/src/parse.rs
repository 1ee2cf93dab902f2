//! Parses a query by operator precedence, and generates its code in the same pass.

use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree};

use crate::input::{Input, Parsed, SyntaxError};
use crate::write::{binary, closure, constant, group, method, path_separator, punct};

/// A parsed part of a query.
struct Term {
    tokens: TokenStream,
    /// Whether the part is a Rust value, and not a field or condition.
    is_value: bool,
    span: Span,
}

/// The meaning of bare names.
enum Scope {
    /// A bare name is a field of a type.
    Object(TokenStream),
    /// A bare name is a field of a vector's member, which this variable holds.
    Member(Ident),
}

/// Parses `Type: condition`.
pub(crate) fn query(tokens: TokenStream) -> Parsed<TokenStream> {
    let mut input = Input::new(tokens, Span::call_site());
    let ty = input.before_colon()?;
    Ok(whole(&mut input, &Scope::Object(ty))?.tokens)
}

fn whole(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    let condition = any_of(input, scope)?;
    match input.peek() {
        None => Ok(condition),
        Some(_) => input.refuse("expected an operator, or the end of the condition"),
    }
}

fn any_of(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    let mut left = all_of(input, scope)?;
    while input.has("||") {
        let span = input.span();
        input.take("||");
        let right = all_of(input, scope)?;
        left = join(left, '|', right, span);
    }
    Ok(left)
}

fn all_of(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    let mut left = comparison(input, scope)?;
    while input.has("&&") {
        let span = input.span();
        input.take("&&");
        let right = comparison(input, scope)?;
        left = join(left, '&', right, span);
    }
    Ok(left)
}

fn join(left: Term, operator: char, right: Term, span: Span) -> Term {
    Term {
        is_value: left.is_value && right.is_value,
        tokens: binary(left.tokens, operator, right.tokens, span),
        span,
    }
}

/// The comparison operators, their methods, and the methods for exchanged sides. Longer operators
/// come first.
const COMPARISONS: [(&str, &str, &str); 6] = [
    ("==", "eq", "eq"),
    ("!=", "ne", "ne"),
    ("<=", "le", "ge"),
    (">=", "ge", "le"),
    ("<", "lt", "gt"),
    (">", "gt", "lt"),
];

fn comparison(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    let left = sum(input, scope)?;
    let span = input.span();
    if input.take_word("in") {
        let values = sum(input, scope)?;
        return Ok(compared(left, "in_", values, span));
    }
    let found = COMPARISONS
        .iter()
        .find(|(operator, ..)| input.take(operator));
    let Some((_, name, exchanged)) = found else {
        return Ok(left);
    };
    let right = sum(input, scope)?;
    if COMPARISONS.iter().any(|(operator, ..)| input.has(operator)) {
        return input.refuse("comparisons can't be chained: join two of them with `&&`");
    }
    Ok(match (left.is_value, right.is_value) {
        (true, true) => {
            let message = "neither side is a field: write a bare name for a field, and braces around a Rust value";
            return Err(SyntaxError::new(message, left.span));
        }
        (true, false) => compared(right, exchanged, left, span),
        (false, _) => compared(left, name, right, span),
    })
}

fn compared(left: Term, name: &str, right: Term, span: Span) -> Term {
    let receiver = group(Delimiter::Parenthesis, left.tokens, left.span);
    let name = Ident::new(name, span);
    Term {
        tokens: method(receiver.into(), name, TokenStream::new(), right.tokens),
        is_value: false,
        span: left.span,
    }
}

fn sum(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    arithmetic(input, scope, &['+', '-'], product)
}

fn product(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    arithmetic(input, scope, &['*', '/', '%'], unary)
}

fn arithmetic(
    input: &mut Input,
    scope: &Scope,
    operators: &[char],
    part: fn(&mut Input, &Scope) -> Parsed<Term>,
) -> Parsed<Term> {
    let mut left = part(input, scope)?;
    loop {
        let span = input.span();
        let operator = operators
            .iter()
            .find(|operator| input.take(&operator.to_string()));
        let Some(operator) = operator else {
            return Ok(left);
        };
        let right = part(input, scope)?;
        left = join(left, *operator, right, span);
    }
}

fn unary(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    let span = input.span();
    for operator in ['!', '-'] {
        if input.take(&operator.to_string()) {
            let inner = unary(input, scope)?;
            if operator == '-' && !inner.is_value {
                let message = "a field can't be negated: write `0 - field`";
                return Err(SyntaxError::new(message, span));
            }
            let mut tokens = TokenStream::from(punct(operator, span));
            tokens.extend([group(Delimiter::Parenthesis, inner.tokens, inner.span)]);
            return Ok(Term {
                tokens,
                is_value: inner.is_value,
                span,
            });
        }
    }
    let base = primary(input, scope)?;
    postfix(input, base)
}

fn primary(input: &mut Input, scope: &Scope) -> Parsed<Term> {
    let span = input.span();
    if let Some(inner) = input.take_group(Delimiter::Parenthesis) {
        let mut inner = Input::new(inner.stream(), inner.span_close());
        let inner = whole(&mut inner, scope)?;
        let tokens = group(Delimiter::Parenthesis, inner.tokens, span).into();
        return Ok(Term { tokens, ..inner });
    }
    let value = |tokens: TokenStream| Term {
        tokens,
        is_value: true,
        span,
    };
    match input.next() {
        // Any Rust expression. The span avoids the warning about unneeded braces.
        Some(TokenTree::Group(inner)) if inner.delimiter() == Delimiter::Brace => {
            let block = group(Delimiter::Brace, inner.stream(), Span::mixed_site());
            Ok(value(block.into()))
        }
        // A list of values.
        Some(TokenTree::Group(group)) => Ok(value(TokenTree::Group(group).into())),
        Some(TokenTree::Literal(literal)) => Ok(value(TokenTree::Literal(literal).into())),
        Some(TokenTree::Ident(name)) if matches!(name.to_string().as_str(), "true" | "false") => {
            Ok(value(TokenTree::Ident(name).into()))
        }
        Some(TokenTree::Ident(name)) if input.has("::") => Ok(value(rust_path(input, name))),
        Some(TokenTree::Ident(name)) => Ok(Term {
            tokens: field(scope, &name),
            is_value: false,
            span,
        }),
        Some(_) => Err(SyntaxError::new("expected a field or a value", span)),
        None => input.refuse("expected a field or a value"),
    }
}

/// Parses a path such as `Color::Red`, with arguments if it is a call.
fn rust_path(input: &mut Input, first: Ident) -> TokenStream {
    let mut path = TokenStream::from(TokenTree::from(first));
    while input.has("::") {
        let span = input.span();
        input.take("::");
        path.extend(path_separator(span));
        path.extend(input.next());
    }
    if let Some(arguments) = input.take_group(Delimiter::Parenthesis) {
        path.extend([TokenTree::Group(arguments)]);
    }
    path
}

fn field(scope: &Scope, name: &Ident) -> TokenStream {
    match scope {
        Scope::Object(ty) => constant(ty.clone(), name),
        Scope::Member(member) if name.to_string() == "it" => {
            let member = TokenTree::from(member.clone()).into();
            method(
                member,
                Ident::new("clone", name.span()),
                TokenStream::new(),
                TokenStream::new(),
            )
        }
        Scope::Member(member) => {
            let member = TokenTree::from(member.clone()).into();
            method(member, name.clone(), TokenStream::new(), TokenStream::new())
        }
    }
}

/// Parses nested fields and calls of methods.
fn postfix(input: &mut Input, mut base: Term) -> Parsed<Term> {
    while input.has(".") && !input.has("..") {
        input.take(".");
        let Some(TokenTree::Ident(name)) = input.next() else {
            return input.refuse("expected a field or a method");
        };
        let of = type_arguments(input)?;
        let arguments = match input.take_group(Delimiter::Parenthesis) {
            None => TokenStream::new(),
            Some(inner) if matches!(name.to_string().as_str(), "any" | "all") => {
                let member = Ident::new("member", Span::mixed_site());
                let mut inner = Input::new(inner.stream(), inner.span_close());
                let condition = whole(&mut inner, &Scope::Member(member.clone()))?;
                closure(&member, condition.tokens)
            }
            Some(arguments) => arguments.stream(),
        };
        base.tokens = method(base.tokens, name, of, arguments);
    }
    Ok(base)
}

/// Parses `::<..>`, if it is next.
fn type_arguments(input: &mut Input) -> Parsed<TokenStream> {
    let mut of = TokenStream::new();
    if !input.has("::") {
        return Ok(of);
    }
    let mut depth = 0_usize;
    loop {
        match input.next() {
            Some(TokenTree::Punct(punct)) => {
                match punct.as_char() {
                    '<' => depth += 1,
                    '>' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                let closed = punct.as_char() == '>' && depth == 0;
                of.extend([TokenTree::Punct(punct)]);
                if closed {
                    return Ok(of);
                }
            }
            Some(token) => of.extend([token]),
            None => return input.refuse("expected `>`"),
        }
    }
}

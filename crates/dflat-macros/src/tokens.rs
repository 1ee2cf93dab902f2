//! Rust's tokens as those of the condition language.

use dflat_condition::syntax::{self, SyntaxError, Token, TokenKind};
use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// The tokens of a condition, each with the tokens of Rust that it stands for.
pub(crate) struct Tokens {
    /// The tokens. Their places are their numbers.
    pub(crate) tokens: Vec<Token>,
    /// The token of Rust; for the beginning of a group, the whole group, and for its end, none.
    trees: Vec<Option<TokenTree>>,
    spans: Vec<Span>,
}

impl Tokens {
    /// Splits the input at its first single colon: a type, and the tokens of a condition.
    pub(crate) fn after_type(input: TokenStream) -> Option<(TokenStream, Self)> {
        let mut input = input.into_iter();
        let mut ty = TokenStream::new();
        loop {
            match input.next()? {
                TokenTree::Punct(colon) if colon.as_char() == ':' => {
                    if colon.spacing() == Spacing::Alone {
                        break;
                    }
                    ty.extend([TokenTree::Punct(colon)]);
                    ty.extend([input.next()?]);
                }
                token => ty.extend([token]),
            }
        }
        let mut tokens = Self {
            tokens: Vec::new(),
            trees: Vec::new(),
            spans: Vec::new(),
        };
        tokens.extend(input);
        Some((ty, tokens))
    }

    fn extend(&mut self, trees: impl Iterator<Item = TokenTree>) {
        for tree in trees {
            let span = tree.span();
            let kind = match &tree {
                TokenTree::Ident(name) => TokenKind::Word(name.to_string()),
                TokenTree::Punct(mark) => {
                    TokenKind::Mark(mark.as_char(), mark.spacing() == Spacing::Joint)
                }
                TokenTree::Literal(_) => TokenKind::Rust,
                TokenTree::Group(group) => {
                    let delimiter = match group.delimiter() {
                        Delimiter::Parenthesis => syntax::Delimiter::Parenthesis,
                        Delimiter::Bracket => syntax::Delimiter::Bracket,
                        Delimiter::Brace | Delimiter::None => {
                            self.push(TokenKind::Rust, Some(tree), span);
                            continue;
                        }
                    };
                    let (stream, close) = (group.stream(), group.span_close());
                    self.push(TokenKind::Open(delimiter), Some(tree), span);
                    self.extend(stream.into_iter());
                    self.push(TokenKind::Close(delimiter), None, close);
                    continue;
                }
            };
            self.push(kind, Some(tree), span);
        }
    }

    fn push(&mut self, kind: TokenKind, tree: Option<TokenTree>, span: Span) {
        let start = self.tokens.len();
        let place = syntax::Span {
            start,
            end: start + 1,
        };
        self.tokens.push(Token { kind, span: place });
        self.trees.push(tree);
        self.spans.push(span);
    }

    /// The place after the last token.
    pub(crate) const fn end(&self) -> syntax::Span {
        let start = self.tokens.len();
        syntax::Span {
            start,
            end: start + 1,
        }
    }

    /// The place of a token in the source of the program; the call of the macro after the last.
    pub(crate) fn span(&self, place: syntax::Span) -> Span {
        let span = self.spans.get(place.start).copied();
        span.unwrap_or_else(Span::call_site)
    }

    /// The token of Rust at the start of a place.
    pub(crate) fn tree(&self, place: syntax::Span) -> Option<&TokenTree> {
        self.trees.get(place.start)?.as_ref()
    }

    /// The tokens of Rust at a place.
    pub(crate) fn rust(&self, place: syntax::Span) -> TokenStream {
        let mut out = TokenStream::new();
        let mut open = 0_usize;
        for at in place.start..place.end {
            let kind = self.tokens.get(at).map(|token| &token.kind);
            let is_close = matches!(kind, Some(TokenKind::Close(_)));
            open -= usize::from(is_close && open > 0);
            // A group has the tokens inside of it.
            if open == 0 && !is_close {
                out.extend(self.trees.get(at).cloned().flatten());
            }
            open += usize::from(matches!(kind, Some(TokenKind::Open(_))));
        }
        out
    }

    /// Converts an error to a `compile_error!` at its place.
    pub(crate) fn refusal(&self, error: &SyntaxError) -> TokenStream {
        let message = match &error.help {
            Some(help) => format!("{}: {help}", error.message),
            None => error.message.clone(),
        };
        refusal(&message, self.span(error.span))
    }
}

/// A `compile_error!`.
pub(crate) fn refusal(message: &str, span: Span) -> TokenStream {
    let mut text = proc_macro::Literal::string(message);
    text.set_span(span);
    let mut arguments = Group::new(Delimiter::Parenthesis, TokenTree::from(text).into());
    arguments.set_span(span);
    let mut mark = Punct::new('!', Spacing::Alone);
    mark.set_span(span);
    let name = Ident::new("compile_error", span);
    [name.into(), mark.into(), TokenTree::from(arguments)]
        .into_iter()
        .collect()
}

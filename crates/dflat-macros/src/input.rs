//! The input of the parser: the tokens of a query.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// A syntax error, with its position.
pub(crate) struct SyntaxError {
    message: String,
    span: Span,
}

impl SyntaxError {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> Self {
        let message = message.into();
        Self { message, span }
    }

    /// Converts the error to a `compile_error!` at its position.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let Self { message, span } = self;
        let mut text = proc_macro::Literal::string(&message);
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
}

pub(crate) type Parsed<T> = Result<T, SyntaxError>;

/// Tokens, and the position of the parser.
pub(crate) struct Input {
    tokens: Vec<TokenTree>,
    at: usize,
    /// The end of the input, for errors.
    end: Span,
}

impl Input {
    pub(crate) fn new(tokens: TokenStream, end: Span) -> Self {
        let tokens = tokens.into_iter().collect();
        Self { tokens, at: 0, end }
    }

    pub(crate) fn span(&self) -> Span {
        self.peek().map_or(self.end, TokenTree::span)
    }

    pub(crate) fn peek(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at)
    }

    pub(crate) fn next(&mut self) -> Option<TokenTree> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    pub(crate) fn refuse<T>(&self, message: &str) -> Parsed<T> {
        Err(SyntaxError::new(message, self.span()))
    }

    /// Whether the next tokens are these punctuation characters, without blanks between them.
    pub(crate) fn has(&self, operator: &str) -> bool {
        let count = operator.len();
        operator.chars().enumerate().all(|(offset, wanted)| {
            match self.tokens.get(self.at + offset) {
                Some(TokenTree::Punct(punct)) => {
                    let joined = offset + 1 == count || punct.spacing() == Spacing::Joint;
                    punct.as_char() == wanted && joined
                }
                _ => false,
            }
        })
    }

    /// Consumes an operator, if it is next.
    pub(crate) fn take(&mut self, operator: &str) -> bool {
        let found = self.has(operator);
        if found {
            self.at += operator.len();
        }
        found
    }

    /// Consumes a word, if it is next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(TokenTree::Ident(name)) if name.to_string() == word);
        self.at += usize::from(found);
        found
    }

    /// Consumes a group with these delimiters, if it is next.
    pub(crate) fn take_group(&mut self, delimiter: Delimiter) -> Option<Group> {
        match self.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == delimiter => {
                let group = group.clone();
                self.at += 1;
                Some(group)
            }
            _ => None,
        }
    }

    /// Consumes the tokens up to a single colon, and the colon.
    pub(crate) fn before_colon(&mut self) -> Parsed<TokenStream> {
        let mut before = TokenStream::new();
        loop {
            if self.has("::") {
                before.extend(self.next());
                before.extend(self.next());
            } else if self.take(":") {
                return Ok(before);
            } else if let Some(token) = self.next() {
                before.extend([token]);
            } else {
                return self.refuse("expected `Type: condition`");
            }
        }
    }
}

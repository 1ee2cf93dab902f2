//! Parses tokens to a syntax tree.
//!
//! Parsing never fails and never panics: it returns a tree of the correct parts, and diagnostics
//! for the rest. After an error it goes on with the next field or declaration. It does not recurse,
//! because the language nests only in brackets, which are skipped by counting.

mod declaration;
mod field;
mod recovery;
mod value;

use crate::ast::{Ast, Name, RootType};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::lexer::{Lexed, Token, TokenKind, lex};
use crate::schema::{FileId, Span};

/// Parses the text of a file.
pub(crate) fn parse(file: FileId, text: &str) -> (Ast, Sink) {
    let Lexed {
        tokens,
        docs,
        diagnostics,
    } = lex(file, text);
    let mut parser = Parser {
        file,
        tokens,
        docs,
        position: 0,
        namespace: Vec::new(),
        declared: false,
        ast: Ast::default(),
        diagnostics,
    };
    while !parser.at_end() && !parser.diagnostics.is_full() {
        let before = parser.position;
        parser.item();
        if parser.position == before {
            // Order: a token that cannot begin an item was reported; without this step it would be
            // reported again.
            parser.position += 1;
        }
    }
    (parser.ast, parser.diagnostics)
}

const NAME_BYTES_MAX: usize = 1_024;
const NAMESPACE_DEPTH_MAX: usize = 32;

/// An error that was reported; the caller continues after it.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser {
    file: FileId,
    tokens: Vec<Token>,
    docs: Vec<(usize, String)>,
    position: usize,
    namespace: Vec<String>,
    /// Whether an item other than an include was parsed.
    declared: bool,
    ast: Ast,
    diagnostics: Sink,
}

impl Parser {
    /// Parses one item at the top level of a file.
    fn item(&mut self) {
        let docs = self.take_docs();
        let TokenKind::Name(keyword) = self.peek().clone() else {
            if !self.eat(';') {
                self.unexpected("a declaration");
                self.skip_item();
            }
            return;
        };
        let declared = std::mem::replace(&mut self.declared, true);
        let parsed = match keyword.as_str() {
            "include" | "native_include" => {
                self.declared = declared;
                self.include(&keyword)
            }
            "namespace" => self.namespace(),
            "attribute" => self.attribute_line(),
            "root_type" => self.root_type(),
            "file_identifier" => self.text_line(|ast| &mut ast.identifiers),
            "file_extension" => self.text_line(|ast| &mut ast.extensions),
            "rpc_service" => self.service(),
            "enum" | "union" | "struct" | "table" => self.declaration(&keyword, docs),
            _ => self.unknown_keyword(&keyword),
        };
        if parsed.is_err() {
            self.skip_item();
        }
    }

    fn unknown_keyword(&mut self, keyword: &str) -> Parsed<()> {
        const KEYWORDS: [&str; 11] = [
            "include",
            "namespace",
            "attribute",
            "root_type",
            "file_identifier",
            "file_extension",
            "rpc_service",
            "enum",
            "union",
            "struct",
            "table",
        ];
        let span = self.span();
        let mut diagnostic = Diagnostic::error(
            code::SYNTAX,
            format!("expected a declaration, found `{keyword}`"),
        )
        .at(&span, "");
        if let Some(similar) = crate::suggest::closest(keyword, KEYWORDS) {
            diagnostic = diagnostic.help(format!("did you mean `{similar}`?"));
        }
        self.diagnostics.push(diagnostic);
        self.position += 1;
        Err(Reported)
    }

    fn include(&mut self, keyword: &str) -> Parsed<()> {
        let span = self.span();
        self.position += 1;
        let path = self.text("the path of a file in quotes")?;
        self.end_of_line()?;
        if keyword == "native_include" {
            return Ok(());
        }
        if self.declared {
            self.diagnostics.push(
                Diagnostic::error(
                    code::INCLUDE_AFTER_DECLARATION,
                    "`include` after a declaration",
                )
                .at(&span, "")
                .help("move it to the top of the file"),
            );
        }
        self.ast.includes.push(path);
        Ok(())
    }

    fn namespace(&mut self) -> Parsed<()> {
        self.position += 1;
        if self.eat(';') {
            self.namespace.clear();
            return Ok(());
        }
        let path = self.path("the name of a namespace")?;
        self.namespace = path.text.split('.').map(str::to_owned).collect();
        if self.namespace.len() > NAMESPACE_DEPTH_MAX {
            // Every look-up visits all parts.
            self.namespace.truncate(NAMESPACE_DEPTH_MAX);
            let message = format!("a namespace has more than {NAMESPACE_DEPTH_MAX} parts");
            self.diagnostics
                .push(Diagnostic::error(code::LIMIT, message).at(&path.span, ""));
        }
        self.end_of_line()
    }

    fn attribute_line(&mut self) -> Parsed<()> {
        self.position += 1;
        let name = match self.peek() {
            TokenKind::Text(_) => self.text("the name of an attribute")?,
            _ => self.name("the name of an attribute")?,
        };
        self.ast.attributes.push(name);
        self.end_of_line()
    }

    fn root_type(&mut self) -> Parsed<()> {
        self.position += 1;
        let path = self.path("the name of a table")?;
        let namespace = self.namespace.clone();
        self.ast.roots.push(RootType { path, namespace });
        self.end_of_line()
    }

    fn text_line(&mut self, list: fn(&mut Ast) -> &mut Vec<Name>) -> Parsed<()> {
        self.position += 1;
        let text = self.text("a string")?;
        list(&mut self.ast).push(text);
        self.end_of_line()
    }

    /// Parses a service only to find its end; Dflat does not use it.
    fn service(&mut self) -> Parsed<()> {
        self.position += 1;
        let name = self.name("the name of a service")?;
        let open = self.span();
        self.expect('{')?;
        while !self.eat('}') {
            if self.at_end() {
                return Err(self.unclosed(&open));
            }
            self.name("the name of a method")?;
            self.expect('(')?;
            self.path("the name of a table")?;
            self.expect(')')?;
            self.expect(':')?;
            self.path("the name of a table")?;
            self.attributes()?;
            self.expect(';')?;
        }
        let message = format!("service `{}` is ignored", name.text);
        self.diagnostics.push(
            Diagnostic::note(code::SERVICE_IGNORED, message)
                .at(&name.span, "no code is generated for it"),
        );
        Ok(())
    }

    /// Parses the `;` of an item. If it is missing at the end of a line, this is reported, and
    /// parsing goes on with the next line.
    fn end_of_line(&mut self) -> Parsed<()> {
        if self.eat(';') {
            return Ok(());
        }
        let can_continue = self.token().first_on_line || self.at_end();
        let after = self.behind_previous();
        let found = self.peek().describe();
        if *self.peek() != TokenKind::Invalid {
            self.diagnostics.push(
                Diagnostic::error(code::SYNTAX, format!("expected `;`, found {found}"))
                    .at(&after, "add `;` here"),
            );
        }
        if can_continue { Ok(()) } else { Err(Reported) }
    }

    fn token(&self) -> &Token {
        // Invariant: the lexer always adds the end of the file as the last token.
        &self.tokens[self.position.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &TokenKind {
        &self.token().kind
    }

    fn peek_at(&self, distance: usize) -> &TokenKind {
        &self.tokens[(self.position + distance).min(self.tokens.len() - 1)].kind
    }

    fn at_end(&self) -> bool {
        *self.peek() == TokenKind::End
    }

    fn is(&self, symbol: char) -> bool {
        *self.peek() == TokenKind::Symbol(symbol)
    }

    fn eat(&mut self, symbol: char) -> bool {
        let found = self.is(symbol);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: char) -> Parsed<()> {
        if self.eat(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{symbol}`")))
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let TokenKind::Name(text) = self.peek() else {
            return Err(self.unexpected(what));
        };
        let name = Name {
            text: text.clone(),
            span: self.span(),
        };
        self.position += 1;
        self.bounded(name)
    }

    /// Refuses a name that is too long; names built from such names could fill the memory.
    fn bounded(&mut self, name: Name) -> Parsed<Name> {
        if name.text.len() <= NAME_BYTES_MAX {
            return Ok(name);
        }
        let message = format!("a name is longer than {NAME_BYTES_MAX} bytes");
        self.diagnostics
            .push(Diagnostic::error(code::LIMIT, message).at(&name.span, ""));
        Err(Reported)
    }

    /// Parses a dotted name.
    fn path(&mut self, what: &str) -> Parsed<Name> {
        let mut path = self.name(what)?;
        while self.eat('.') {
            let part = self.name("a name after the point")?;
            path.text.push('.');
            path.text.push_str(&part.text);
            path.span.range.end = part.span.range.end;
        }
        self.bounded(path)
    }

    fn text(&mut self, what: &str) -> Parsed<Name> {
        let TokenKind::Text(text) = self.peek() else {
            return Err(self.unexpected(what));
        };
        let name = Name {
            text: text.clone(),
            span: self.span(),
        };
        self.position += 1;
        Ok(name)
    }

    /// The `///` lines directly before the current token.
    fn take_docs(&self) -> Vec<String> {
        let from = self
            .docs
            .partition_point(|(token, _)| *token < self.position);
        let docs = self.docs[from..].iter();
        docs.take_while(|(token, _)| *token == self.position)
            .map(|(_, doc)| doc.clone())
            .collect()
    }

    fn span(&self) -> Span {
        Span {
            file: self.file,
            range: self.token().range.clone(),
        }
    }

    /// The position after the previous token, where a token is missing.
    fn behind_previous(&self) -> Span {
        let end = match self.position.checked_sub(1) {
            Some(previous) => self.tokens[previous.min(self.tokens.len() - 1)].range.end,
            None => 0,
        };
        Span {
            file: self.file,
            range: end..end,
        }
    }

    /// Reports an unexpected token, unless the token was reported already.
    fn unexpected(&mut self, expected: &str) -> Reported {
        if *self.peek() != TokenKind::Invalid {
            let found = self.peek().describe();
            let message = format!("expected {expected}, found {found}");
            let span = self.span();
            self.diagnostics.push(
                Diagnostic::error(code::SYNTAX, message).at(&span, format!("expected {expected}")),
            );
        }
        Reported
    }
}

//! The grammar of the attributes that declare indexes.
//!
//! ```text
//! indexes    = index { ";" index } [ ";" ]
//! index      = path { "," path } [ "where" condition ]
//! condition  = conjunction { "or" conjunction }
//! conjunction = test { "and" test }
//! test       = "not" test | "(" condition ")" | path [ comparison ]
//! comparison = operator literal | "is" [ "not" ] "null" | "in" "[" literal { "," literal } "]"
//! ```

use dflat_model::{Comparison, INDEX_FIELDS_MAX};

use super::INDEXES_MAX;
use super::text::{Token, TokenKind, tokens};
use crate::ast::{Name, Value};
use crate::diagnostic::{Diagnostic, code};
use crate::schema::Span;

/// The limit on the nesting of conditions.
const DEPTH_MAX: usize = 32;

/// An index, as written.
pub(super) struct IndexText {
    pub(super) paths: Vec<Name>,
    pub(super) condition: Option<ConditionText>,
    pub(super) span: Span,
}

/// A condition, as written.
pub(super) enum ConditionText {
    /// A boolean path, which must be true.
    Holds(Name),
    Compare(Name, Comparison, Literal),
    /// Whether the value is missing.
    IsNull(Name),
    In(Name, Vec<Literal>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
}

/// A value to compare with, and its position.
pub(super) struct Literal {
    pub(super) kind: LiteralKind,
    pub(super) span: Span,
}

/// A value to compare with.
#[derive(Debug, PartialEq)]
pub(super) enum LiteralKind {
    Integer(i128),
    Float(f64),
    Text(String),
    /// `true`, `false`, or a value of an enum or a member of a union.
    Name(String),
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Parses the string of an attribute on a table.
pub(super) fn indexes(value: &Value, text: &str) -> Parsed<Vec<IndexText>> {
    let mut parser = Parser::new(value, text);
    let mut indexes = Vec::new();
    loop {
        let start = parser.token().span.clone();
        indexes.push(parser.index()?);
        if indexes.len() > INDEXES_MAX {
            let message = format!("a table has at most {INDEXES_MAX} indexes");
            let diagnostic = Diagnostic::error(code::INDEX_SYNTAX, message).at(&start, "");
            return Err(Box::new(diagnostic));
        }
        let is_end = !parser.eat(";") || parser.peek() == &TokenKind::End;
        if is_end {
            break;
        }
    }
    parser.end("`,`, `;`, `where` or the end")?;
    Ok(indexes)
}

/// Parses the string of an attribute on a field.
pub(super) fn condition(value: &Value, text: &str) -> Parsed<ConditionText> {
    let mut parser = Parser::new(value, text);
    let condition = parser.condition()?;
    parser.end("`and`, `or` or the end")?;
    Ok(condition)
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
}

impl Parser {
    fn new(value: &Value, text: &str) -> Self {
        Self {
            tokens: tokens(value, text),
            position: 0,
            depth: 0,
        }
    }

    fn token(&self) -> &Token {
        // Invariant: the last token is the end, and the parser never advances beyond it.
        &self.tokens[self.position]
    }

    fn peek(&self) -> &TokenKind {
        &self.token().kind
    }

    fn advance(&mut self) -> Token {
        let token = self.token().clone();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    fn eat(&mut self, symbol: &'static str) -> bool {
        let found = *self.peek() == TokenKind::Symbol(symbol);
        if found {
            self.position += 1;
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), TokenKind::Name(name) if name == word);
        if found {
            self.position += 1;
        }
        found
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let token = self.token();
        let message = format!("expected {what}, found {}", token.kind.describe());
        let diagnostic = Diagnostic::error(code::INDEX_SYNTAX, message).at(&token.span, "");
        let help = match &token.kind {
            TokenKind::Unknown(text) if text == "&" => "write `and`",
            TokenKind::Unknown(text) if text == "|" => "write `or`",
            TokenKind::Unknown(text) if text == "!" => "write `not`",
            TokenKind::Unknown(text) if text == "=" => "write `==`",
            _ => "write an index as in `list_id, due where done == false`",
        };
        Box::new(diagnostic.help(help))
    }

    fn end(&self, what: &str) -> Parsed<()> {
        match self.peek() {
            TokenKind::End => Ok(()),
            _ => Err(self.expected(what)),
        }
    }

    fn path(&mut self) -> Parsed<Name> {
        match self.peek().clone() {
            TokenKind::Name(text) => {
                let span = self.advance().span;
                Ok(Name { text, span })
            }
            _ => Err(self.expected("the name of a field")),
        }
    }

    fn index(&mut self) -> Parsed<IndexText> {
        let mut paths = vec![self.path()?];
        while self.eat(",") {
            let path = self.path()?;
            if paths.len() == INDEX_FIELDS_MAX {
                let message = format!("an index has at most {INDEX_FIELDS_MAX} fields");
                let diagnostic = Diagnostic::error(code::INDEX_SYNTAX, message).at(&path.span, "");
                return Err(Box::new(diagnostic));
            }
            paths.push(path);
        }
        let condition = match self.eat_word("where") {
            true => Some(self.condition()?),
            false => None,
        };
        let mut span = paths[0].span.clone();
        span.range.end = self.tokens[self.position.saturating_sub(1)].span.range.end;
        Ok(IndexText {
            paths,
            condition,
            span,
        })
    }

    fn condition(&mut self) -> Parsed<ConditionText> {
        let mut parts = vec![self.conjunction()?];
        while self.eat_word("or") {
            parts.push(self.conjunction()?);
        }
        Ok(match <[ConditionText; 1]>::try_from(parts) {
            Ok([one]) => one,
            Err(parts) => ConditionText::Or(parts),
        })
    }

    fn conjunction(&mut self) -> Parsed<ConditionText> {
        let mut parts = vec![self.test()?];
        while self.eat_word("and") {
            parts.push(self.test()?);
        }
        Ok(match <[ConditionText; 1]>::try_from(parts) {
            Ok([one]) => one,
            Err(parts) => ConditionText::And(parts),
        })
    }

    fn test(&mut self) -> Parsed<ConditionText> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("the condition is nested more than {DEPTH_MAX} levels deep");
            let span = &self.token().span;
            return Err(Box::new(
                Diagnostic::error(code::INDEX_SYNTAX, message).at(span, ""),
            ));
        }
        let test = if self.eat_word("not") {
            Ok(ConditionText::Not(Box::new(self.test()?)))
        } else if self.eat("(") {
            let inner = self.condition()?;
            match self.eat(")") {
                true => Ok(inner),
                false => Err(self.expected("`)`")),
            }
        } else {
            let path = self.path()?;
            self.comparison(path)
        };
        self.depth -= 1;
        test
    }

    fn comparison(&mut self, path: Name) -> Parsed<ConditionText> {
        const OPERATORS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<", Comparison::Less),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            (">=", Comparison::GreaterOrEqual),
        ];
        for (symbol, operator) in OPERATORS {
            if self.eat(symbol) {
                return Ok(ConditionText::Compare(path, operator, self.literal()?));
            }
        }
        if self.eat_word("is") {
            let negated = self.eat_word("not");
            if !self.eat_word("null") {
                return Err(self.expected("`null`"));
            }
            let is_null = ConditionText::IsNull(path);
            return Ok(match negated {
                true => ConditionText::Not(Box::new(is_null)),
                false => is_null,
            });
        }
        if self.eat_word("in") {
            if !self.eat("[") {
                return Err(self.expected("`[`"));
            }
            let mut literals = vec![self.literal()?];
            while self.eat(",") {
                literals.push(self.literal()?);
            }
            return match self.eat("]") {
                true => Ok(ConditionText::In(path, literals)),
                false => Err(self.expected("`,` or `]`")),
            };
        }
        match self.peek() {
            TokenKind::Unknown(_) => Err(self.expected("a comparison")),
            _ => Ok(ConditionText::Holds(path)),
        }
    }

    fn literal(&mut self) -> Parsed<Literal> {
        let kind = match self.peek().clone() {
            TokenKind::Integer(value) => LiteralKind::Integer(value),
            TokenKind::Float(value) => LiteralKind::Float(value),
            TokenKind::Text(text) => LiteralKind::Text(text),
            TokenKind::Name(name) => LiteralKind::Name(name),
            _ => return Err(self.expected("a value")),
        };
        let span = self.advance().span;
        Ok(Literal { kind, span })
    }
}

//! Licence expressions as manifests write them: SPDX, and the `/` that stood for `OR` before.

/// A licence expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A licence, with its exception if it has one.
    Licence(String),
    /// All of these apply.
    All(Vec<Self>),
    /// The user chooses one.
    Any(Vec<Self>),
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// An error if the text is not an expression; the message says what was expected and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let spaced = text
            .replace('(', " ( ")
            .replace(')', " ) ")
            .replace('/', " OR ");
        let words: Vec<_> = spaced.split_whitespace().collect();
        let mut parser = Parser { words, at: 0 };
        let expression = parser.any()?;
        match parser.peek() {
            None => Ok(expression),
            Some(word) => Err(format!("expected the end instead of `{word}`")),
        }
    }

    /// Whether licences that `is_allowed` accepts satisfy the expression.
    pub fn is_met(&self, is_allowed: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Licence(name) => is_allowed(name),
            Self::All(parts) => parts.iter().all(|part| part.is_met(is_allowed)),
            Self::Any(parts) => parts.iter().any(|part| part.is_met(is_allowed)),
        }
    }
}

struct Parser<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).copied()
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.all()?];
        while self.eat("OR") {
            parts.push(self.all()?);
        }
        Ok(single(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.one()?];
        while self.eat("AND") {
            parts.push(self.one()?);
        }
        Ok(single(parts, Expression::All))
    }

    fn one(&mut self) -> Result<Expression, String> {
        if self.eat("(") {
            let expression = self.any()?;
            return if self.eat(")") {
                Ok(expression)
            } else {
                Err("a `)` is missing".to_owned())
            };
        }
        let mut licence = self.name()?;
        if self.eat("WITH") {
            licence = format!("{licence} WITH {}", self.name()?);
        }
        Ok(Expression::Licence(licence))
    }

    fn name(&mut self) -> Result<String, String> {
        let name = match self.peek() {
            None => Err("a licence is missing at its end".to_owned()),
            Some(word @ ("OR" | "AND" | "WITH" | "(" | ")")) => {
                Err(format!("expected a licence instead of `{word}`"))
            }
            Some(word) => Ok(word.to_owned()),
        };
        self.at += 1;
        name
    }
}

fn single(mut parts: Vec<Expression>, several: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            several(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Expression;

    fn is_met(text: &str) -> Option<bool> {
        let is_allowed = |name: &str| ["A", "B", "A WITH E"].contains(&name);
        let expression = Expression::parse(text).ok()?;
        Some(expression.is_met(&is_allowed))
    }

    #[test]
    fn licence_choices_and_requirements_are_distinguished() {
        assert_eq!(is_met("A"), Some(true));
        assert_eq!(is_met("X"), Some(false));
        assert_eq!(is_met("A OR X"), Some(true));
        assert_eq!(is_met("A/X"), Some(true));
        assert_eq!(is_met("A AND X"), Some(false));
        assert_eq!(is_met("(X OR A) AND B"), Some(true));
        assert_eq!(is_met("X OR A AND B"), Some(true));
        assert_eq!(is_met("X AND A OR B"), Some(true));
        assert_eq!(is_met("X AND (A OR B)"), Some(false));
        assert_eq!(is_met("A WITH E OR X"), Some(true));
        assert_eq!(is_met("B WITH E"), Some(false));
    }

    #[test]
    fn broken_expressions_are_errors() {
        for text in ["", "A B", "A OR", "(A", "A)", "AND A", "A WITH", "OR", "()"] {
            assert_eq!(is_met(text), None, "{text}");
        }
    }
}

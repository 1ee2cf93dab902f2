//! The inline modules around a token, and whether the token is test code.

use super::lexer::{Kind, Token};

/// The surroundings of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The number of inline modules around it.
    pub modules: usize,
    /// Whether one of these modules, or the item around the token, is compiled for tests only.
    pub test: bool,
}

/// The scope of each of `tokens`, comments among them.
pub fn scopes(tokens: &[Token<'_>]) -> Vec<Scope> {
    let mut walk = Walk::default();
    (0..tokens.len()).map(|at| walk.step(tokens, at)).collect()
}

#[derive(Default)]
struct Walk {
    /// The brace depth and the scope outside of each inline module or test item that is open.
    open: Vec<(usize, Scope)>,
    depth: usize,
    scope: Scope,
    /// A `#[cfg(test)]` or `#[test]` was read, and its item's brace was not.
    test_next: bool,
    /// A `mod name` was read, and its brace was not.
    module_next: bool,
}

impl Walk {
    fn step(&mut self, tokens: &[Token<'_>], at: usize) -> Scope {
        let token = &tokens[at];
        if token.kind == Kind::Comment {
            return self.scope;
        }
        if token.is("#") && is_test_attribute(&tokens[at..]) {
            self.test_next = true;
        } else if token.is("mod") {
            self.module_next = true;
        } else if token.is(";") {
            self.test_next = false;
            self.module_next = false;
        } else if token.is("{") {
            self.depth += 1;
            if self.test_next || self.module_next {
                self.open.push((self.depth, self.scope));
                self.scope.modules += usize::from(self.module_next);
                self.scope.test |= self.test_next;
            }
            self.test_next = false;
            self.module_next = false;
        } else if token.is("}") {
            if let Some(&(depth, outside)) = self.open.last()
                && depth == self.depth
            {
                self.open.pop();
                self.scope = outside;
            }
            self.depth = self.depth.saturating_sub(1);
        }
        Scope {
            test: self.scope.test || self.test_next,
            ..self.scope
        }
    }
}

fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let starts = |words: &[&str]| {
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(t, word)| t.is(word))
    };
    starts(&["#", "[", "cfg", "(", "test", ")"]) || starts(&["#", "[", "test", "]"])
}

#[cfg(test)]
mod tests {
    use super::scopes;
    use crate::rust::tokens;

    #[test]
    fn inline_modules_and_test_items_are_seen() {
        let source = "a { b } mod m { c { d } #[cfg(test)] mod tests { e } f } mod n; g \
                      #[cfg(test)] use h; i";
        let tokens = tokens(source);
        let scopes = scopes(&tokens);
        let scope = |name: &str| {
            let at = tokens.iter().position(|token| token.is(name));
            at.map(|at| (scopes[at].modules, scopes[at].test))
        };
        assert_eq!(scope("b"), Some((0, false)));
        assert_eq!(scope("d"), Some((1, false)));
        assert_eq!(scope("e"), Some((2, true)));
        assert_eq!(scope("f"), Some((1, false)));
        assert_eq!(scope("g"), Some((0, false)));
        assert_eq!(scope("h"), Some((0, true)));
        assert_eq!(scope("i"), Some((0, false)));
    }
}

//! Converts `use` trees to paths.

use super::lexer::{Kind, Token};

/// One path of a `use` tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseItem {
    /// Its segments; the last may be `*`.
    pub path: Vec<String>,
    /// The name that it has in the module.
    pub name: String,
    /// The line of its first segment of its own.
    pub line: usize,
}

/// The paths of the tree that starts at `tokens[0]`, and the number of its tokens.
pub fn use_tree(tokens: &[Token<'_>]) -> (Vec<UseItem>, usize) {
    let mut items = Vec::new();
    let used = branch(tokens, &[], &mut items);
    (items, used)
}

fn branch(tokens: &[Token<'_>], prefix: &[String], items: &mut Vec<UseItem>) -> usize {
    let mut path = prefix.to_vec();
    let line = tokens.first().map_or(0, |token| token.line);
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(token) if token.is("{") => return at + group(&tokens[at..], &path, items),
            Some(token) if token.is("::") => at += 1,
            Some(token) if token.is("as") => {
                let name = tokens.get(at + 1).map_or("", |token| token.text);
                push(items, path, Some(name), line);
                return at + 2;
            }
            Some(token) if token.kind == Kind::Word || token.is("*") => {
                path.push(token.text.to_owned());
                at += 1;
                if !matches!(tokens.get(at), Some(t) if t.is("::") || t.is("as")) {
                    push(items, path, None, line);
                    return at;
                }
            }
            _ => return at,
        }
    }
}

/// Reads `{a, b::c}`. Returns the number of tokens, including braces.
fn group(tokens: &[Token<'_>], prefix: &[String], items: &mut Vec<UseItem>) -> usize {
    let mut at = 1;
    loop {
        match tokens.get(at) {
            None => return at,
            Some(token) if token.is("}") => return at + 1,
            Some(token) if token.is(",") => at += 1,
            Some(_) => at += branch(&tokens[at..], prefix, items).max(1),
        }
    }
}

fn push(items: &mut Vec<UseItem>, mut path: Vec<String>, name: Option<&str>, line: usize) {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let last = path.last().cloned().unwrap_or_default();
    let name = name.map_or(last, str::to_owned);
    items.push(UseItem { path, name, line });
}

#[cfg(test)]
mod tests {
    use super::use_tree;
    use crate::rust::tokens;

    #[test]
    fn use_trees_become_paths() {
        let tokens = tokens("a::{b, c::{self, D as E}, f::*}; rest");
        let (items, used) = use_tree(&tokens);
        let paths: Vec<_> = items.iter().map(|item| item.path.join("::")).collect();
        let names: Vec<_> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(paths, ["a::b", "a::c", "a::c::D", "a::f::*"]);
        assert_eq!(names, ["b", "c", "E", "*"]);
        assert!(tokens[used].is(";"));
    }

    #[test]
    fn broken_use_trees_end_the_parse() {
        for source in [
            "", "{", "a::", "a::{b", "a::{{{", "a as", "a::{,,}", "a::{;}",
        ] {
            use_tree(&tokens(source));
        }
    }
}

//! Finds parameters that are tuples, which hide the number of a function's arguments.

use crate::finding::Finding;
use crate::rust::{Kind, Token, scopes, tokens};
use crate::workspace::File;

/// The maximum number of members of a tuple that is a parameter: a pair, such as a key and its
/// value.
pub const MEMBERS_MAX: usize = 2;

/// The maximum number of arguments of a function, with each member of a tuple counted. It is the
/// limit of Clippy's `too_many_arguments`, which counts a tuple as one.
pub const ARGUMENTS_MAX: usize = 7;

/// Finds functions, except in tests, with a larger tuple as a parameter, or with more arguments.
pub fn check(file: &File) -> Vec<Finding> {
    let written = file.has_extension("rs") && !file.is_test_data() && !file.is_generated();
    if !written || file.is_test() {
        return Vec::new();
    }
    let all = tokens(&file.text);
    let scopes = scopes(&all);
    let code = all.iter().zip(scopes);
    let code = code.filter(|(token, scope)| token.kind != Kind::Comment && !scope.test);
    let code: Vec<Token<'_>> = code.map(|(token, _)| *token).collect();
    let mut findings = Vec::new();
    for at in 0..code.len() {
        if code[at].is("fn") {
            let message = function(&code[at..]);
            let line = code[at].line;
            findings.extend(message.map(|message| Finding::error(&file.path, line, message)));
        }
    }
    findings
}

/// The problem with the parameters of the function that the tokens begin with.
fn function(tokens: &[Token<'_>]) -> Option<String> {
    let counts: Vec<_> = parameters(tokens).map(members).collect();
    let largest = counts.iter().flatten().max()?;
    let arguments: usize = counts.iter().map(|count| count.unwrap_or(1)).sum();
    let advice = "give them names, in a struct or as parameters";
    if *largest > MEMBERS_MAX {
        Some(format!("a parameter is a tuple of {largest}: {advice}"))
    } else if arguments > ARGUMENTS_MAX {
        Some(format!(
            "{arguments} arguments, if those in tuples are counted: {advice}"
        ))
    } else {
        None
    }
}

/// The parameters of the function that the tokens begin with.
fn parameters<'t, 'a>(function: &'t [Token<'a>]) -> impl Iterator<Item = &'t [Token<'a>]> {
    let open = opening(function).unwrap_or(function.len());
    split(&function[open..]).into_iter()
}

/// The position of the parameters, after the name and its generic parameters.
fn opening(function: &[Token<'_>]) -> Option<usize> {
    let mut angles = 0_usize;
    // The first two are `fn` and the name; a type such as `fn(u8)` has no name.
    function.get(1).filter(|token| token.kind == Kind::Word)?;
    for (at, token) in function.iter().enumerate().skip(2) {
        if token.is("<") {
            angles += 1;
        } else if token.is(">") && !is_arrow(function, at) {
            angles = angles.checked_sub(1)?;
        } else if angles == 0 {
            return token.is("(").then_some(at);
        }
    }
    None
}

/// Whether the `>` is the end of `->` or `=>`.
fn is_arrow(tokens: &[Token<'_>], at: usize) -> bool {
    at > 0 && (tokens[at - 1].is("-") || tokens[at - 1].is("="))
}

/// The parts between the commas inside of the bracket that the tokens begin with.
fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 1);
    for (at, token) in tokens.iter().enumerate() {
        if ["(", "[", "{", "<"].iter().any(|open| token.is(open)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|close| token.is(close))
            || token.is(">") && !is_arrow(tokens, at)
        {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 || depth == 1 && token.is(",") {
            if at > start {
                parts.push(&tokens[start..at]);
            }
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    parts
}

/// The number of members of a parameter's type, if the type is a tuple.
fn members(parameter: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    let colon = parameter.iter().position(|token| {
        depth += usize::from(token.is("(") || token.is("["));
        depth -= usize::from(token.is(")") || token.is("]")).min(depth);
        depth == 0 && token.is(":")
    })?;
    let skipped =
        |token: &Token<'_>| token.is("&") || token.is("mut") || token.kind == Kind::Lifetime;
    let mut kind = &parameter[colon + 1..];
    while let [first, rest @ ..] = kind
        && skipped(first)
    {
        kind = rest;
    }
    kind.first()?.is("(").then(|| split(kind).len())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::File;

    const NOWHERE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let file = File {
            path: "a.rs".to_owned(),
            text: text.to_owned(),
        };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn tuples_of_three_are_found() {
        assert_eq!(lines("fn f((a, b, c): (u8, u8, u8)) {}"), [1]);
        assert_eq!(
            lines("fn f(\n    a: u8,\n    b: &'a mut (u8, [u8; 2], fn(u8) -> u8),\n) {}"),
            [1]
        );
        assert_eq!(
            lines("fn f<T: Fn(u8) -> u8>(&self, a: (T, Vec<(u8, u8)>, u8,)) {}"),
            [1]
        );
    }

    #[test]
    fn members_of_pairs_are_arguments() {
        let pairs = |count| format!("fn f(&self, {}) {{}}", "a: (u8, u8), ".repeat(count));
        assert_eq!(lines(&pairs(3)), NOWHERE);
        assert_eq!(lines(&pairs(4)), [1]);
        // Clippy finds these functions.
        assert_eq!(
            lines(&format!("fn f({}) {{}}", "a: u8, ".repeat(9))),
            NOWHERE
        );
    }

    #[test]
    fn pairs_results_closures_and_tests_are_allowed() {
        for text in [
            "fn f(a: (u8, u8), b: &[(u8, u8, u8)]) -> (u8, u8, u8) {}",
            "fn f(a: fn((u8, u8, u8)), b: impl Fn(u8, u8, u8)) {}",
            "fn f(a: ()) { g(|(a, b, c): (u8, u8, u8)| a) }",
            "#[cfg(test)] mod tests { fn f(a: (u8, u8, u8)) {} }",
            "fn",
            "fn f",
            "fn f<",
            "fn f(a: (",
        ] {
            assert_eq!(lines(text), NOWHERE, "{text}");
        }
    }
}

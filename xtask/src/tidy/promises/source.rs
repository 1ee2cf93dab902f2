//! The comments `// Promise:` of a Rust file.

use crate::finding::Finding;
use crate::rust::{Kind, Token, tokens};
use crate::workspace::File;

const START: &str = "// Promise:";

/// A test, or a file of tests, that names the promise it checks.
pub(super) struct Claim {
    /// The promise, such as `durability#D3`.
    pub(super) promise: String,
    /// The test's name, or the name of the file if all of its tests check the promise.
    pub(super) test: String,
    pub(super) path: String,
    pub(super) line: usize,
}

/// The claims of a file, and the comments that are not above a test.
///
/// A comment applies to the test function below it. A comment above an import or a module, or at
/// the end of the file, applies to the whole file.
pub(super) fn claims(file: &File) -> (Vec<Claim>, Vec<Finding>) {
    let mut claims = Vec::new();
    let mut findings = Vec::new();
    if !file.text.contains(START) {
        return (claims, findings);
    }
    let tokens = tokens(&file.text);
    for (at, token) in tokens.iter().enumerate() {
        let promises = match token.text.strip_prefix(START) {
            Some(promises) if token.kind == Kind::Comment => promises,
            _ => continue,
        };
        let Some(test) = test(file, &tokens, at + 1) else {
            let message = "this comment is not above a test";
            findings.push(Finding::error(&file.path, token.line, message));
            continue;
        };
        let promises = promises.split(',').map(str::trim);
        claims.extend(promises.map(|promise| Claim {
            promise: promise.to_owned(),
            test: test.to_owned(),
            path: file.path.clone(),
            line: token.line,
        }));
    }
    (claims, findings)
}

/// The name of the test function at `start`, or of the file if an import or a module is there.
///
/// A function is a test if it has the attribute, if it is a law of a backend, or if its name occurs
/// in the file again, as in a list from which a macro makes tests.
fn test<'a>(file: &'a File, tokens: &[Token<'a>], start: usize) -> Option<&'a str> {
    let mut rest = &tokens[start..];
    let mut is_test = file.path.contains("/src/conformance/");
    let is_listed = |name: &str| tokens.iter().filter(|token| token.is(name)).count() > 1;
    loop {
        match rest {
            [token, tail @ ..] if token.kind == Kind::Comment => rest = tail,
            [mark, tail @ ..] if mark.is("#") => {
                let end = tail.iter().position(|token| token.is("]"))?;
                is_test |= tail.iter().take(end).any(|token| token.is("test"));
                rest = &tail[end + 1..];
            }
            [word, tail @ ..] if word.is("pub") => rest = tail,
            [word, name, ..] if word.is("fn") => {
                return (is_test || is_listed(name.text)).then_some(name.text);
            }
            [word, ..] if word.is("use") || word.is("mod") => return file.path.rsplit('/').next(),
            [] => return file.path.rsplit('/').next(),
            _ => return None,
        }
    }
}

//! Reads public items from Rust text.

use crate::rust::{Kind, Token, tokens, use_tree};

/// A public item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The item's name, or the name of the type or trait of which it is a member.
    pub owner: String,
    /// Whether it is a member.
    pub member: bool,
    /// Its declaration, on one line.
    pub text: String,
    /// For a re-export of another crate's: that crate and the name there.
    pub origin: Option<(String, String)>,
}

/// The surroundings of the items that are read.
#[derive(Clone, Copy)]
enum Within<'a> {
    Module,
    Type(&'a str),
    Trait(&'a str),
}

const KEYWORDS: [&str; 13] = [
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "const",
    "static",
    "fn",
    "mod",
    "use",
    "impl",
    "macro_rules",
    "extern",
];

/// The public items of a file.
pub(super) fn items(source: &str) -> Vec<Item> {
    let mut tokens = tokens(source);
    tokens.retain(|token| token.kind != Kind::Comment);
    let mut items = Vec::new();
    read(&tokens, Within::Module, &mut items);
    items
}

fn read(tokens: &[Token<'_>], within: Within<'_>, items: &mut Vec<Item>) {
    let mut at = 0;
    while at < tokens.len() {
        let mut hidden = false;
        let mut exported = false;
        while let Some(length) = attribute(&tokens[at..]) {
            let words = || tokens[at..at + length].iter();
            let has = |text: &str| words().any(|token| token.is(text));
            hidden |= has("hidden") || (has("cfg") && has("test")) || tokens[at + 2].is("test");
            exported |= has("macro_export");
            at += length;
        }
        let length = item_length(&tokens[at..]).max(1);
        let item = &tokens[at..(at + length).min(tokens.len())];
        if !hidden {
            public_item(item, within, exported, items);
        }
        at += length;
    }
}

/// The number of tokens of the attribute that `tokens` starts with.
fn attribute(tokens: &[Token<'_>]) -> Option<usize> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.is(text));
    let open = if is(1, "!") { 2 } else { 1 };
    let starts = is(0, "#") && is(open, "[") && tokens.len() > open + 1;
    starts.then(|| open + group_length(&tokens[open..]))
}

/// The number of tokens from an opening bracket to its closing one.
fn group_length(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        depth = depth_after(depth, token);
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

fn depth_after(depth: usize, token: &Token<'_>) -> usize {
    match token.text {
        "(" | "[" | "{" if token.kind == Kind::Mark => depth + 1,
        ")" | "]" | "}" if token.kind == Kind::Mark => depth.saturating_sub(1),
        _ => depth,
    }
}

/// The position of an item's keyword: `const fn` is a function, `extern "C" fn` too.
fn keyword(item: &[Token<'_>]) -> Option<usize> {
    let is_keyword = |token: &Token<'_>| KEYWORDS.iter().any(|keyword| token.is(keyword));
    let first = item.iter().position(is_keyword)?;
    if item[first].is("const") || item[first].is("extern") {
        let function = item
            .iter()
            .skip(first)
            .take(5)
            .position(|token| token.is("fn"));
        let rest = &item[first..first + function.unwrap_or(0)];
        if !rest.iter().any(|token| token.is(":") || token.is("{")) {
            return Some(first + function.unwrap_or(0));
        }
    }
    Some(first)
}

fn item_length(tokens: &[Token<'_>]) -> usize {
    let Some(keyword) = keyword(tokens) else {
        return tokens.len();
    };
    let to_semicolon = ["use", "const", "static", "type"]
        .iter()
        .any(|word| tokens[keyword].is(word));
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        depth = depth_after(depth, token);
        let ends = token.is(";") || (token.is("}") && !to_semicolon);
        if depth == 0 && ends {
            return at + 1;
        }
    }
    tokens.len()
}

fn public_item(item: &[Token<'_>], within: Within<'_>, exported: bool, items: &mut Vec<Item>) {
    let Some(at) = keyword(item) else {
        return;
    };
    let word = item[at].text;
    let name = item.get(at + 1).map_or("", |token| token.text);
    let public = is_public(item) || matches!(within, Within::Trait(_));
    match (word, within) {
        ("impl", Within::Module) => {
            if let Some(owner) = inherent_type(&item[at..]) {
                read(body(item), Within::Type(owner), items);
            }
        }
        ("macro_rules", _) if exported => {
            let name = item.get(at + 2).map_or("", |token| token.text);
            push(items, name, false, format!("macro {name}!"));
        }
        ("use", Within::Module) if public => reexports(&item[at + 1..], items),
        ("mod", Within::Module) => {
            if public {
                push(items, name, false, join(declaration(item, at)));
            }
            read(body(item), Within::Module, items);
        }
        (_, Within::Module) if public => {
            push(items, name, false, join(declaration(item, at)));
            match word {
                "trait" => read(body(item), Within::Trait(name), items),
                "enum" => parts(body(item), |part| push(items, name, true, join(part))),
                "struct" | "union" => parts(body(item), |part| {
                    if is_public(part) {
                        push(items, name, true, join(part));
                    }
                }),
                _ => {}
            }
        }
        (_, Within::Type(owner) | Within::Trait(owner)) if public => {
            push(items, owner, true, join(declaration(item, at)));
        }
        _ => {}
    }
}

fn push(items: &mut Vec<Item>, owner: &str, member: bool, text: String) {
    items.push(Item {
        owner: owner.to_owned(),
        member,
        text,
        origin: None,
    });
}

fn is_public(item: &[Token<'_>]) -> bool {
    let restricted = || {
        let word = item.get(2).map_or("", |token| token.text);
        item.get(1).is_some_and(|token| token.is("("))
            && ["crate", "super", "in", "self"].contains(&word)
    };
    item.first().is_some_and(|token| token.is("pub")) && !restricted()
}

/// Notes the names that a `pub use` takes from other crates. Names of this crate are listed where
/// they are declared.
fn reexports(tree: &[Token<'_>], items: &mut Vec<Item>) {
    for used in use_tree(tree).0 {
        let (Some(root), Some(last)) = (used.path.first(), used.path.last()) else {
            continue;
        };
        if root.starts_with("dflat_") {
            let origin = Some((root.clone(), last.clone()));
            items.push(Item {
                owner: used.name,
                member: false,
                text: format!("pub use {}", used.path.join("::")),
                origin,
            });
        }
    }
}

/// The type of an `impl` block, unless it implements a trait.
fn inherent_type<'a>(item: &[Token<'a>]) -> Option<&'a str> {
    let head = &item[..item.iter().position(|token| token.is("{"))?];
    let for_trait = |pair: &[Token<'_>]| pair[0].is("for") && !pair[1].is("<");
    if head.windows(2).any(for_trait) {
        return None;
    }
    let mut angles = 0_i32;
    let mut name = None;
    for token in &head[1..] {
        match token.text {
            "<" => angles += 1,
            ">" => angles -= 1,
            "where" => break,
            text if angles == 0 && token.kind == Kind::Word => name = Some(text),
            _ => {}
        }
    }
    name
}

/// The tokens inside the last braces of an item.
fn body<'t, 'a>(item: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let open = item.iter().position(|token| token.is("{"));
    match (open, item.last()) {
        (Some(open), Some(last)) if last.is("}") => &item[open + 1..item.len() - 1],
        _ => &[],
    }
}

/// The item without its body, value or the fields of a tuple.
fn declaration<'t, 'a>(item: &'t [Token<'a>], keyword: usize) -> &'t [Token<'a>] {
    let mut depth = 0;
    for (at, token) in item.iter().enumerate() {
        let tuple = item[keyword].is("struct") && token.is("(") && at > keyword;
        let value = token.is("=") && (item[keyword].is("const") || item[keyword].is("static"));
        if depth == 0 && (token.is("{") || token.is(";") || value || tuple) {
            return &item[..at];
        }
        depth = depth_after(depth, token);
    }
    item
}

/// The parts of a body between commas, without their attributes.
fn parts<'a>(body: &[Token<'a>], mut visit: impl FnMut(&[Token<'a>])) {
    let (mut start, mut depth, mut angles) = (0, 0_usize, 0_i32);
    for at in 0..=body.len() {
        let end = at == body.len();
        if end || (body[at].is(",") && depth == 0 && angles == 0) {
            while let Some(length) = attribute(&body[start..at]) {
                start += length;
            }
            if start < at {
                visit(&body[start..at]);
            }
            start = at + 1;
        } else {
            depth = depth_after(depth, &body[at]);
            let arrow = at > 0 && body[at - 1].is("-");
            angles += i32::from(body[at].is("<")) - i32::from(body[at].is(">") && !arrow);
        }
    }
}

/// The tokens on one line, with their spaces. Patterns that only a function's body uses are left
/// out.
fn join(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let previous = at.checked_sub(1).map(|at| &tokens[at]);
        let spaced = previous.is_some_and(|previous| previous.end() < token.start);
        let tight = previous.is_some_and(|p| p.is("(")) || token.is(")");
        if spaced && !tight {
            text.push(' ');
        }
        text.push_str(token.text);
    }
    text.replace(",)", ")")
        .replace(", >", ">")
        .replace("(mut self", "(self")
}

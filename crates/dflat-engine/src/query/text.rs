//! Tests of strings that allocate nothing.

use std::str::Chars;

use dflat_model::TextTest;

/// Whether a string passes a test.
pub(super) fn matches(test: TextTest, text: &str, pattern: &str, ignore_case: bool) -> bool {
    match (test, ignore_case) {
        (TextTest::Equal, false) => text == pattern,
        (TextTest::StartsWith, false) => text.as_bytes().starts_with(pattern.as_bytes()),
        (TextTest::EndsWith, false) => text.as_bytes().ends_with(pattern.as_bytes()),
        (TextTest::Contains, false) => text.contains(pattern),
        (TextTest::Equal, true) => text.chars().map(fold).eq(pattern.chars().map(fold)),
        (TextTest::StartsWith, true) => begins(text.chars(), pattern.chars()),
        (TextTest::EndsWith, true) => begins(text.chars().rev(), pattern.chars().rev()),
        (TextTest::Contains, true) => {
            let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let mut rests = starts.filter_map(|at| text.get(at..));
            rests.any(|rest| begins(rest.chars(), pattern.chars()))
        }
        (TextTest::Like, _) => like(text, pattern, ignore_case),
    }
}

/// Whether a text begins with a pattern, ignoring case.
fn begins(text: impl Iterator<Item = char>, pattern: impl Iterator<Item = char>) -> bool {
    let mut text = text.map(fold);
    pattern.map(fold).all(|wanted| text.next() == Some(wanted))
}

/// The representative of all characters that differ from this one only in case.
fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let upper = single(c.to_uppercase()).unwrap_or(c);
    single(upper.to_lowercase()).unwrap_or(upper)
}

/// The only character of a case mapping; `None` if the mapping has several.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    first.filter(|_| mapped.next().is_none())
}

/// An element of a pattern.
enum Token {
    /// `%`: any number of characters.
    Many,
    /// `_`: one character.
    One,
    /// The character itself.
    Exactly(char),
}

fn next_token(pattern: &mut Chars<'_>) -> Option<Token> {
    Some(match pattern.next()? {
        '%' => Token::Many,
        '_' => Token::One,
        // A backslash at the end of the pattern matches a backslash.
        '\\' => Token::Exactly(pattern.next().unwrap_or('\\')),
        c => Token::Exactly(c),
    })
}

/// Matches a text with a pattern. The search goes back to the last `%` only, which bounds the cost
/// to one comparison for each pair of characters.
fn like(text: &str, pattern: &str, ignore_case: bool) -> bool {
    let same = |a: char, b: char| a == b || (ignore_case && fold(a) == fold(b));
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let text_before = text.clone();
        let matched = match (next_token(&mut pattern), text.next()) {
            (None, None) => return true,
            (Some(Token::Many), _) => {
                // The `%` matches no character at first.
                text = text_before.clone();
                retry = Some((text_before, pattern.clone()));
                continue;
            }
            (Some(Token::One), Some(_)) => true,
            (Some(Token::Exactly(wanted)), Some(c)) => same(wanted, c),
            (Some(_), None) => return false,
            (None, Some(_)) => false,
        };
        if matched {
            continue;
        }
        // The last `%` matches one character more.
        let Some((rest, after)) = &mut retry else {
            return false;
        };
        if rest.next().is_none() {
            return false;
        }
        text = rest.clone();
        pattern = after.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_matches_the_whole_text() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("a", "", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a__c", false),
            ("aXbXbc", "a%bc", true),
            ("aXbXb", "a%bc", false),
            ("文字", "_字", true),
            ("50%", "50\\%", true),
            ("500", "50\\%", false),
            ("a_b", "a\\_b", true),
            ("axb", "a\\_b", false),
            ("a\\", "a\\", true),
            ("a\\b", "a\\\\b", true),
            ("ABC", "abc", false),
            ("mississippi", "m%iss%ip%i", true),
            ("aaaa", "%a%a%a%a%a%", false),
        ] {
            assert_eq!(
                matches(TextTest::Like, text, pattern, false),
                expected,
                "{text} {pattern}"
            );
        }
    }

    #[test]
    fn case_is_ignored_character_by_character() {
        for (a, b, expected) in [
            ("ABC", "abc", true),
            ("É", "é", true),
            ("ΣΑΣ", "σας", true),
            ("ẞ", "ß", true),
            ("ß", "ss", false),
            ("\u{212A}", "k", true),
            ("e\u{301}", "é", false),
            ("ǅ", "ǆ", true),
        ] {
            for test in [TextTest::Equal, TextTest::Like, TextTest::StartsWith] {
                assert_eq!(matches(test, a, b, true), expected, "{a} {b} {test}");
                assert_eq!(matches(test, b, a, true), expected, "{b} {a} {test}");
            }
        }
        assert!(matches(TextTest::Contains, "xÉCOLEx", "école", true));
        assert!(matches(TextTest::EndsWith, "xÉCOLE", "école", true));
        assert!(!matches(TextTest::EndsWith, "cole", "école", true));
        assert!(matches(TextTest::Contains, "", "", true));
    }
}

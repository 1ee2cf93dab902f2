//! Tests of strings.

use dflat_model::{Expression, TextTest};

use super::{Field, Predicate};

impl<R, P> Field<R, str, P> {
    /// The string begins with `prefix`.
    #[must_use]
    pub fn starts_with(self, prefix: impl Into<String>) -> Predicate<R> {
        test(self, TextTest::StartsWith, prefix.into(), false)
    }

    /// The string ends with `suffix`.
    #[must_use]
    pub fn ends_with(self, suffix: impl Into<String>) -> Predicate<R> {
        test(self, TextTest::EndsWith, suffix.into(), false)
    }

    /// The string has `part` somewhere.
    #[must_use]
    pub fn contains(self, part: impl Into<String>) -> Predicate<R> {
        test(self, TextTest::Contains, part.into(), false)
    }

    /// The whole string matches `pattern`: `%` matches any characters, `_` matches one, and a
    /// backslash makes the next character literal. Unlike LIKE in SQLite, it distinguishes upper
    /// and lower case; with [`ignore_case`](Self::ignore_case) it does not.
    #[must_use]
    pub fn like(self, pattern: impl Into<String>) -> Predicate<R> {
        test(self, TextTest::Like, pattern.into(), false)
    }

    /// The number of characters (Unicode scalar values).
    #[must_use]
    pub fn len(self) -> Field<R, u64> {
        self.computed(Expression::Length)
    }

    /// The field, with tests that ignore case.
    #[must_use]
    pub fn ignore_case(self) -> IgnoreCase<R> {
        IgnoreCase(self.retyped())
    }
}

/// A field of strings whose tests ignore case, made by [`Field::ignore_case`].
///
/// Two characters are equal if the lower case of their upper case is equal, by Unicode's mappings
/// of one character to one, in any locale. So an accented letter equals its capital, and the forms
/// of the Greek sigma are equal. But the German sharp s does not equal `ss`, and a letter with a
/// combining accent does not equal the accented letter.
#[derive(Clone, Debug)]
pub struct IgnoreCase<R>(Field<R, str>);

impl<R> IgnoreCase<R> {
    /// The string equals `text`.
    #[must_use]
    pub fn eq(self, text: impl Into<String>) -> Predicate<R> {
        test(self.0, TextTest::Equal, text.into(), true)
    }

    /// The string begins with `prefix`.
    #[must_use]
    pub fn starts_with(self, prefix: impl Into<String>) -> Predicate<R> {
        test(self.0, TextTest::StartsWith, prefix.into(), true)
    }

    /// The string ends with `suffix`.
    #[must_use]
    pub fn ends_with(self, suffix: impl Into<String>) -> Predicate<R> {
        test(self.0, TextTest::EndsWith, suffix.into(), true)
    }

    /// The string has `part` somewhere.
    #[must_use]
    pub fn contains(self, part: impl Into<String>) -> Predicate<R> {
        test(self.0, TextTest::Contains, part.into(), true)
    }

    /// The whole string matches `pattern`, as [`Field::like`].
    #[must_use]
    pub fn like(self, pattern: impl Into<String>) -> Predicate<R> {
        test(self.0, TextTest::Like, pattern.into(), true)
    }
}

fn test<R, P>(
    field: Field<R, str, P>,
    test: TextTest,
    pattern: String,
    ignore_case: bool,
) -> Predicate<R> {
    Predicate::of(field.into_nested().test(test, pattern, ignore_case))
}

//! One row of a rendered diagnostic: characters in columns, each with a colour.

use std::ops::Range;

use super::Style;

/// The colour of a character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tint {
    #[default]
    None,
    Bold,
    /// Line numbers, the gutter, and labels that are not primary.
    Place,
    Error,
    Warning,
    Note,
}

impl Tint {
    /// The escape sequence that turns the colour on.
    const fn code(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bold => "\u{1b}[1m",
            Self::Place => "\u{1b}[1;94m",
            Self::Error => "\u{1b}[1;91m",
            Self::Warning => "\u{1b}[1;33m",
            Self::Note => "\u{1b}[1;92m",
        }
    }
}

/// A column: a character, or `None` for the second column of a wide character.
type Column = (Option<char>, Tint);

/// One row, without the end of the line.
#[derive(Debug, Default)]
pub(super) struct Row {
    columns: Vec<Column>,
}

impl Row {
    pub(super) fn of(text: &str, tint: Tint) -> Self {
        let mut row = Self::default();
        row.push(text, tint);
        row
    }

    /// The left edge of a row: a line number, or blanks, and a line.
    pub(super) fn gutter(number: &str, width: usize) -> Self {
        Self::of(&format!("{number:>width$} |"), Tint::Place)
    }

    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Adds a text at the end. A tab is four blanks, and a control character becomes its picture.
    pub(super) fn push(&mut self, text: &str, tint: Tint) {
        for character in text.chars() {
            match character {
                '\t' => self.columns.extend([(Some(' '), tint); 4]),
                '\n' | '\r' => {}
                _ => {
                    let shown = picture(character);
                    self.columns.push((Some(shown), tint));
                    if is_wide(shown) {
                        self.columns.push((None, tint));
                    }
                }
            }
        }
    }

    /// Adds some columns of another row.
    pub(super) fn append(&mut self, other: &Self, columns: Range<usize>) {
        self.columns
            .extend(other.columns.get(columns).into_iter().flatten());
    }

    /// Writes a character into a column.
    pub(super) fn put(&mut self, column: usize, character: char, tint: Tint) {
        let width = self.columns.len().max(column + 1);
        self.columns.resize(width, (Some(' '), Tint::None));
        self.columns[column] = (Some(character), tint);
    }

    /// Writes a text into the columns from `column` on.
    pub(super) fn put_text(&mut self, column: usize, text: &str, tint: Tint) {
        for (position, (character, tint)) in Self::of(text, tint).columns.into_iter().enumerate() {
            self.put(column + position, ' ', tint);
            self.columns[column + position].0 = character;
        }
    }

    /// Whether some columns are blank.
    pub(super) fn is_free(&self, columns: Range<usize>) -> bool {
        let end = columns.end.min(self.columns.len());
        let taken = self.columns.get(columns.start..end).unwrap_or_default();
        taken.iter().all(|(character, _)| *character == Some(' '))
    }

    /// The row as text, without blanks at the end.
    pub(super) fn text(&self, style: Style) -> String {
        let blank = |column: &Column| column.0 == Some(' ');
        let end = self.columns.iter().rposition(|column| !blank(column));
        let columns = &self.columns[..end.map_or(0, |end| end + 1)];
        let mut text = String::new();
        for run in columns.chunk_by(|a, b| a.1 == b.1) {
            let characters = run.iter().filter_map(|(character, _)| *character);
            let code = run[0].1.code();
            if style == Style::Plain || code.is_empty() {
                text.extend(characters);
            } else {
                text.push_str(code);
                text.extend(characters);
                text.push_str("\u{1b}[0m");
            }
        }
        text
    }
}

/// The character to show: a terminal must not obey a control character of a schema.
fn picture(character: char) -> char {
    match character {
        '\0'..='\u{1f}' => {
            char::from_u32(0x2400 + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\u{7f}' => '\u{2421}',
        // Other controls, and marks that change the direction of the text.
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}

/// Whether a terminal shows the character in two columns.
const fn is_wide(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{ffe0}'..='\u{ffe6}'
            | '\u{1f300}'..='\u{1faff}'
            | '\u{20000}'..='\u{3fffd}'
    )
}

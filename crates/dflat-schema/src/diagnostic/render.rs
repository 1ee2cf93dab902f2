//! Diagnostics as text, in the style of rustc.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Severity};
use crate::schema::FileId;
use crate::source::Sources;

/// Whether a rendered diagnostic has escape sequences for colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// Text with ANSI escape sequences.
    Coloured,
}

/// The number of lines kept around a label. The renderer shows fewer.
const CONTEXT_LINES: usize = 3;

/// The limit on quoted bytes. A larger window has a very long line, or two distant labels; only the
/// position of its first label is printed.
const WINDOW_BYTES_MAX: usize = 64 << 10;

impl Diagnostic {
    /// Writes the diagnostic with the lines that its labels point at, without a final newline.
    #[must_use]
    pub fn render(&self, sources: &Sources, style: Style) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group: Group<'_> = level
            .primary_title(self.message.as_str())
            .id(self.code.name)
            .elements(
                self.files()
                    .into_iter()
                    .map(|file| self.quote(sources, file)),
            );
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        renderer.render(&[group])
    }

    /// The files of its labels, that of the primary label first.
    fn files(&self) -> Vec<FileId> {
        let mut files = Vec::new();
        for label in self.labels() {
            if !files.contains(&label.span.file) {
                files.push(label.span.file);
            }
        }
        files
    }

    /// The range of lines of a file that the labels point at.
    fn quote<'a>(&'a self, sources: &'a Sources, file: FileId) -> Element<'a> {
        let labels = || self.labels().filter(|label| label.span.file == file);
        let first = labels()
            .map(|label| sources.start(&label.span).line)
            .min()
            .unwrap_or(1);
        let last = labels()
            .map(|label| sources.end(&label.span).line)
            .max()
            .unwrap_or(1);
        let first = first.saturating_sub(CONTEXT_LINES).max(1);
        // The renderer gets a window and not the file: splitting a large file into lines for each
        // of two hundred diagnostics is slow.
        let window = sources.lines(file, first, last + CONTEXT_LINES);
        if window.len() > WINDOW_BYTES_MAX {
            let mut origin = Origin::path(sources.path(file));
            if let Some(label) = labels().next() {
                let start = sources.start(&label.span);
                origin = origin.line(start.line).char_column(start.column);
            }
            return origin.into();
        }
        let text = &sources.text(file)[window.clone()];
        let annotations = self
            .labels()
            .enumerate()
            .filter(|(_, label)| label.span.file == file);
        let annotations = annotations.map(|(position, label)| {
            let kind = if position == 0 && self.primary.is_some() {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let span = within(&window, text, &label.span.range);
            let text = (!label.text.is_empty()).then_some(label.text.as_str());
            kind.span(span).label(text)
        });
        let snippet = Snippet::source(text)
            .path(sources.path(file))
            .line_start(first);
        snippet.annotations(annotations).into()
    }
}

/// The range relative to the window, on character boundaries; the renderer panics on other ranges.
fn within(window: &Range<usize>, text: &str, range: &Range<usize>) -> Range<usize> {
    let relative = |offset: usize| {
        let mut offset = offset.saturating_sub(window.start).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    };
    let start = relative(range.start);
    start..relative(range.end).max(start)
}

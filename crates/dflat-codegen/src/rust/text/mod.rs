//! The writer of Rust text: indented lines, and constructs that break if they are too long.
//!
//! Its output is formatted as rustfmt formats it. If a name is so long that no layout fits the
//! line, the item gets `#[rustfmt::skip]`, so that rustfmt does not change it.

pub(in crate::rust) mod docs;
mod lint;
pub(in crate::rust) mod literals;

use std::iter;

use super::layout::{Expr, Shape, WIDTH_MAX, line_break, prefers_next_line};
pub(in crate::rust) use lint::Lint;

const TAB: usize = 4;

/// The lines above which a function allows the lint on their number. Clippy's own limit is higher,
/// and programs may set a lower one.
const LINES_MAX: usize = 60;

const MANY_LINES: Lint = Lint {
    lint: "clippy::too_many_lines",
    reason: "lines for each field or value",
};

/// Rust text that is being written.
#[derive(Debug, Default)]
pub(crate) struct Text {
    out: String,
    indent: usize,
    /// Whether a line of the current item does not fit.
    overlong: bool,
    /// Whether no item was written since the last opening brace, so that no blank line is needed.
    first: bool,
}

impl Text {
    /// An empty text with room for `bytes` bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
            first: true,
            ..Self::default()
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// Writes a line at the current indentation.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        // If the whole text fits, each of its lines fits.
        if self.indent + text.len() > WIDTH_MAX {
            self.overlong |= text.split('\n').any(|line| self.exceeds(line));
        }
        self.out.extend(iter::repeat_n(' ', self.indent));
        self.out.push_str(text);
        self.out.push('\n');
        self.first = false;
    }

    fn exceeds(&self, line: &str) -> bool {
        // Lines after the first come from a layout and have their indentation already.
        let indent = if line.starts_with(' ') {
            0
        } else {
            self.indent
        };
        indent + line.len() > WIDTH_MAX && !line.starts_with("//")
    }

    /// Writes a line that rustfmt ignores.
    pub(crate) fn verbatim_line(&mut self, text: &str) {
        let overlong = self.overlong;
        self.line(text);
        self.overlong = overlong;
    }

    /// Writes a line that opens a block, the block, and its closing brace.
    pub(crate) fn block(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) {
        self.line(format!("{} {{", head.as_ref()).trim_start());
        self.body(body);
        self.line("}");
    }

    /// Writes the inside of a block whose opening line is written already.
    pub(crate) fn body(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += TAB;
        self.first = true;
        body(self);
        self.first = false;
        self.indent -= TAB;
    }

    /// Writes an item, or a member of an item, after a blank line unless it is the first in its
    /// block.
    pub(crate) fn item(&mut self, body: impl FnOnce(&mut Self)) {
        if !self.first {
            self.out.push('\n');
        }
        self.member(body);
    }

    /// Writes a member without a blank line before it.
    pub(crate) fn member(&mut self, body: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.overlong);
        let start = self.out.len();
        body(self);
        if self.overlong {
            let indent = " ".repeat(self.indent);
            self.out
                .insert_str(start, &format!("{indent}#[rustfmt::skip]\n"));
        }
        self.overlong = outer;
        self.first = false;
    }

    /// Writes the schema's comment, and a paragraph with the facts of the schema.
    pub(crate) fn docs(&mut self, written: &[String], facts: &str) {
        let lines = docs::lines(written);
        for line in &lines {
            self.line(format!("/// {line}").trim_end());
        }
        if !lines.is_empty() {
            self.line("///");
        }
        self.line(format!("/// {facts}"));
        self.allow_comment(&lines);
    }

    /// Writes the schema's comment, or else the sentence `otherwise`.
    pub(crate) fn docs_or(&mut self, written: &[String], otherwise: &str) {
        let lines = docs::lines(written);
        if lines.is_empty() {
            self.line(format!("/// {otherwise}"));
        }
        for line in &lines {
            self.line(format!("/// {line}").trim_end());
        }
        self.allow_comment(&lines);
    }

    /// Writes the attribute for a comment of the schema that clippy would change.
    fn allow_comment(&mut self, lines: &[String]) {
        for lint in docs::lints(lines) {
            let reason = "text of the schema";
            self.verbatim_line(&Lint { lint, reason }.attribute());
        }
    }

    /// Writes a function: its signature, which breaks if it does not fit a line, and its body.
    pub(crate) fn function(
        &mut self,
        name: &str,
        parameters: &[&str],
        result: &str,
        body: impl FnOnce(&mut Self),
    ) {
        let start = self.out.len();
        let arrow = if result.is_empty() { "" } else { " -> " };
        let flat = format!("{name}({}){arrow}{result} {{", parameters.join(", "));
        if self.indent + flat.len() <= WIDTH_MAX || parameters.is_empty() {
            self.line(flat);
        } else {
            self.line(format!("{name}("));
            self.body(|text| {
                for parameter in parameters {
                    text.line(format!("{parameter},"));
                }
            });
            let end = format!("){arrow}{result}");
            // rustfmt counts the indentation twice here.
            if 2 * self.indent + end.len() + 2 <= WIDTH_MAX {
                self.line(format!("{end} {{"));
            } else {
                self.line(end);
                self.line("{");
            }
            // A list of type parameters would break too.
            self.overlong |= name.contains('<');
        }
        self.body(body);
        self.line("}");
        if self.out[start..].lines().count() > LINES_MAX {
            let indent = " ".repeat(self.indent);
            let attribute = format!("{indent}{}\n", MANY_LINES.attribute());
            self.out.insert_str(start, &attribute);
        }
    }

    /// Writes `impl interface for target`, which breaks if it does not fit a line.
    pub(crate) fn implementation(
        &mut self,
        interface: &str,
        target: &str,
        body: impl FnOnce(&mut Self),
    ) {
        const DERIVABLE: [&str; 3] = [
            "::core::cmp::PartialEq",
            "::core::default::Default",
            "::core::fmt::Debug",
        ];
        if DERIVABLE.contains(&interface) {
            self.line("#[automatically_derived]");
        }
        let flat = format!("impl {interface} for {target} {{");
        // rustfmt does not count the indentation here.
        if flat.len() <= WIDTH_MAX {
            self.line(flat);
        } else {
            self.line(format!("impl {interface}"));
            self.line(format!("    for {target}"));
            self.line("{");
        }
        self.body(body);
        self.line("}");
    }

    /// Writes an expression that is the value of a block.
    pub(crate) fn value(&mut self, expr: &Expr) {
        self.expression("", expr, 0, "");
    }

    /// Writes an expression that is a statement.
    pub(crate) fn statement(&mut self, expr: &Expr) {
        self.expression("", expr, 1, ";");
    }

    /// Writes `name: expression,` of a struct literal.
    pub(crate) fn literal_field(&mut self, name: &str, expr: &Expr) {
        self.expression(&format!("{name}: "), expr, 1, ",");
    }

    fn expression(&mut self, prefix: &str, expr: &Expr, reserved: usize, suffix: &str) {
        let shape = Shape::line(self.indent, reserved).after(prefix.len());
        match shape.and_then(|shape| expr.layout(shape)) {
            Some(text) => self.line(format!("{prefix}{text}{suffix}")),
            None => self.unfit(&format!("{prefix}{}{suffix}", expr.flat())),
        }
    }

    /// Writes `left = expression;`, with the expression on the next line where rustfmt puts it
    /// there.
    pub(crate) fn assignment(&mut self, left: &str, expr: &Expr) {
        let shape = Shape::line(self.indent, 1);
        let same = shape
            .after(left.len() + 3)
            .and_then(|shape| expr.layout(shape));
        if let Some(same) = same.as_ref().filter(|same| !same.contains('\n')) {
            return self.line(format!("{left} = {same};"));
        }
        let next = expr.layout(Shape::line(self.indent + TAB, 1));
        let below = line_break(self.indent + TAB);
        match (same, next) {
            (Some(same), Some(next)) if prefers_next_line(&same, &next) => {
                self.line(format!("{left} ={below}{next};"));
            }
            (Some(same), _) => self.line(format!("{left} = {same};")),
            (None, Some(next)) => self.line(format!("{left} ={below}{next};")),
            (None, None) => self.unfit(&format!("{left} = {};", expr.flat())),
        }
    }

    /// Writes `pattern => expression,` of a match.
    pub(crate) fn arm(&mut self, pattern: &str, expr: &Expr) {
        let shape = Shape::line(self.indent, 1);
        let same = shape
            .after(pattern.len() + 4)
            .and_then(|shape| expr.layout(shape));
        if let Some(same) = same.as_ref().filter(|same| !same.contains('\n')) {
            return self.line(format!("{pattern} => {same},"));
        }
        let next = expr.layout(Shape::line(self.indent + TAB, 0));
        match (same, next) {
            (Some(same), Some(next)) if !prefers_next_line(&same, &next) => {
                self.line(format!("{pattern} => {same},"));
            }
            (_, Some(next)) => {
                self.block(format!("{pattern} =>"), |text| text.line(next));
            }
            (Some(same), None) => self.line(format!("{pattern} => {same},")),
            (None, None) => self.unfit(&format!("{pattern} => {},", expr.flat())),
        }
    }

    /// Writes `a | b => { .. }` of a match, with one pattern in each line if they do not fit one.
    pub(crate) fn alternatives(&mut self, patterns: &[String], body: impl FnOnce(&mut Self)) {
        let flat = patterns.join(" | ");
        if self.indent + flat.len() + 5 <= WIDTH_MAX {
            return self.block(format!("{flat} =>"), body);
        }
        let (last, others) = patterns.split_last().unwrap_or_else(|| unreachable!());
        for (position, pattern) in others.iter().enumerate() {
            let bar = if position == 0 { "" } else { "| " };
            self.line(format!("{bar}{pattern}"));
        }
        self.block(format!("| {last} =>"), body);
    }

    /// Writes conditions joined by `&&` as the value of a block.
    pub(crate) fn conjunction(&mut self, conditions: &[(String, String)]) {
        let flat = |(left, right): &(String, String)| format!("{left} == {right}");
        let all: Vec<String> = conditions.iter().map(flat).collect();
        let one_line = all.join(" && ");
        if self.indent + one_line.len() <= WIDTH_MAX {
            return self.line(one_line);
        }
        for (position, condition) in all.iter().enumerate() {
            if position == 0 {
                self.line(condition);
            } else {
                self.body(|text| text.line(format!("&& {condition}")));
            }
        }
    }

    /// Writes a struct literal as the value of a block, on one line if it is short.
    pub(crate) fn literal(&mut self, name: &str, fields: &[(String, Expr)]) {
        /// rustfmt's `struct_lit_width`.
        const TINY: usize = 18;
        let flat: Vec<String> = fields
            .iter()
            .map(|(field, expr)| format!("{field}: {}", expr.flat()))
            .collect();
        let flat = flat.join(", ");
        if fields.is_empty() {
            self.line(format!("{name} {{}}"));
        } else if flat.len() <= TINY {
            self.line(format!("{name} {{ {flat} }}"));
        } else {
            self.block(name, |text| {
                for (field, expr) in fields {
                    text.literal_field(field, expr);
                }
            });
        }
    }

    /// Makes rustfmt skip the current item.
    pub(crate) fn skip_rustfmt(&mut self) {
        self.overlong = true;
    }

    fn unfit(&mut self, line: &str) {
        self.line(line);
        self.skip_rustfmt();
    }
}

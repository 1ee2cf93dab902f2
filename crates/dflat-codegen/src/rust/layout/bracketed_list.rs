//! Arguments of calls, and elements of arrays.

use super::{Expr, GROUP_MAX, SHORT_ELEMENT_MAX, Shape, TAB, first_line, line_break, newlines};

/// A bracketed list after a name.
pub(super) struct BracketedList<'a> {
    name: &'a str,
    open: char,
    close: char,
    items: &'a [Expr],
}

#[derive(Clone, Copy, PartialEq)]
enum Tactic {
    Horizontal,
    Vertical,
    Filled,
}

impl<'a> BracketedList<'a> {
    pub(super) fn parentheses(name: &'a str, items: &'a [Expr]) -> Self {
        Self {
            name,
            open: '(',
            close: ')',
            items,
        }
    }

    pub(super) fn brackets(items: &'a [Expr]) -> Self {
        Self {
            name: "",
            open: '[',
            close: ']',
            items,
        }
    }

    pub(super) fn layout(&self, shape: Shape) -> Option<String> {
        let Self {
            name, open, close, ..
        } = *self;
        if self.items.is_empty() {
            let text = format!("{name}{open}{close}");
            return (text.len() <= shape.width).then_some(text);
        }
        if name.len() > shape.width {
            return None;
        }
        let one_line_width = shape.width.saturating_sub(name.len() + 2);
        let one_line = shape
            .after(name.len() + 1)
            .and_then(|rest| rest.narrower(1))
            .unwrap_or(Shape { width: 0, ..shape });
        let nested = shape.nested().narrower(1)?;
        let (items, tactic) = self.arrange(one_line, one_line_width, nested)?;
        let inner = match tactic {
            Tactic::Horizontal => items.join(", "),
            Tactic::Vertical => items.join(&format!(",{}", line_break(nested.indent))) + ",",
            Tactic::Filled => filled(&items, nested),
        };
        let rest = shape.width.saturating_sub(name.len());
        if tactic == Tactic::Horizontal && first_line(&inner).len() < rest {
            return Some(format!("{name}{open}{inner}{close}"));
        }
        let (begin, end) = (line_break(nested.indent), line_break(shape.indent));
        Some(format!("{name}{open}{begin}{inner}{end}{close}"))
    }

    /// The texts of the items, and their layout.
    fn arrange(
        &self,
        one_line: Shape,
        one_line_width: usize,
        nested: Shape,
    ) -> Option<(Vec<String>, Tactic)> {
        let mut items = Vec::new();
        for item in self.items {
            items.push(item.layout(nested)?);
        }
        let single = match self.items {
            [only] => Some(only),
            _ => None,
        };
        if let Some(only) = single.filter(|only| self.name.len() < TAB || only.overflows()) {
            let overflow_shape = if only.is_call() {
                Shape {
                    width: one_line.width.min(GROUP_MAX),
                    ..one_line
                }
            } else {
                one_line
            };
            // A chain may overflow by its last arguments, and not by a break before a link.
            let broken = |text: &String| text.contains('\n') && only.breaks_links(text);
            if let Some(overflowed) = only.layout(overflow_shape).filter(|text| !broken(text)) {
                let head = vec![first_line(&overflowed).to_owned()];
                if tactic(&head, one_line_width) == Tactic::Horizontal {
                    if newlines(&overflowed) == 1 && !items[0].contains('\n') {
                        return Some((items, Tactic::Vertical));
                    }
                    items[0] = overflowed;
                    return Some((items, Tactic::Horizontal));
                }
            }
        }
        if single.is_some() && !items[0].contains('\n') && items[0].len() <= one_line_width {
            return Some((items, Tactic::Horizontal));
        }
        let mut chosen = tactic(&items, one_line_width);
        if chosen == Tactic::Vertical
            && self.items.iter().all(|item| matches!(item, Expr::Atom(_)))
            && items.iter().all(|item| item.len() <= SHORT_ELEMENT_MAX)
        {
            chosen = Tactic::Filled;
        }
        Some((items, chosen))
    }
}

fn tactic(items: &[String], width: usize) -> Tactic {
    let total: usize = items.iter().map(String::len).sum::<usize>() + 2 * (items.len() - 1);
    if total <= width.min(GROUP_MAX) && !items.iter().any(|item| item.contains('\n')) {
        Tactic::Horizontal
    } else {
        Tactic::Vertical
    }
}

/// Lines with as many items as fit.
fn filled(items: &[String], nested: Shape) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (position, item) in items.iter().enumerate() {
        let last = position + 1 == items.len();
        let width = item.len() + 1;
        if position > 0 {
            if column + 1 + width > nested.width + usize::from(last) {
                out.push_str(&line_break(nested.indent));
                column = 0;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        out.push_str(item);
        out.push(',');
        column += width;
    }
    out
}

//! Chains of method calls.

use super::bracketed_list::BracketedList;
use super::{Expr, GROUP_MAX, Link, Shape, TAB, first_line, line_break, newlines};

/// A chain of method calls.
pub(super) struct Chain<'a> {
    pub(super) root: &'a Expr,
    pub(super) links: &'a [Link],
}

impl Link {
    fn layout(&self, shape: Shape) -> Option<String> {
        let name = format!(".{}", self.name);
        match &self.arguments {
            Some(arguments) => BracketedList::parentheses(&name, arguments).layout(shape),
            None => (name.len() <= shape.width).then_some(name),
        }
    }
}

impl Chain<'_> {
    pub(super) fn layout(&self, shape: Shape) -> Option<String> {
        let mut head = self.root.layout(shape)?;
        let mut links = self.links;
        // If the head is no longer than an indentation, the next link is on the same line.
        let tab = TAB.saturating_sub(shape.offset);
        while head.len() <= tab && !head.contains('\n') {
            let [first, rest @ ..] = links else { break };
            let Some(text) = first.layout(shape.after(head.len())?) else {
                break;
            };
            head.push_str(&text);
            links = rest;
        }
        let Some((last, middle)) = links.split_last() else {
            return shape.holds(&head).then_some(head);
        };
        let child = shape.nested();
        let mut parts = vec![head];
        for link in middle {
            parts.push(link.layout(child)?);
        }
        let total: usize = parts.iter().map(String::len).sum();
        let budget = match self.links.len() {
            1 => shape.width,
            _ => shape.width.min(GROUP_MAX),
        }
        .saturating_sub(total);
        let one_line = budget > 0 && !parts.iter().any(|part| part.contains('\n'));
        let below = child.narrower(shape.reserved())?;
        let (text, joined) = last_link(
            last,
            one_line.then(|| shape.after(total)).flatten(),
            below,
            budget,
        )?;
        parts.push(text);
        let connector = if joined {
            String::new()
        } else {
            line_break(child.indent)
        };
        let result = parts.join(&connector);
        shape.holds(&result).then_some(result)
    }
}

/// The chain's last link, and whether the chain stays on one line before it.
fn last_link(
    last: &Link,
    one_line: Option<Shape>,
    below: Shape,
    budget: usize,
) -> Option<(String, bool)> {
    let Some(behind) = one_line.and_then(|shape| last.layout(shape)) else {
        return last.layout(below).map(|text| (text, false));
    };
    let fits = first_line(&behind).len() <= budget;
    let lines = newlines(&behind);
    // One line is the shortest layout, and a layout of five lines or more is not compared.
    if fits && (lines == 0 || lines >= 4) {
        return Some((behind, true));
    }
    Some(match last.layout(below) {
        Some(text) if !fits => (text, false),
        Some(text) if newlines(&text) >= lines => (behind, fits),
        Some(text) => (text, false),
        None => (behind, fits),
    })
}

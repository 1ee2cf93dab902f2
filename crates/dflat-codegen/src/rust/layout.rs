//! Expressions laid out as rustfmt lays them out.
//!
//! Only what generated code consists of: names, calls, method chains, references and arrays. The rules
//! are those of rustfmt's default style: a call breaks when its arguments are wider than 60
//! columns, a chain when it is wider than 60, and the last argument may overflow if it is the only one.
//! `None` stands for "does not fit"; the printer then keeps rustfmt away from the whole item.

/// Columns of a line.
pub(crate) const WIDTH_MAX: usize = 100;
/// Columns of the arguments of a call, of an array's elements, and of a chain.
const GROUP_MAX: usize = 60;
const TAB: usize = 4;
/// Elements up to this width fill lines instead of taking one each.
const SHORT_ELEMENT_MAX: usize = 10;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// Text that is never broken.
    Atom(String),
    /// `callee(arguments)`.
    Call(String, Vec<Expr>),
    /// `root.link(arguments).link`, from a root that is an atom or a call.
    Chain(Box<Expr>, Vec<Link>),
    /// `&expression` or `!expression`.
    Prefixed(char, Box<Expr>),
    /// `[elements]`.
    Array(Vec<Expr>),
}

/// A method call or, without arguments, a field.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    name: String,
    arguments: Option<Vec<Expr>>,
}

/// A name, a literal, or anything else that stays on one line.
pub(crate) fn atom(text: impl Into<String>) -> Expr {
    Expr::Atom(text.into())
}

/// A call of a function.
pub(crate) fn call(callee: impl Into<String>, arguments: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::Call(callee.into(), arguments.into_iter().collect())
}

impl Expr {
    /// The expression with a method called on it.
    pub(crate) fn method(
        self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = Self>,
    ) -> Self {
        self.link(name.into(), Some(arguments.into_iter().collect()))
    }

    /// A field of the expression.
    pub(crate) fn field(self, name: impl Into<String>) -> Self {
        self.link(name.into(), None)
    }

    /// A reference to the expression.
    pub(crate) fn reference(self) -> Self {
        Self::Prefixed('&', Box::new(self))
    }

    /// The contrary of the expression.
    pub(crate) fn negated(self) -> Self {
        Self::Prefixed('!', Box::new(self))
    }

    fn link(self, name: String, arguments: Option<Vec<Self>>) -> Self {
        let link = Link { name, arguments };
        match self {
            Self::Chain(root, mut links) => {
                links.push(link);
                Self::Chain(root, links)
            }
            root => Self::Chain(Box::new(root), vec![link]),
        }
    }

    /// The expression's lines from the column that `shape` begins at.
    pub(crate) fn layout(&self, shape: Shape) -> Option<String> {
        match self {
            Self::Atom(text) => (text.len() <= shape.width).then(|| text.clone()),
            Self::Call(callee, arguments) => Group::parentheses(callee, arguments).layout(shape),
            Self::Array(elements) => Group::brackets(elements).layout(shape),
            Self::Prefixed(sign, inner) => {
                Some(format!("{sign}{}", inner.layout(shape.after(1)?)?))
            }
            Self::Chain(root, links) => Chain { root, links }.layout(shape),
        }
    }

    /// The expression on one line, however long.
    pub(crate) fn flat(&self) -> String {
        match self {
            Self::Atom(text) => text.clone(),
            Self::Call(callee, arguments) => format!("{callee}({})", flat_list(arguments)),
            Self::Array(elements) => format!("[{}]", flat_list(elements)),
            Self::Prefixed(sign, inner) => format!("{sign}{}", inner.flat()),
            Self::Chain(root, links) => {
                let links = links.iter().map(|link| match &link.arguments {
                    Some(arguments) => format!(".{}({})", link.name, flat_list(arguments)),
                    None => format!(".{}", link.name),
                });
                root.flat() + &links.collect::<String>()
            }
        }
    }

    fn is_call(&self) -> bool {
        match self {
            Self::Call(..) => true,
            Self::Prefixed(_, inner) => inner.is_call(),
            _ => false,
        }
    }

    /// Whether a text of this expression is a chain with a link on a line of its own.
    fn breaks_links(&self, text: &str) -> bool {
        let link = |line: &str| line.trim_start().starts_with('.');
        matches!(self, Self::Chain(..)) && text.lines().skip(1).any(link)
    }

    /// Whether the expression may begin on its caller's line and end below, as the only argument.
    fn overflows(&self) -> bool {
        match self {
            Self::Atom(_) => false,
            Self::Call(..) | Self::Chain(..) | Self::Array(_) => true,
            Self::Prefixed(_, inner) => inner.overflows(),
        }
    }
}

fn flat_list(items: &[Expr]) -> String {
    let items: Vec<String> = items.iter().map(Expr::flat).collect();
    items.join(", ")
}

/// Where text goes: the indentation of its block, the columns between it and the text, and the columns
/// left for the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    indent: usize,
    offset: usize,
    width: usize,
}

impl Shape {
    /// The whole line of a block, with `reserved` columns kept free at its end.
    pub(crate) fn line(indent: usize, reserved: usize) -> Self {
        let width = WIDTH_MAX.saturating_sub(indent + reserved);
        Self {
            indent,
            offset: 0,
            width,
        }
    }

    /// What is left behind `columns` of text.
    pub(crate) fn after(self, columns: usize) -> Option<Self> {
        let width = self.width.checked_sub(columns)?;
        Some(Self {
            offset: self.offset + columns,
            width,
            ..self
        })
    }

    fn narrower(self, columns: usize) -> Option<Self> {
        let width = self.width.checked_sub(columns)?;
        Some(Self { width, ..self })
    }

    /// The lines of a block inside.
    fn nested(self) -> Self {
        Self::line(self.indent + TAB, 0)
    }

    /// Columns at the line's end that the shape must not use.
    fn reserved(self) -> usize {
        WIDTH_MAX.saturating_sub(self.indent + self.offset + self.width)
    }

    /// Whether every line of the text is within the line's width.
    fn holds(self, text: &str) -> bool {
        let mut lines = text.split('\n');
        lines.next().is_some_and(|first| first.len() <= self.width)
            && lines.all(|line| line.len() <= WIDTH_MAX)
    }
}

pub(crate) fn line_break(indent: usize) -> String {
    format!("\n{}", " ".repeat(indent))
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or(text)
}

/// Whether an expression reads better on a line of its own than behind what it belongs to.
pub(crate) fn prefers_next_line(same: &str, next: &str) -> bool {
    let opens =
        |bracket| first_line(same).ends_with(bracket) && !first_line(next).ends_with(bracket);
    !next.contains('\n')
        || newlines(same) > newlines(next) + 1
        || opens('(')
        || opens('{')
        || opens('[')
}

/// A bracketed list behind a name.
struct Group<'a> {
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

impl<'a> Group<'a> {
    fn parentheses(name: &'a str, items: &'a [Expr]) -> Self {
        Self {
            name,
            open: '(',
            close: ')',
            items,
        }
    }

    fn brackets(items: &'a [Expr]) -> Self {
        Self {
            name: "",
            open: '[',
            close: ']',
            items,
        }
    }

    fn layout(&self, shape: Shape) -> Option<String> {
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

    /// The items' texts, and how they stand.
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
            // A chain may overflow by its last arguments, not by breaking before its links.
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

/// As many items a line as fit.
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

/// A chain of method calls.
struct Chain<'a> {
    root: &'a Expr,
    links: &'a [Link],
}

impl Link {
    fn layout(&self, shape: Shape) -> Option<String> {
        let name = format!(".{}", self.name);
        match &self.arguments {
            Some(arguments) => Group::parentheses(&name, arguments).layout(shape),
            None => (name.len() <= shape.width).then_some(name),
        }
    }
}

impl Chain<'_> {
    fn layout(&self, shape: Shape) -> Option<String> {
        let mut head = self.root.layout(shape)?;
        let mut links = self.links;
        // A head that is no longer than an indentation takes the next link to its line.
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
    if fits && lines >= 4 {
        return Some((behind, true));
    }
    Some(match last.layout(below) {
        Some(text) if !fits => (text, false),
        Some(text) if newlines(&text) >= lines => (behind, fits),
        Some(text) => (text, false),
        None => (behind, fits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expr: &Expr, indent: usize, expected: &str) {
        let text = expr.layout(Shape::line(indent, 0)).unwrap();
        assert_eq!(text, expected);
    }

    #[test]
    fn arguments_wider_than_sixty_columns_stand_below_one_another() {
        let value = || atom("::dflat::codegen::Step::Field(4)");
        let expr = atom("self").field("0").method("field", [value(), value()]);
        check(
            &expr,
            8,
            "self.0.field(\n            ::dflat::codegen::Step::Field(4),\n            \
             ::dflat::codegen::Step::Field(4),\n        )",
        );
    }

    #[test]
    fn chains_wider_than_sixty_columns_break_before_each_link() {
        let field = |chain: Expr| {
            chain.method(
                "field",
                [
                    atom("\"text\""),
                    atom("self").method("text", []).reference(),
                ],
            )
        };
        let chain = atom("f").method("debug_struct", [atom("\"TextContent\"")]);
        check(
            &field(chain).method("finish", []),
            8,
            "f.debug_struct(\"TextContent\")\n            .field(\"text\", &self.text())\n            \
             .finish()",
        );
    }

    #[test]
    fn a_call_as_the_only_argument_stays_behind_its_caller() {
        let steps = Expr::Array(vec![atom("::dflat::codegen::Step::Field(14)")]).reference();
        let path = call("::dflat::codegen::Path::new", [atom("\"content\""), steps]);
        check(
            &call("ContentFields::new", [path]),
            4,
            "ContentFields::new(::dflat::codegen::Path::new(\n        \"content\",\n        \
             &[::dflat::codegen::Step::Field(14)],\n    ))",
        );
    }
}

//! Lays out expressions as rustfmt does.
//!
//! It supports only the expressions of generated code: names, calls, method chains, references and
//! arrays. The rules are those of rustfmt's default style: a call breaks if its arguments are wider
//! than 60 columns, a chain if it is wider than 60, and a single argument may overflow. `None`
//! means that an expression does not fit; the printer then makes rustfmt skip the whole item.

mod bracketed_list;
mod chain;

use bracketed_list::BracketedList;
use chain::Chain;

/// The columns of a line.
pub(crate) const WIDTH_MAX: usize = 100;
/// The columns of the arguments of a call, of an array's elements, and of a chain.
const GROUP_MAX: usize = 60;
const TAB: usize = 4;
/// Elements up to this width share lines; wider elements have a line each.
const SHORT_ELEMENT_MAX: usize = 10;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    /// Text that is never broken.
    Atom(String),
    /// `callee(arguments)`.
    Call(String, Vec<Self>),
    /// `root.link(arguments).link`, from a root that is an atom or a call.
    Chain(Box<Self>, Vec<Link>),
    /// `&expression` or `!expression`.
    Prefixed(char, Box<Self>),
    /// `[elements]`.
    Array(Vec<Self>),
}

/// A method call or, without arguments, a field.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    name: String,
    arguments: Option<Vec<Expr>>,
}

/// A name, a literal, or other text that stays on one line.
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

    /// The negation of the expression.
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

    /// The lines of the expression, from the column at which `shape` begins.
    pub(crate) fn layout(&self, shape: Shape) -> Option<String> {
        match self {
            Self::Atom(text) => (text.len() <= shape.width).then(|| text.clone()),
            Self::Call(callee, arguments) => {
                BracketedList::parentheses(callee, arguments).layout(shape)
            }
            Self::Array(elements) => BracketedList::brackets(elements).layout(shape),
            Self::Prefixed(sign, inner) => {
                Some(format!("{sign}{}", inner.layout(shape.after(1)?)?))
            }
            Self::Chain(root, links) => Chain { root, links }.layout(shape),
        }
    }

    /// The expression on one line of any length.
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

    /// Whether a layout of this expression is a chain with a link on a line of its own.
    fn breaks_links(&self, text: &str) -> bool {
        let link = |line: &str| line.trim_start().starts_with('.');
        matches!(self, Self::Chain(..)) && text.lines().skip(1).any(link)
    }

    /// Whether the expression, as the only argument, may begin on the line of the call and end on a
    /// later one.
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

/// The space for a text: the indentation of its block, the columns between the indentation and the
/// text, and the columns left for the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    indent: usize,
    offset: usize,
    width: usize,
}

impl Shape {
    /// A whole line of a block, with `reserved` columns free at its end.
    pub(crate) fn line(indent: usize, reserved: usize) -> Self {
        let width = WIDTH_MAX.saturating_sub(indent + reserved);
        Self {
            indent,
            offset: 0,
            width,
        }
    }

    /// The space left after `columns` of text.
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

    /// The lines of an inner block.
    fn nested(self) -> Self {
        Self::line(self.indent + TAB, 0)
    }

    /// The columns at the end of the line that the shape must not use.
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

/// Whether rustfmt puts an expression on a line of its own, and not after the text before it.
pub(crate) fn prefers_next_line(same: &str, next: &str) -> bool {
    let opens =
        |bracket| first_line(same).ends_with(bracket) && !first_line(next).ends_with(bracket);
    !next.contains('\n')
        || newlines(same) > newlines(next) + 1
        || opens('(')
        || opens('{')
        || opens('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expr: &Expr, indent: usize, expected: &str) {
        let text = expr.layout(Shape::line(indent, 0)).unwrap();
        assert_eq!(text, expected);
    }

    #[test]
    fn arguments_wider_than_sixty_columns_are_written_one_a_line() {
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
    fn call_as_the_only_argument_stays_on_the_line_of_its_caller() {
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

//! Expressions laid out as rustfmt lays them out.
//!
//! Only what generated code consists of: names, calls, method chains, references and arrays. The
//! rules are those of rustfmt's default style: a call breaks when its arguments are wider than 60
//! columns, a chain when it is wider than 60, and the last argument may overflow if it is the only
//! one. `None` stands for "does not fit"; the printer then keeps rustfmt away from the whole item.

mod chain;
mod group;

use chain::Chain;
use group::Group;

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

/// Where text goes: the indentation of its block, the columns between it and the text, and the
/// columns left for the text.
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

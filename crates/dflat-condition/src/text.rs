//! The functions on text.

use dflat_model::{Expression, Order, Predicate, TableDescriptor};

use crate::error::{Checked, ConditionErrorKind, Problem};
use crate::resolve::Resolver;
use crate::syntax::{self, Node, Parser, Source, Span, Token};
use crate::{ConditionError, Parameters};

/// The limit on the length of a text, in bytes: 1 MiB.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// A condition that is parsed once and used with several types or parameters.
///
/// Parsing needs no descriptor and finds the errors of syntax. It can be shared between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    node: Node,
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// [`Syntax`](ConditionErrorKind::Syntax), and
    /// [`TooLarge`](ConditionErrorKind::TooLarge) for a text that exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let node = parsed(text, |parser| Ok(parser.condition()?))?;
        let text = text.to_owned();
        Ok(Self { text, node })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Resolves the names with the descriptor of a type, and puts in the values of placeholders.
    /// Values that the text does not use are ignored.
    ///
    /// # Errors
    /// Every [kind](ConditionErrorKind) but `Syntax` of the grammar: names that the type does not
    /// have, values of the wrong type or range, placeholders without a value.
    pub fn resolve(
        &self,
        table: &TableDescriptor,
        parameters: &Parameters,
    ) -> Result<Predicate, ConditionError> {
        let resolver = Resolver::new(&self.text, table, parameters);
        placed(&self.text, resolver.condition(&self.node))
    }
}

/// Converts a condition on the objects of a type to a predicate.
///
/// # Errors
/// See [`ConditionError`].
///
/// # Examples
/// ```
/// # use std::borrow::Cow;
/// # use dflat_model::{
/// #     Element, FieldLayout, Scalar, Shape, TableDescriptor, TableLayout, TypeDescriptor, Value,
/// # };
/// # let post = TableDescriptor {
/// #     name: Cow::Borrowed("post"),
/// #     type_name: Cow::Borrowed("Post"),
/// #     primary_key: Cow::Borrowed(&[]),
/// #     auto_key: None,
/// #     indexes: Cow::Borrowed(&[]),
/// #     types: Cow::Owned(vec![TypeDescriptor::Table(TableLayout {
/// #         name: Cow::Borrowed("Post"),
/// #         fields: Cow::Owned(vec![FieldLayout {
/// #             name: Cow::Borrowed("priority"),
/// #             voffset: 4,
/// #             shape: Shape::Single(Element::Scalar(Scalar::I32)),
/// #             default: Value::Int(0),
/// #             required: false,
/// #         }]),
/// #         end: 6,
/// #     })]),
/// # };
/// use dflat_condition::{Parameters, predicate};
///
/// // `post` is the descriptor of a type with the field `priority: int`.
/// let urgent = predicate("priority > ?1", &post, &Parameters::new().with(1, Value::Int(100)))?;
/// assert_eq!(urgent.to_string(), "priority > 100");
///
/// let wrong = predicate("prioritty > 1", &post, &Parameters::new()).unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "column 1: `Post` has no field `prioritty`; did you mean `priority`?",
/// );
/// # Ok::<(), dflat_condition::ConditionError>(())
/// ```
pub fn predicate(
    text: &str,
    table: &TableDescriptor,
    parameters: &Parameters,
) -> Result<Predicate, ConditionError> {
    let node = parsed(text, |parser| Ok(parser.condition()?))?;
    placed(
        text,
        Resolver::new(text, table, parameters).condition(&node),
    )
}

/// Converts the terms of an order, such as `priority desc, title`. A term is a field or a computed
/// value, `asc` or `desc`, and `nulls first` or `nulls last`; without words, it ascends with
/// missing values first. A text without terms gives no terms.
///
/// # Errors
/// See [`ConditionError`].
pub fn orders(
    text: &str,
    table: &TableDescriptor,
    parameters: &Parameters,
) -> Result<Vec<Order>, ConditionError> {
    let terms = parsed(text, |parser| Ok(parser.order()?))?;
    let resolver = Resolver::new(text, table, parameters);
    let orders = terms.iter().map(|term| resolver.order(term)).collect();
    placed(text, orders)
}

/// Converts a list of fields and computed values, such as `title, priority * 2`, for a selection.
/// A text without fields gives none.
///
/// # Errors
/// See [`ConditionError`].
pub fn fields(
    text: &str,
    table: &TableDescriptor,
    parameters: &Parameters,
) -> Result<Vec<Expression>, ConditionError> {
    let nodes = parsed(text, |parser| Ok(parser.values()?))?;
    let resolver = Resolver::new(text, table, parameters);
    let fields = nodes.iter().map(|node| resolver.expression(node)).collect();
    placed(text, fields)
}

fn parsed<T>(
    text: &str,
    parse: impl FnOnce(Parser<'_>) -> Checked<T>,
) -> Result<T, ConditionError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text is longer than {TEXT_BYTES_MAX} bytes");
        let span = Span { start: 0, end: 0 };
        let problem = Problem::new(ConditionErrorKind::TooLarge, span, message);
        return Err(ConditionError::new(text, *problem));
    }
    let end = Span {
        start: text.len(),
        end: text.len(),
    };
    let tokens: Checked<Vec<Token>> = syntax::tokens(text).map_err(Into::into);
    let parsed = tokens.and_then(|tokens| parse(Parser::new(&tokens, end, Source::Text)));
    placed(text, parsed)
}

fn placed<T>(text: &str, found: Checked<T>) -> Result<T, ConditionError> {
    found.map_err(|problem| ConditionError::new(text, *problem))
}

//! The binary operators and their precedence.

use dflat_model::{Arithmetic, Comparison};

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Compare(Comparison),
    In,
    Arithmetic(Arithmetic),
}

/// The precedence of sums, the loosest operators that join values.
pub(super) const SUM: u8 = 4;
/// The precedence of `||`, the loosest operator.
pub(super) const LOOSEST: u8 = 1;

impl Operator {
    /// How tightly the operator binds, from 1.
    pub(super) const fn precedence(self) -> u8 {
        match self {
            Self::Or => LOOSEST,
            Self::And => 2,
            Self::Compare(_) | Self::In => 3,
            Self::Arithmetic(Arithmetic::Add | Arithmetic::Subtract) => SUM,
            Self::Arithmetic(_) => 5,
        }
    }

    pub(super) const fn is_comparison(self) -> bool {
        matches!(self, Self::Compare(_) | Self::In)
    }
}

/// The operators of punctuation. Longer ones come first.
pub(super) const OPERATORS: [(&str, Operator); 13] = [
    ("||", Operator::Or),
    ("&&", Operator::And),
    ("==", Operator::Compare(Comparison::Equal)),
    ("!=", Operator::Compare(Comparison::NotEqual)),
    ("<=", Operator::Compare(Comparison::LessOrEqual)),
    (">=", Operator::Compare(Comparison::GreaterOrEqual)),
    ("<", Operator::Compare(Comparison::Less)),
    (">", Operator::Compare(Comparison::Greater)),
    ("+", Operator::Arithmetic(Arithmetic::Add)),
    ("-", Operator::Arithmetic(Arithmetic::Subtract)),
    ("*", Operator::Arithmetic(Arithmetic::Multiply)),
    ("/", Operator::Arithmetic(Arithmetic::Divide)),
    ("%", Operator::Arithmetic(Arithmetic::Remainder)),
];

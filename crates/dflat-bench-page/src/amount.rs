//! Figures as text.

use serde::Deserialize;

/// The unit of a figure; less is better in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// A number.
    Number,
}

/// A figure with its unit, in three digits.
#[must_use]
pub fn amount(value: f64, unit: Unit) -> String {
    let (value, unit) = match unit {
        Unit::Ns if value < 1e3 => (value, " ns"),
        Unit::Ns if value < 1e6 => (value / 1e3, " us"),
        Unit::Ns if value < 1e9 => (value / 1e6, " ms"),
        Unit::Ns => (value / 1e9, " s"),
        Unit::Bytes if value < 1024.0 => (value, " B"),
        Unit::Bytes => (value / 1024.0, " KiB"),
        Unit::Number => (value, ""),
    };
    format!("{}{unit}", digits(value))
}

/// A number in three digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

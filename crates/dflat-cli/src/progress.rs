//! Progress on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// A bar with a rate and the time left, for a number of objects. They are counted only if the bar
/// is shown.
pub(crate) fn of_objects(
    count: impl FnOnce() -> Result<u64, Failure>,
) -> Result<ProgressBar, Failure> {
    let bar = ProgressBar::new(0);
    if !bar.is_hidden() {
        bar.set_length(count()?);
    }
    Ok(styled(
        bar,
        "{bar:30} {human_pos} of {human_len}, {per_sec}, {eta} left {msg}",
    ))
}

/// The same for a number of bytes; without a number, a count of bytes.
pub(crate) fn of_bytes(count: Option<u64>) -> ProgressBar {
    match count {
        Some(count) => styled(
            ProgressBar::new(count),
            "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => styled(ProgressBar::no_length(), "{bytes}, {bytes_per_sec}"),
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    // A template that cannot be read shows the bar in its own style.
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

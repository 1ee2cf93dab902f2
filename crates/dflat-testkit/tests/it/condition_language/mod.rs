//! Conditions as text: the same as those of the macro `query!`, errors at their place, and the
//! examples of the page.

mod errors;
mod limits;
mod page;
mod parameters;
mod same_as_macro;

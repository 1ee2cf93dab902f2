//! The laws that every backend keeps.

#![allow(missing_docs, reason = "the name of a law is its sentence")]

/// Declares the modules of a room of laws, and a macro that makes a test of each law.
macro_rules! laws {
    (($d:tt) $tests:ident of $room:ident; $($module:ident { $($law:ident)* })*) => {
        $(pub mod $module;)*

        #[doc(hidden)]
        #[macro_export]
        macro_rules! $tests {
            ($d open:path) => {
                $(mod $module {
                    $(#[test]
                    fn $law() {
                        $crate::fixture::check(
                            $crate::conformance::$room::$module::$law,
                            $d open,
                        );
                    })*
                })*
            };
        }
    };
}

pub mod dictionaries;
pub mod indexes;
pub mod observing;
pub mod reading;
mod samples;
pub mod workspaces;
pub mod writing;

/// Makes a test of each law: `conformance!(memory, Fixture::memory);`.
#[macro_export]
macro_rules! conformance {
    ($backend:ident, $open:path) => {
        mod $backend {
            $crate::reading_laws!($open);
            $crate::writing_laws!($open);
            $crate::observing_laws!($open);
            $crate::indexes_laws!($open);
            $crate::dictionaries_laws!($open);
            $crate::workspaces_laws!($open);
        }
    };
}

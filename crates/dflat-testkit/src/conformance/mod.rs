//! The laws that every backend keeps.

#![allow(missing_docs, reason = "the name of a law is its sentence")]

/// Declares the modules of a room of laws, and a macro that makes a test of each law. Some laws are
/// marked as `not_on_packs`.
macro_rules! laws {
    (
        ($d:tt) $tests:ident of $room:ident;
        $($module:ident { $($(#[$mark:ident])? $law:ident)* })*
    ) => {
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
            ($d open:path, on packs) => {
                $(mod $module {
                    $($crate::law_on_packs! {
                        $([$mark])? $law, $crate::conformance::$room::$module::$law, $d open
                    })*
                })*
            };
        }
    };
}

/// Makes a test of a law, unless the law is marked.
#[doc(hidden)]
#[macro_export]
macro_rules! law_on_packs {
    ([not_on_packs] $law:ident, $check:path, $open:path) => {};
    ($law:ident, $check:path, $open:path) => {
        #[test]
        fn $law() {
            $crate::fixture::check($check, $open);
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

//! The types of the recipes in `docs/cookbook.md`. The tests of this package are the recipes.

dflat::include_schema!("cookbook");

/// The first version of a contact.
pub mod v1 {
    dflat::include_schema!("contact");
}

/// The second version of a contact, with another key.
pub mod v2 {
    dflat::include_schema!("contact_v2");
}

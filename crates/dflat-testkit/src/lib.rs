//! The test kit of Dflat.
//!
//! - [`conformance!`] makes a test of each law, for a backend. The laws are named once, so that no
//!   backend can miss one.
//! - [`model`] is the oracle: a vector of plain structs, which knows nothing of plans, payloads or
//!   SQL.
//! - [`history`] records concurrent transactions and checks that some order explains them.
//! - [`workload`] makes random operations on a workspace and on the model, and compares the two.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a step that fails is a test that fails"
)]

pub mod archive;
pub mod conformance;
pub mod fault;
pub mod fixture;
pub mod follower;
pub mod fuzz;
pub mod history;
pub mod lower;
pub mod model;
pub mod packed;
pub mod random;
pub mod seeds;
pub mod watcher;
pub mod wire;
pub mod workload;

/// The versions of the type of `schemas/evolution`, one table for all.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod note {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/note_v1.rs"));
    }
    pub mod v2 {
        include!(concat!(env!("OUT_DIR"), "/note_v2.rs"));
    }
    pub mod v3 {
        include!(concat!(env!("OUT_DIR"), "/note_v3.rs"));
    }
}

/// A type before and after some of its values became required.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod letter {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/letter_v1.rs"));
    }
    pub mod v2 {
        include!(concat!(env!("OUT_DIR"), "/letter_v2.rs"));
    }
}

/// A type with required unions, before and after the union got another member.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod parcel {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/parcel_v1.rs"));
    }
    pub mod v2 {
        include!(concat!(env!("OUT_DIR"), "/parcel_v2.rs"));
    }
}

/// A table that holds a value with indexes, with and without these indexes.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod trash {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/trash_v1.rs"));
    }
    pub mod v2 {
        include!(concat!(env!("OUT_DIR"), "/trash_v2.rs"));
    }
}

/// Versions of a type with one table: without indexes, with indexes, and with changed indexes and
/// defaults.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod shelf {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/shelf_v1.rs"));
    }
    pub mod v2 {
        include!(concat!(env!("OUT_DIR"), "/shelf_v2.rs"));
    }
    pub mod v3 {
        include!(concat!(env!("OUT_DIR"), "/shelf_v3.rs"));
    }
    pub mod v4 {
        include!(concat!(env!("OUT_DIR"), "/shelf_v4.rs"));
    }
    pub mod v5 {
        include!(concat!(env!("OUT_DIR"), "/shelf_v5.rs"));
    }
    pub mod v6 {
        include!(concat!(env!("OUT_DIR"), "/shelf_v6.rs"));
    }
}

/// The tables of `schemas/diary.fbs`, with keys that the library assigns.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod diary {
    include!(concat!(env!("OUT_DIR"), "/diary.rs"));
}

/// The table of `schemas/line.fbs`, with keys that the library assigns and no unique values.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod line {
    include!(concat!(env!("OUT_DIR"), "/line.rs"));
}

/// The types of `schemas/post.fbs`, with which the guides explain queries.
#[allow(missing_docs, clippy::use_self, reason = "generated")]
pub mod post {
    include!(concat!(env!("OUT_DIR"), "/post.rs"));
}

/// The types of `schemas/conformance`.
#[allow(clippy::use_self, reason = "generated")]
pub mod schema {
    include!(concat!(env!("OUT_DIR"), "/conformance.rs"));
}

//! The lints that generated code allows, each where a schema alone decides: names and sizes that
//! the generator must keep.

use super::Scope;
use super::names::Member;
use super::text::{Lint, Text};
use crate::plan::{FieldPlan, StructFieldPlan, Value};
use dflat_model::Scalar;

/// The number of boolean fields above which clippy asks for an enum.
const BOOLS_MAX: usize = 3;

/// The number of fields, or of variants, from which on clippy compares their names.
const ALIKE_MIN: usize = 3;

impl Scope<'_> {
    /// Prints an attribute that allows these lints, and those for unused items.
    ///
    /// In a program, unlike in a library, rustc reports public items that are not used, and
    /// included text cannot begin with an attribute for its module. Inside the module of a
    /// namespace, the module's attribute is enough.
    pub(super) fn allow(self, lints: &[Lint], text: &mut Text) {
        if self.module.is_empty() {
            text.line(UNUSED);
        }
        if self.base().ends_with('_') {
            // A type called `Self` keeps its underscore before suffixes such as `Ref`.
            Lint::name("non_camel_case_types").print(text);
        }
        for lint in lints {
            lint.print(text);
        }
    }

    /// The lints to allow for accessors with the names of the type's members.
    pub(super) fn accessor_lints(self) -> Vec<Lint> {
        let mut lints = Vec::new();
        let named = |test: &dyn Fn(&str) -> bool| self.members().iter().any(|m| test(&m.method));
        let prefixes = ["as_", "from_", "into_", "is_", "to_"];
        if named(&|name| prefixes.iter().any(|prefix| name.starts_with(prefix))) {
            lints.push(Lint::name("clippy::wrong_self_convention"));
        }
        if named(&|name| name == "len") {
            lints.push(Lint::name("clippy::len_without_is_empty"));
        }
        lints.extend(self.underscore_lint("clippy::used_underscore_items"));
        lints
    }

    /// The lint, if a member's name begins with an underscore.
    pub(super) fn underscore_lint(self, lint: &'static str) -> Option<Lint> {
        let mut names = self.members().iter().map(|member| &member.plain);
        names
            .any(|name| name.starts_with('_'))
            .then_some(Lint::name(lint))
    }

    /// The lints to allow for a struct with these names, some of which are booleans.
    pub(super) fn field_lints(self, bools: usize) -> Vec<Lint> {
        let mut lints = Vec::new();
        if bools > BOOLS_MAX {
            lints.push(Lint {
                lint: "clippy::struct_excessive_bools",
                reason: "fields of the schema",
            });
        }
        if are_alike(self.base(), self.members()) {
            lints.push(Lint::name("clippy::struct_field_names"));
        }
        lints.extend(self.underscore_lint("clippy::pub_underscore_fields"));
        lints
    }
}

/// The attribute for items that a program does not use.
pub(super) const UNUSED: &str = "#[allow(dead_code, unreachable_pub)]";

/// The number of a table's boolean fields.
pub(super) fn table_bools(fields: &[(&Member, &FieldPlan<'_>)]) -> usize {
    let bools = fields.iter().filter(|(_, field)| {
        let scalar = Scalar::Bool;
        matches!(field.value, Value::Scalar { scalar: found, optional: false } if found == scalar)
    });
    bools.count()
}

/// The number of a struct's boolean fields.
pub(super) fn struct_bools(fields: &[(&Member, &StructFieldPlan<'_>)]) -> usize {
    let bools = fields.iter().filter(|(_, field)| {
        let is_bool = matches!(field.item, crate::plan::Item::Scalar(Scalar::Bool));
        is_bool && field.source.array.is_none()
    });
    bools.count()
}

/// The lint to allow for local variables with these names.
pub(super) fn local_lint(names: &[String]) -> Option<Lint> {
    let mut pairs = names.iter().enumerate();
    let similar = pairs.any(|(position, name)| {
        let mut others = names[..position].iter();
        others.any(|other| differ_by_one(name, other))
    });
    similar.then_some(Lint::name("clippy::similar_names"))
}

/// Whether two names differ by one character at most.
fn differ_by_one(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let rest = |name: &[char], skipped: usize| name.get(same + skipped..).map(<[char]>::to_vec);
    let (replaced, without_one, without_other) = (
        rest(&one, 1) == rest(&other, 1),
        rest(&one, 1) == rest(&other, 0),
        rest(&one, 0) == rest(&other, 1),
    );
    replaced || without_one || without_other
}

/// Whether clippy finds the names of fields too much alike: all begin or end with the same word, or
/// one repeats the name of the type.
fn are_alike(ty: &str, members: &[Member]) -> bool {
    let names: Vec<&str> = members.iter().map(|member| member.plain.as_str()).collect();
    let Some((first, others)) = names.split_first() else {
        return false;
    };
    if names.len() < ALIKE_MIN {
        return false;
    }
    let word = |name: &str, last: bool| {
        let mut words = name.split('_').filter(|word| !word.is_empty());
        let word = if last {
            words.next_back()
        } else {
            words.next()
        };
        word.unwrap_or_default().to_owned()
    };
    let same = |last| {
        others
            .iter()
            .all(|name| word(name, last) == word(first, last))
    };
    let flat = |name: &str| name.replace('_', "").to_lowercase();
    let ty = flat(ty);
    let repeats = |name: &&str| flat(name).starts_with(&ty) || flat(name).ends_with(&ty);
    same(false) || same(true) || names.iter().any(repeats)
}

/// The lint to allow if all variants begin or end alike, or like the type.
pub(super) fn variant_lints(name: &str, variants: &[&str]) -> Vec<Lint> {
    let like_type = variants
        .iter()
        .any(|variant| variant.starts_with(name) || variant.ends_with(name));
    let Some((first, others)) = variants.split_first() else {
        return Vec::new();
    };
    let upper = |(_, c): &(usize, char)| c.is_ascii_uppercase();
    let ends = first
        .char_indices()
        .skip(1)
        .filter(upper)
        .map(|(position, _)| position);
    let ends = ends.chain([first.len()]);
    let starts = first
        .char_indices()
        .filter(upper)
        .map(|(position, _)| position);
    let begin_alike = ends
        .into_iter()
        .any(|end| others.iter().all(|v| v.starts_with(&first[..end])));
    let end_alike = starts
        .into_iter()
        .any(|start| others.iter().all(|v| v.ends_with(&first[start..])));
    if variants.len() >= ALIKE_MIN && (like_type || begin_alike || end_alike) {
        vec![Lint::name("clippy::enum_variant_names")]
    } else {
        Vec::new()
    }
}

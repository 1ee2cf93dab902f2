//! Types and namespaces that others hide.
//!
//! In the namespace `A` of a schema with the namespace `A.A`, Swift reads `A.Kind` as `A.A.Kind`.
//! A field `select` hides a namespace `select` as well. Code of such a schema names the types by
//! aliases outside of all namespaces.

use std::collections::HashSet;

use dflat_schema::Definition;

use super::super::text::Text;
use super::{internal, members, path, type_name};
use crate::plan::Plan;

/// The names that mean something else inside a namespace than outside.
pub(in super::super) struct Hiding {
    names: HashSet<String>,
    /// The name of the schema file, which makes the names of aliases unique.
    stem: String,
}

impl Hiding {
    pub(in super::super) fn new(plan: &Plan<'_>, source: &str) -> Self {
        let mut names = HashSet::new();
        for (_, ty) in plan.iter() {
            names.extend(members(&ty.kind));
            let mut inside = ty.definition.namespace.iter();
            if inside.next().is_some() {
                names.extend(inside.cloned());
                names.insert(type_name(&ty.definition.name));
            }
        }
        let stem = source.strip_suffix(".fbs").unwrap_or(source);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        Self {
            names,
            stem: stem.chars().map(plain).collect(),
        }
    }

    /// Whether the path of a type means something else in a namespace.
    pub(in super::super) fn hides(&self, definition: &Definition) -> bool {
        let first = match definition.namespace.first() {
            Some(first) => first.clone(),
            None => type_name(&definition.name),
        };
        self.names.contains(&first)
    }

    /// The name of a type outside of all namespaces.
    pub(in super::super) fn alias(&self, definition: &Definition) -> String {
        let name = internal(definition);
        let path = name.trim_start_matches("zzz_DflatGen_");
        format!("zzz_DflatGen_Alias_{}_{path}", self.stem)
    }

    /// Prints the aliases.
    pub(in super::super) fn aliases(&self, plan: &Plan<'_>, text: &mut Text) {
        for (_, ty) in plan.iter().filter(|(_, ty)| self.hides(ty.definition)) {
            text.blank();
            let alias = self.alias(ty.definition);
            text.line(format!(
                "public typealias {alias} = {}",
                path(ty.definition)
            ));
        }
    }
}

//! The protocols that the command line adds, and the code that they need.

use super::text::Text;
use super::{Scope, names};
use crate::plan::Kind;

const DESCRIPTION: &str = "CustomStringConvertible";

impl Scope<'_> {
    /// The conformances that the command line adds, each after a comma.
    pub(super) fn added(self) -> String {
        let added = self.options.conform.iter();
        let added = added.filter(|name| *name != DESCRIPTION || self.has_description());
        added.map(|name| format!(", {name}")).collect()
    }

    fn conforms(self, name: &str) -> bool {
        self.options.conform.iter().any(|added| added == name)
    }

    /// Whether the type gets a description: a field with this name takes its place.
    fn has_description(self) -> bool {
        let fields: Vec<&str> = match &self.ty().kind {
            Kind::Struct(plan) => plan.fields.iter().map(|f| &*f.source.name).collect(),
            Kind::Table(plan) => plan.fields.iter().map(|f| &*f.source.name).collect(),
            Kind::Enum(_) | Kind::Union(_) => Vec::new(),
        };
        let taken = fields
            .iter()
            .any(|name| names::field(name) == "description");
        self.conforms(DESCRIPTION) && !taken
    }

    /// Prints the hash of a class. Swift makes that of other types.
    pub(super) fn hashing(self, fields: &[String], text: &mut Text) {
        if !self.conforms("Hashable") {
            return;
        }
        text.item("public func hash(into hasher: inout Hasher)", |text| {
            for name in fields {
                text.line(format!("hasher.combine(self.{name})"));
            }
        });
    }

    /// Prints the description of a type with fields.
    pub(super) fn fields_description(self, fields: &[String], text: &mut Text) {
        if !self.has_description() {
            return;
        }
        let plain = names::type_name(&self.ty().definition.name);
        text.item("public var description: String", |text| {
            text.line("let fields: [(String, Any)] = [");
            text.indented(|text| {
                for name in fields {
                    let label = name.trim_matches('`');
                    text.line(format!("(\"{label}\", self.{name} as Any),"));
                }
            });
            text.line("]");
            text.line("let texts = fields.map { \"\\($0.0): \\($0.1)\" }");
            text.line(format!(
                "return \"{plain}(\" + texts.joined(separator: \", \") + \")\""
            ));
        });
    }

    /// Prints the description of an enum.
    pub(super) fn cases_description(self, cases: &[String], text: &mut Text) {
        if !self.has_description() {
            return;
        }
        text.item("public var description: String", |text| {
            text.block("switch self", |text| {
                cases.iter().for_each(|case| text.line(case));
            });
        });
    }
}

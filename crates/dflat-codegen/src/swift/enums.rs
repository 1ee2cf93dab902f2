//! Enums and sets of flags.

use dflat_schema::Enum;

use super::text::Text;
use super::values::scalar_type;
use super::{Scope, names};

impl Scope<'_> {
    pub(super) fn enumeration(self, found: &Enum, text: &mut Text) {
        let (name, base, added) = (self.name(), scalar_type(found.base), self.added());
        text.docs(&self.ty().definition.docs);
        if found.bit_flags {
            return self.flags(found, text);
        }
        let head = format!("public enum {name}: {base}, DflatFriendlyValue, CaseIterable{added}");
        text.block(head, |text| {
            for value in &found.values {
                text.docs(&value.docs);
                let case = names::escaped(&names::case(&value.name));
                text.line(format!("case {case} = {}", value.value));
            }
            text.item(
                format!("public static func < (lhs: {name}, rhs: {name}) -> Bool"),
                |text| text.line("lhs.rawValue < rhs.rawValue"),
            );
            let cases = found.values.iter().map(|value| {
                let case = names::escaped(&names::case(&value.name));
                format!("case .{case}: return \"{}\"", case.trim_matches('`'))
            });
            self.cases_description(&cases.collect::<Vec<_>>(), text);
        });
    }

    fn flags(self, found: &Enum, text: &mut Text) {
        let (name, base, added) = (self.name(), scalar_type(found.base), self.added());
        let head = format!("public struct {name}: OptionSet, DflatFriendlyValue{added}");
        text.block(head, |text| {
            text.line(format!("public let rawValue: {base}"));
            text.item(format!("public init(rawValue: {base})"), |text| {
                text.line("self.rawValue = rawValue");
            });
            for value in &found.values {
                text.docs(&value.docs);
                let case = names::escaped(&names::case(&value.name));
                let number = value.value;
                text.line(format!(
                    "public static var {case}: {name} {{ {name}(rawValue: {number}) }}"
                ));
            }
            text.item(
                format!("public static func < (lhs: {name}, rhs: {name}) -> Bool"),
                |text| text.line("lhs.rawValue < rhs.rawValue"),
            );
            self.fields_description(&["rawValue".to_owned()], text);
        });
    }

    pub(super) fn enum_binding(self, text: &mut Text) {
        text.item(format!("extension {}: SQLiteValue", self.path()), |text| {
            let head = "public func bindSQLite(_ query: OpaquePointer, parameterId: Int32)";
            text.block(head, |text| {
                text.line("rawValue.bindSQLite(query, parameterId: parameterId)");
            });
        });
    }
}

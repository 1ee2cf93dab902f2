//! Stored types as final classes, with their builders.

use super::names::qualified::marked;
use super::payloads::arguments_in;
use super::text::Text;
use super::{Scope, names};
use crate::plan::{FieldPlan, TablePlan};
use dflat_model::TableDescriptor;

impl Scope<'_> {
    /// The type's name with a suffix, such as `PostBuilder`.
    pub(super) fn companion(self, suffix: &str) -> String {
        let name = names::type_name(&self.ty().definition.name);
        marked(&format!("{name}{suffix}"))
    }

    pub(super) fn object(self, plan: &TablePlan<'_>, stored: &TableDescriptor, text: &mut Text) {
        let name = self.name();
        let (builder, added) = (
            self.companion("Builder"),
            self.added().replace(", Sendable", ""),
        );
        text.docs(&self.ty().definition.docs);
        let head = format!(
            "public final class {name}: Dflat.Atom, SQLiteDflat.SQLiteAtom, FlatBuffersDecodable, \
             Equatable, @unchecked Sendable{added}"
        );
        text.block(head, |text| {
            text.item(
                format!("public static func == (lhs: {name}, rhs: {name}) -> Bool"),
                |text| {
                    text.line("if lhs === rhs { return true }");
                    for field in &plan.fields {
                        let name = self.field_name(field);
                        text.line(format!(
                            "guard lhs.{name} == rhs.{name} else {{ return false }}"
                        ));
                    }
                    text.line("return true");
                },
            );
            text.blank();
            // A check of exclusive access takes 77 instructions. These numbers have no parts that
            // an access at the same time could find half written.
            text.line("@exclusivity(unchecked) public var _rowid: Int64 = -1");
            text.line("@exclusivity(unchecked) public var _changesTimestamp: Int64 = -1");
            text.line("public let _stored: _StoredPart");
            text.line(format!("private let _values: _ValueBox<{builder}>?"));
            for field in &plan.fields {
                self.property(field, text);
            }
            self.initialisers(plan, &builder, text);
            self.decoding(text);
            self.storage(stored, text);
            let names: Vec<String> = plan.fields.iter().map(|f| self.field_name(f)).collect();
            self.hashing(&names, text);
            self.fields_description(&names, text);
        });
        self.builder(plan, &builder, text);
    }

    fn property(self, field: &FieldPlan<'_>, text: &mut Text) {
        let (name, ty) = (self.field_name(field), self.field_type(field));
        text.blank();
        text.docs(&field.source.docs);
        text.block(format!("public var {name}: {ty}"), |text| {
            let read = self.read(field, "place");
            text.line(format!(
                "if let values = _values {{ return values.value.{name} }}"
            ));
            text.line("let place = _place");
            text.line(format!("return {read}"));
        });
    }

    /// The fields in the order of the memberwise initialiser: primary keys first.
    fn ordered<'f, 's>(self, plan: &'f TablePlan<'s>) -> Vec<&'f FieldPlan<'s>> {
        let (keys, others): (Vec<_>, Vec<_>) = plan
            .fields
            .iter()
            .partition(|field| field.source.storage.primary);
        keys.into_iter().chain(others).collect()
    }

    fn initialisers(self, plan: &TablePlan<'_>, builder: &str, text: &mut Text) {
        let parameters = self.ordered(plan).into_iter().map(|field| {
            let (name, ty) = (self.field_name(field), self.field_type(field));
            match (field.source.storage.primary, self.is_optional(field)) {
                (true, _) => format!("{name}: {ty}"),
                (false, true) => format!("{name}: {ty} = nil"),
                (false, false) => format!("{name}: {ty}? = {}", self.default(field)),
            }
        });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        text.item(format!("public init({parameters})"), |text| {
            text.line("_stored = _StoredPart()");
            let arguments = plan.fields.iter().map(|field| {
                let name = self.field_name(field);
                let label = names::label(&name);
                match field.source.storage.primary || self.is_optional(field) {
                    true => format!("{label}: {name}"),
                    false => format!("{label}: {name} ?? {}", self.default(field)),
                }
            });
            let arguments: Vec<String> = arguments.collect();
            text.line("_values = _ValueBox(");
            text.indented(|text| {
                arguments_in(builder, &arguments, text);
                text.line(")");
            });
        });
        text.item(format!("fileprivate init(_ values: {builder})"), |text| {
            text.line("_stored = _StoredPart()");
            text.line("_values = _ValueBox(values)");
        });
        text.item("public init(_ place: _PayloadReader)", |text| {
            text.line("_stored = _StoredPart(place.verified(by: Self._verify))");
            text.line("_values = nil");
        });
        text.item(
            "private init(_ stored: _StoredView, _ timestamp: Int64)",
            |text| {
                text.line("_stored = _StoredPart(stored)");
                text.line("_values = nil");
                text.line("_rowid = _stored.rowid");
                text.line("_changesTimestamp = timestamp");
            },
        );
        text.item("deinit", |text| text.line("_stored.release()"));
        text.item("private var _place: _PayloadReader", |text| {
            text.line("_stored.place(of: self)");
        });
        text.item("public var _payload: _Payload?", |text| {
            text.line("_place.whole");
        });
        text.item(
            "public static func _make(_ stored: _StoredView, _ timestamp: Int64) -> Dflat.Atom",
            |text| text.line("Self(stored, timestamp)"),
        );
        text.item(format!("var _builder: {builder}"), |text| {
            text.line(format!("_values?.value ?? {builder}(from: self)"));
        });
        text.item("public static func from(data: Data) -> Self", |text| {
            text.line("Self(_PayloadReader(table: ByteBuffer(data: data)))");
        });
    }

    fn storage(self, stored: &TableDescriptor, text: &mut Text) {
        text.item("public static var table: String", |text| {
            text.line(format!("{:?}", stored.name));
        });
        let fields = stored.indexes.iter().flat_map(|index| index.fields.iter());
        let mut keys: Vec<String> = fields.map(dflat_model::Field::storage_key).collect();
        keys.sort_unstable();
        keys.dedup();
        text.item("public static var indexFields: [String]", |text| {
            text.line(format!("{keys:?}"));
        });
        let internal = names::internal(self.ty().definition);
        text.item("public static var _table: _StoredTable", |text| {
            text.line(format!("{internal}.table"));
        });
        let keys = stored
            .primary_key
            .iter()
            .map(|key| names::escaped(&names::field(&key.name)));
        let keys = keys.collect::<Vec<_>>().join(", ");
        text.item("public var _primaryKey: [SQLiteBinding]", |text| {
            text.line(format!("[{keys}]"));
        });
    }

    fn builder(self, plan: &TablePlan<'_>, builder: &str, text: &mut Text) {
        let name = self.name();
        let docs = format!("/// The values of a `{name}`, to make another object of them.");
        text.blank();
        text.line(docs);
        text.block(format!("public struct {builder}"), |text| {
            for field in &plan.fields {
                let (name, ty) = (self.field_name(field), self.field_type(field));
                text.line(format!("public var {name}: {ty}"));
            }
            text.item(format!("public func build() -> {name}"), |text| {
                text.line(format!("{name}(self)"));
            });
            text.item(format!("public init(from object: {name})"), |text| {
                for field in &plan.fields {
                    let name = self.field_name(field);
                    text.line(format!("self.{name} = object.{name}"));
                }
            });
            let parameters = plan
                .fields
                .iter()
                .map(|field| format!("{}: {}", self.field_name(field), self.field_type(field)));
            let parameters = parameters.collect::<Vec<_>>().join(", ");
            text.item(format!("init({parameters})"), |text| {
                for field in &plan.fields {
                    let name = self.field_name(field);
                    text.line(format!("self.{name} = {name}"));
                }
            });
            self.builder_writing(plan, text);
        });
    }
}

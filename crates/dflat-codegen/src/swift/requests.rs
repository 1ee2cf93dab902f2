//! Change requests of stored types.

use super::text::Text;
use super::{Scope, names};
use crate::plan::{FieldPlan, TablePlan, Value};

impl Scope<'_> {
    pub(super) fn change_request(self, plan: &TablePlan<'_>, text: &mut Text) {
        let (name, request) = (self.name(), self.companion("ChangeRequest"));
        text.line(format!("/// A change of one `{name}`."));
        text.block(
            format!("public final class {request}: Dflat.ChangeRequest"),
            |text| {
                text.line(format!("public typealias Element = {name}"));
                text.blank();
                text.line(format!("private let _base: {name}?"));
                text.line(format!("private let _object: {name}?"));
                text.line("private var _isUpsert = false");
                // As those of an object, these values need no check of exclusive access.
                text.line("@exclusivity(unchecked) public var _type: ChangeRequestType");
                text.line("@exclusivity(unchecked) public var _rowid: Int64");
                for field in &plan.fields {
                    self.request_field(field, text);
                }
                request_initialisers(&name, text);
                factories(&name, &request, text);
                self.commit(plan, text);
            },
        );
    }

    /// A value of the request: the one that was set, or else that of the object. The object is read
    /// when the value is needed, and never for a deletion.
    fn request_field(self, field: &FieldPlan<'_>, text: &mut Text) {
        let (name, ty) = (self.field_name(field), self.field_type(field));
        let read = match self.is_optional(field) {
            true => format!("_object?.{name}"),
            false => format!("_object?.{name} ?? {}", self.default(field)),
        };
        let set = set_value(field);
        text.line(format!("private var {set}: {ty}?"));
        text.block(format!("public var {name}: {ty}"), |text| {
            text.line(format!(
                "get {{ if let value = {set} {{ return value }} else {{ return {read} }} }}"
            ));
            text.line(format!("set {{ {set} = newValue }}"));
        });
    }

    fn commit(self, plan: &TablePlan<'_>, text: &mut Text) {
        let name = self.name();
        let head = "public func commit(_ toolbox: PersistenceToolbox) -> UpdatedObject?";
        text.item(head, |text| {
            text.line("let __type = _type");
            text.line("_type = .none");
            text.line("let __result = SQLitePersistenceToolbox._commit(");
            text.indented(|text| {
                text.line(format!(
                    "toolbox, __type, of: {name}.self, base: _base?._stored ?? _StoredPart(),"
                ));
                text.line("isUpsert: _isUpsert, patch: { self._patch(&$0) },");
                text.line("write: { self._write(to: &$0) })");
            });
            text.line("if __type == .creation, case .inserted(let __object)? = __result {");
            text.line("  _rowid = __object._rowid");
            text.line("}");
            text.line("return __result");
        });
        self.patching(plan, text);
        self.writing(plan, text);
    }

    /// The function that writes the numbers which were set into a copy of the object's payload,
    /// and returns whether nothing else was set. Most updates set numbers only: they read and
    /// write no other value.
    fn patching(self, plan: &TablePlan<'_>, text: &mut Text) {
        let head = "private func _patch(_ payload: inout _PayloadPatch) -> Bool";
        text.item(head, |text| {
            let (numbers, others): (Vec<_>, Vec<_>) =
                plan.fields.iter().partition(|field| is_number(field));
            let unset = others
                .iter()
                .map(|field| format!("{} == nil", set_value(field)));
            let conditions = ["_base === _object".to_owned()].into_iter().chain(unset);
            guard(conditions, "return false", text);
            let writes = numbers.iter().map(|field| self.patch(field));
            guard(writes, "return false", text);
            text.line("return true");
        });
    }

    /// The code that writes a number.
    fn patch(self, field: &FieldPlan<'_>) -> String {
        let (set, at) = (set_value(field), field.source.voffset);
        let is_enum = matches!(field.value, Value::Enum { .. });
        match (self.is_optional(field), is_enum) {
            (true, false) => format!("payload.set(optional: {set}, at: {at})"),
            (true, true) => {
                format!("payload.set(optional: {set}.map {{ $0?.rawValue }}, at: {at})")
            }
            (false, _) => {
                let raw = if is_enum { "?.rawValue" } else { "" };
                let absent = self.stored_default(field);
                format!("payload.set({set}{raw}, def: {absent}, at: {at})")
            }
        }
    }

    /// The function that writes all values.
    fn writing(self, plan: &TablePlan<'_>, text: &mut Text) {
        let head = "private func _write(to builder: inout FlatBufferBuilder) -> Offset";
        let (whole, values) = match self.has_union_vectors() {
            true => (
                "_write(to: &builder, over: stored)",
                "_write(to: &builder, over: stored)",
            ),
            false => ("to(flatBufferBuilder: &builder)", "_write(to: &builder)"),
        };
        text.item(head, |text| {
            if self.has_union_vectors() {
                text.line("let stored = _base.map { $0._stored.place(of: $0) }");
            }
            let fields = plan.fields.iter();
            let unset = fields.map(|field| format!("{} == nil", set_value(field)));
            let conditions = unset.chain(["let object = _object".to_owned()]);
            let conditions = conditions.collect::<Vec<_>>().join(",\n  ");
            text.line(format!("if {conditions}\n{{"));
            text.indented(|text| text.line(format!("return object.{whole}")));
            text.line("}");
            let arguments = plan.fields.iter().map(|field| {
                let name = self.field_name(field);
                format!("{}: self.{name}", names::label(&name))
            });
            let arguments: Vec<String> = arguments.collect();
            text.line(format!("return {}(", self.companion("Builder")));
            text.indented(|text| {
                text.line(format!("{})", arguments.join(",\n")));
                text.line(format!(".{values}"));
            });
        });
    }
}

/// The variable of the value that the program has set.
fn set_value(field: &FieldPlan<'_>) -> String {
    format!("_set{}", field.source.voffset)
}

/// Whether a table holds the value itself, as one number.
const fn is_number(field: &FieldPlan<'_>) -> bool {
    matches!(
        field.value,
        Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. }
    )
}

/// Prints a statement for the case that one of several conditions does not hold.
fn guard(conditions: impl IntoIterator<Item = String>, otherwise: &str, text: &mut Text) {
    let conditions: Vec<String> = conditions.into_iter().collect();
    if !conditions.is_empty() {
        let conditions = conditions.join(",\n  ");
        text.line(format!("guard {conditions}\nelse {{ {otherwise} }}"));
    }
}

fn request_initialisers(name: &str, text: &mut Text) {
    let head = format!("private init(_ type: ChangeRequestType, base: {name}?, of o: {name}?)");
    text.item(head, |text| {
        text.line("_base = base");
        text.line("_object = o");
        text.line("_type = type");
        text.line("_rowid = base?._rowid ?? -1");
    });
}

fn factories(name: &str, request: &str, text: &mut Text) {
    text.item(
        format!("public static func changeRequest(_ o: {name}) -> {request}?"),
        |text| {
            text.line("SQLiteTransactionContext._latest(o).map {");
            text.line(format!("  {request}(.update, base: $0, of: $0)"));
            text.line("}");
        },
    );
    text.item(
        format!("public static func upsertRequest(_ o: {name}) -> {request}"),
        |text| {
            text.block(
                "if let latest = SQLiteTransactionContext._latest(o)",
                |text| {
                    text.line(format!("return {request}(.update, base: latest, of: o)"));
                },
            );
            text.line("let request = creationRequest(o)");
            text.line("request._isUpsert = true");
            text.line("return request");
        },
    );
    text.item(
        format!("public static func creationRequest(_ o: {name}) -> {request}"),
        |text| text.line(format!("{request}(.creation, base: nil, of: o)")),
    );
    text.item(
        format!("public static func creationRequest() -> {request}"),
        |text| text.line(format!("{request}(.creation, base: nil, of: nil)")),
    );
    text.item(
        format!("public static func deletionRequest(_ o: {name}) -> {request}?"),
        |text| {
            text.line("SQLiteTransactionContext._latest(o).map {");
            text.line(format!("  {request}(.deletion, base: $0, of: $0)"));
            text.line("}");
        },
    );
}

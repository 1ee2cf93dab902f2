//! Change requests of stored types.

use super::payloads::arguments_in;
use super::text::Text;
use super::{Scope, names};
use crate::plan::{FieldPlan, TablePlan};

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
                text.line("public var _type: ChangeRequestType");
                text.line("public var _rowid: Int64");
                for field in &plan.fields {
                    self.request_field(field, text);
                }
                request_initialisers(&name, text);
                factories(&name, &request, text);
                self.commit(plan, text);
            },
        );
    }

    /// A value of the request. It is read from the object when it is needed first, and never for a
    /// deletion.
    fn request_field(self, field: &FieldPlan<'_>, text: &mut Text) {
        let (name, ty) = (self.field_name(field), self.field_type(field));
        let read = match self.is_optional(field) {
            true => format!("_object?.{name}"),
            false => format!("_object?.{name} ?? {}", self.default(field)),
        };
        text.line(format!("public lazy var {name}: {ty} = {read}"));
    }

    fn commit(self, plan: &TablePlan<'_>, text: &mut Text) {
        let (name, builder) = (self.name(), self.companion("Builder"));
        let head = "public func commit(_ toolbox: PersistenceToolbox) -> UpdatedObject?";
        text.item(head, |text| {
            let arguments = plan.fields.iter().map(|field| {
                let name = self.field_name(field);
                format!("{}: self.{name}", names::label(&name))
            });
            let arguments: Vec<String> = arguments.collect();
            text.line("let __type = _type");
            text.line("_type = .none");
            text.block(
                format!(
                    "let __result = SQLitePersistenceToolbox._commit(\n  toolbox, __type, of: {name}\
                     .self, base: _base, isUpsert: _isUpsert)"
                ),
                |text| {
                    text.line("__builder in");
                    arguments_in(&builder, &arguments, text);
                    text.line("._write(to: &__builder)")
                },
            );
            text.line("if case .inserted(let __object)? = __result { _rowid = __object._rowid }");
            text.line("return __result");
        });
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

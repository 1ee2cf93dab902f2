//! Tables that can be converted to and from bytes and JSON.

use super::Scope;
use super::descriptor::print_types;
use super::layout::{atom, call};
use super::text::Text;

impl Scope<'_> {
    /// Prints the items of a payload. Without storage each table is a payload, otherwise only a
    /// root.
    pub(super) fn payload(self, text: &mut Text) {
        let stored = self.ty().stored.is_some();
        if self.plan().storage && !stored {
            return;
        }
        let (base, dflat, codegen) = (self.base(), self.dflat(), self.codegen());
        let owned = self.own_owned();
        text.item(|text| {
            text.implementation(&format!("{dflat}::Payload"), &owned, |text| {
                let id = if stored { 0 } else { self.id.0 };
                let value = call(format!("{codegen}::TypeId"), [atom(id.to_string())]);
                text.assignment(&format!("const TYPE: {codegen}::TypeId"), &value);
                text.item(|text| {
                    let types = format!("{codegen}::Types");
                    text.function("fn types", &[], &types, |text| self.types(text));
                });
            });
        });
        if stored {
            text.item(|text| text.line(format!("{dflat}::__json!(object {base});")));
        }
        text.item(|text| text.line(format!("{dflat}::__json!(table {owned});")));
    }

    fn types(self, text: &mut Text) {
        let (base, dflat, codegen) = (self.base(), self.dflat(), self.codegen());
        if self.ty().stored.is_some() {
            let table = atom(format!("<{base} as {dflat}::Object>::TABLE"));
            return text.value(&call(format!("{codegen}::Types::Stored"), [table]));
        }
        match self.plan().first_table() {
            Some(first) if first != self.id => {
                let first = self.path(first, "");
                text.value(&call(format!("<{first} as {dflat}::Payload>::types"), []));
            }
            _ => {
                print_types(&self.plan().payloads, codegen, text);
                text.value(&call(format!("{codegen}::Types::Plain"), [atom("TYPES")]));
            }
        }
    }
}

//! The code of hidden tables, which is called through one static list.

use super::Scope;
use super::layout::{Expr, atom, call};
use super::tables::Named;
use super::text::Text;

impl Scope<'_> {
    /// Whether another type hides this table.
    pub(super) fn is_linked(self) -> bool {
        self.plan().links.binary_search(&self.id).is_ok()
    }

    /// The expression of the table's link, where `owned` is the name of its owned form.
    pub(super) fn link(self, owned: &str) -> Expr {
        let codegen = self.codegen();
        call(format!("<{owned} as {codegen}::Linked>::link"), [])
    }

    /// Prints the functions of the table, and its access to the links of all tables.
    pub(super) fn linked(self, fields: &[Named<'_>], text: &mut Text) {
        let (base, codegen) = (self.base(), self.codegen());
        text.item(|text| {
            let interface = format!("{codegen}::Linked");
            text.implementation(&interface, &self.own_owned(), |text| {
                let position = self
                    .plan()
                    .links
                    .binary_search(&self.id)
                    .unwrap_or_default();
                text.line(format!("const POSITION: usize = {position};"));
                text.item(|text| {
                    let links = format!("&'static [{codegen}::Link]");
                    text.function("fn links", &[], &links, |text| self.links(text));
                });
                text.item(|text| self.decode_fields("fn decode_here", fields, text));
                let name = |name: &str| match fields.is_empty() {
                    true => "_".to_owned(),
                    false => name.to_owned(),
                };
                text.item(|text| {
                    let views =
                        ["view", "other"].map(|view| format!("{}: {base}Ref<'a>", name(view)));
                    let views = views.each_ref().map(String::as_str);
                    text.function("fn same_here<'a>", &views, "bool", |text| {
                        self.same_fields("view", "other", fields, text);
                    });
                });
                text.item(|text| {
                    let view = format!("{}: {base}Ref<'_>", name("view"));
                    let formatter = "f: &mut ::core::fmt::Formatter<'_>";
                    let result = "::core::fmt::Result";
                    text.function("fn debug_here", &[&view, formatter], result, |text| {
                        text.value(&self.debug_fields("view", fields));
                    });
                });
            });
        });
    }

    /// Prints the links of all tables, which are generated with the first table.
    fn links(self, text: &mut Text) {
        let codegen = self.codegen();
        match self.plan().links.first() {
            Some(first) if *first != self.id => {
                let first = self.owned(*first);
                text.value(&call(format!("<{first} as {codegen}::Linked>::links"), []));
            }
            _ => {
                text.line("#[rustfmt::skip]");
                text.verbatim_line(&format!("static LINKS: &[{codegen}::Link] = &["));
                text.body(|text| {
                    for id in &self.plan().links {
                        let owned = self.owned(*id);
                        text.verbatim_line(&format!("{codegen}::Link::of::<{owned}>(),"));
                    }
                });
                text.line("];");
                text.value(&atom("LINKS"));
            }
        }
    }
}

//! Compiles the schemas that the tests use.

fn main() {
    for schema in [
        "../../schemas/conformance/conformance.fbs",
        "../../schemas/bench_doc.fbs",
        "../../schemas/monster.fbs",
        "../../schemas/dict.fbs",
        "../../schemas/diary.fbs",
        "../../schemas/line.fbs",
        "../../schemas/post.fbs",
        "../../schemas/evolution/note_v1.fbs",
        "../../schemas/evolution/note_v2.fbs",
        "../../schemas/evolution/note_v3.fbs",
        "../../schemas/evolution/shelf_v1.fbs",
        "../../schemas/evolution/shelf_v2.fbs",
        "../../schemas/evolution/shelf_v3.fbs",
        "../../schemas/evolution/shelf_v4.fbs",
        "../../schemas/evolution/shelf_v5.fbs",
        "../../schemas/evolution/shelf_v6.fbs",
        "../../schemas/evolution/letter_v1.fbs",
        "../../schemas/evolution/letter_v2.fbs",
        "../../schemas/evolution/parcel_v1.fbs",
        "../../schemas/evolution/parcel_v2.fbs",
        "../../schemas/evolution/trash_v1.fbs",
        "../../schemas/evolution/trash_v2.fbs",
    ] {
        dflat_build::compile([schema]);
    }
}

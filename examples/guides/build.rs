//! Compiles the schemas of the guides.

fn main() {
    for name in ["task", "task_due", "subtask", "message", "note"] {
        dflat_build::compile([format!("schemas/{name}.fbs")]);
    }
}

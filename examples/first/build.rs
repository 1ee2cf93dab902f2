fn main() {
    dflat_build::compile(["schemas/task.fbs"]);
}

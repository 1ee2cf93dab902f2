import Foundation
import PackagePlugin

/// Compiles each schema of a target, a file `.fbs` beside its sources, to Swift before the target
/// is compiled, and again if a schema or the compiler has changed. It runs the program `dflatc`: the
/// one that the variable DFLATC names, or else the one in the PATH. A schema may include the others
/// of its target.
@main
struct DflatPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
    guard let target = target as? SourceModuleTarget else { return [] }
    let schemas = target.sourceFiles(withSuffix: "fbs").map(\.path)
    guard !schemas.isEmpty else { return [] }
    let compiler = try compiler()
    let folder = context.pluginWorkDirectory
    return schemas.map { schema in
      let outputs = ["", "_data_model", "_mutating", "_query"].map { part in
        folder.appending("\(schema.stem)\(part)_generated.swift")
      }
      return .buildCommand(
        displayName: "dflatc \(schema.lastComponent)", executable: compiler,
        arguments: [
          "compile", "--swift", "-I", target.directory.string, "-o", folder.string, schema.string,
        ],
        inputFiles: schemas + [compiler], outputFiles: outputs)
    }
  }

  /// The path of `dflatc`.
  private func compiler() throws -> Path {
    let environment = ProcessInfo.processInfo.environment
    if let named = environment["DFLATC"] { return Path(named) }
    for folder in (environment["PATH"] ?? "").split(separator: ":") {
      let program = Path(String(folder)).appending("dflatc")
      if FileManager.default.isExecutableFile(atPath: program.string) { return program }
    }
    throw Missing()
  }
}

private struct Missing: Error, CustomStringConvertible {
  let description =
    "there is no program dflatc in the PATH: install it by `cargo install dflatc`, or set DFLATC"
}

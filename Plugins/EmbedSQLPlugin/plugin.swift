import Foundation
import PackagePlugin

/// Turns a target's .sql files into one Swift source, so that the program needs no files beside it.
@main
struct EmbedSQLPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let files = try ["Migrations", "Roles", "Functions", "Views"].flatMap { folder in
      try FileManager.default.contentsOfDirectory(
        at: target.directoryURL.appending(path: folder), includingPropertiesForKeys: nil)
    }.filter { $0.pathExtension == "sql" }.sorted { $0.path < $1.path }
    let output = context.pluginWorkDirectoryURL.appending(path: "SQLFiles.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) SQL files",
        executable: try context.tool(named: "EmbedSQL").url,
        arguments: [output.path] + files.map(\.path),
        inputFiles: files, outputFiles: [output])
    ]
  }
}

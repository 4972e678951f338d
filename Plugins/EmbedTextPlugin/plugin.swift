import Foundation
import PackagePlugin

/// Turns the text files of a target (.sql, or those of a page) into one Swift source, so that the program needs no
/// files beside it. They lie in folders of the target's.
@main
struct EmbedTextPlugin: BuildToolPlugin {
  private static let kinds: Set = ["sql", "html", "css", "js", "svg"]

  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let manager = FileManager.default
    let folders = try manager.contentsOfDirectory(
      at: target.directoryURL, includingPropertiesForKeys: [.isDirectoryKey]
    ).filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }
    let files = try folders.flatMap {
      try manager.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
    }.filter { Self.kinds.contains($0.pathExtension) }.sorted { $0.path < $1.path }
    let output = context.pluginWorkDirectoryURL.appending(path: "TextFiles.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) text files of \(target.name)",
        executable: try context.tool(named: "EmbedText").url,
        arguments: [output.path] + files.map(\.path),
        inputFiles: files, outputFiles: [output])
    ]
  }
}

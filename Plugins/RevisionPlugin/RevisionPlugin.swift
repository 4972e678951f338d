import Foundation
import PackagePlugin

/// Gives a target the constant `revision`: the commit that it is built from, empty where there is no `.git`.
@main
struct RevisionPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let commit = commit(of: context.package.directoryURL)
    let output = context.pluginWorkDirectoryURL.appending(path: "Revision.swift")
    // The command runs again when an argument changes.
    return [
      .buildCommand(
        displayName: "Noting the commit", executable: URL(filePath: "/bin/sh"),
        arguments: [
          "-c", #"printf 'let revision = "%s"\n' "$1" >"$2""#, "sh", commit, output.path,
        ],
        outputFiles: [output])
    ]
  }

  private func commit(of package: URL) -> String {
    guard FileManager.default.fileExists(atPath: package.appending(path: ".git").path) else {
      return ""
    }
    let git = Process()
    git.executableURL = URL(filePath: "/usr/bin/env")
    git.arguments = ["git", "-C", package.path, "rev-parse", "--short=9", "HEAD"]
    let output = Pipe()
    git.standardOutput = output
    git.standardError = FileHandle.nullDevice
    guard (try? git.run()) != nil else { return "" }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    git.waitUntilExit()
    return git.terminationStatus == 0 ? text.trimmingCharacters(in: .whitespacesAndNewlines) : ""
  }
}

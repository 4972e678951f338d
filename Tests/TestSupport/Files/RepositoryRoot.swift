package import Foundation

/// The directory of this checkout that holds `Package.swift`.
///
/// Tests name every file of the repository below it, so that a test may move without counting folders.
package let repositoryRoot: URL = {
  var directory = URL(filePath: #filePath).deletingLastPathComponent()
  while !FileManager.default.fileExists(atPath: directory.appending(path: "Package.swift").path) {
    precondition(directory.path != "/", "no Package.swift above \(#filePath)")
    directory.deleteLastPathComponent()
  }
  return directory.standardizedFileURL
}()

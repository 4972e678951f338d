internal import HaulTransfer
import JobModel

/// What a URL and a path must be before they become a job. Pure; nothing is looked up on disk.
package enum SubmissionCheck {
  /// Bytes of UTF-8 that a Linux file system takes for one name.
  static let longestComponent = 255
  /// PATH_MAX without its NUL.
  static let longestPath = 4095
  /// The store's own directory.
  static let reserved = ".haul"

  /// Accepts a path relative to a store that names one file below it and cannot leave it.
  package static func path(_ path: String) throws(SubmissionProblem) {
    if path.isEmpty { throw .emptyPath }
    if path.utf8.first == UInt8(ascii: "/") { throw .absolutePath(path) }
    if path.utf8.count > longestPath { throw .pathTooLong(bytes: path.utf8.count) }
    if hasControlCharacter(path) { throw .controlCharacterInPath(path) }
    let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for component in components {
      if component.isEmpty || component.elementsEqual(".".utf8)
        || component.elementsEqual("..".utf8)
      {
        throw .unresolvedPath(path)
      }
      if component.count > longestComponent { throw .componentTooLong(path) }
    }
    if components.first.map({ $0.elementsEqual(reserved.utf8) }) == true {
      throw .reservedPath(path)
    }
  }

  /// Accepts a URL that a job may hold. `hasUserInfo` is what the URL parser found, since only it
  /// knows what will be sent.
  package static func url(_ url: String, hasUserInfo: Bool) throws(SubmissionProblem) {
    if hasControlCharacter(url) { throw .controlCharacterInURL }
    if hasUserInfo { throw .userInfoInURL }
  }

  /// Accepts what else an entry says.
  package static func options(of entry: ListEntry) throws(SubmissionProblem) {
    if let digest = entry.options.digest, ExpectedDigest(digest) == nil {
      throw .unknownDigest(digest)
    }
    if let priority = entry.priority, !(0...9).contains(priority) { throw .priority(priority) }
    if let policy = entry.options.ifExists, CollisionPolicy(rawValue: policy) == nil {
      throw .unknownPolicy(policy)
    }
    if let attempts = entry.options.maxAttempts, !(1...1000).contains(attempts) {
      throw .maxAttempts(attempts)
    }
    if let name = entry.options.credential, !CredentialName.isOne(name) {
      throw .credentialName(name)
    }
    do throws(RequestField.Problem) {
      _ = try RequestField.all(entry.options.headers ?? [])
    } catch {
      throw .header(error)
    }
  }

  /// C0, DEL or C1: all that Unicode calls control characters, and that will never be others.
  static func hasControlCharacter(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
  }
}

package import HaulTransfer
import JobModel

/// Checks URLs and paths before they become jobs. It does not access the disk.
package enum SubmissionCheck {
  /// Checks a path. A valid path is relative to a store, names one file below the store, and does not leave the store.
  package static func path(_ path: String) throws(SubmissionProblem) {
    do throws(RelativePath.Invalid) {
      _ = try RelativePath(path)
    } catch {
      throw problem(of: path, error)
    }
  }

  private static func problem(of path: String, _ invalid: RelativePath.Invalid) -> SubmissionProblem
  {
    switch invalid {
    case .empty: path.isEmpty ? .emptyPath : .absolutePath(path)
    case .absolute: .absolutePath(path)
    case .emptyComponent, .dots: .unresolvedPath(path)
    case .controlCharacter: .controlCharacterInPath(path)
    case .tooLong:
      path.utf8.count > RelativePath.longest
        ? .pathTooLong(bytes: path.utf8.count) : .componentTooLong(path)
    case .reserved: .reservedPath(path)
    }
  }

  /// The maximum length of a URL in bytes. The database enforces this limit too.
  package static let longestURL = 8000

  /// Checks a URL for a job. `url` was parsed from `text`. The job gets the parsed URL, because Haul sends that form.
  package static func url(_ text: String, parsed url: WebURL) throws(SubmissionProblem) {
    if hasControlCharacter(text) { throw .controlCharacterInURL }
    if url.hasCredentials { throw .userInfoInURL }
    let bytes = url.text.utf8.count
    if bytes > longestURL { throw .urlTooLong(bytes: bytes) }
  }

  /// The maximum number of mirrors of a job. The database enforces this limit too.
  package static let mostMirrors = 16

  /// Checks all fields of an entry except its URL and path.
  package static func options(of entry: ListEntry) throws(SubmissionProblem) {
    if let digest = entry.options.digest, ExpectedDigest(spelled: digest) == nil {
      throw .unknownDigest(digest)
    }
    if let priority = entry.priority, !(0...9).contains(priority) { throw .priority(priority) }
    if let policy = entry.options.ifExists, CollisionPolicy(rawValue: policy) == nil {
      throw .unknownPolicy(policy)
    }
    if let type = entry.options.expectType, ExpectedType(type) == nil { throw .mediaType(type) }
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

  /// Returns whether a text contains a control character (C0, DEL or C1). This is Unicode's complete and stable set.
  static func hasControlCharacter(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }
  }
}

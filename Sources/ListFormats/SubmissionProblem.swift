import HaulSystem
package import HaulTransfer

/// The reason why a URL or path cannot be submitted. The description is a sentence without its full stop. It contains no secret
/// and is safe to print.
package enum SubmissionProblem: Error, Equatable, CustomStringConvertible {
  case emptyPath
  case absolutePath(String)
  /// The path has a `.`, `..` or empty component. It could leave the store, or name one file in two ways.
  case unresolvedPath(String)
  case controlCharacterInPath(String)
  /// A component of the path is longer than 255 bytes of UTF-8.
  case componentTooLong(String)
  /// The path is longer than 4000 bytes of UTF-8.
  case pathTooLong(bytes: Int)
  /// The path is below `.haul`, the directory in which a store keeps part files.
  case reservedPath(String)
  case controlCharacterInURL
  /// The URL is longer than ``SubmissionCheck/longestURL`` bytes.
  case urlTooLong(bytes: Int)
  case userInfoInURL
  case unknownDigest(String)
  case priority(Int)
  case unknownPolicy(String)
  case mediaType(String)
  case maxAttempts(Int)
  case header(RequestField.Problem)
  case credentialName(String)
  /// The entry has more mirrors than a job may have.
  case mirrors(Int)
  /// A mirror URL is invalid. The text says why.
  case mirror(String)

  package var description: String {
    switch self {
    case .emptyPath: "the path is empty"
    case .absolutePath(let path):
      "the path '\(SafeText.visible(path))' must be relative to the store"
    case .unresolvedPath(let path):
      "the path '\(SafeText.visible(path))' has a '.', '..' or empty component"
    case .controlCharacterInPath(let path):
      "the path '\(SafeText.visible(path))' has a control character"
    case .componentTooLong(let path):
      "the path '\(SafeText.visible(path))' has a component of more than 255 bytes"
    case .pathTooLong(let bytes): "the path has \(bytes) bytes, but the maximum is 4000"
    case .reservedPath(let path):
      "the path '\(SafeText.visible(path))' is in .haul, which Haul uses for its own files"
    case .controlCharacterInURL: "the URL has a control character"
    case .urlTooLong(let bytes):
      "the URL has \(bytes) bytes, but the maximum is \(SubmissionCheck.longestURL)"
    case .userInfoInURL:
      "the URL contains a user name or password, which the database would store. Remove it, and use a credential or a netrc file"
    case .unknownDigest(let digest):
      "'\(SafeText.visible(digest))' is not a digest such as sha-256=… in hexadecimal or base64"
    case .priority(let priority): "the priority is \(priority), but must be from 0 to 9"
    case .unknownPolicy(let policy):
      "if_exists is '\(SafeText.visible(policy))', but must be fail, skip, replace or rename"
    case .mediaType(let type):
      "expect_type is '\(SafeText.visible(type))', but must be a media type such as application/zip or video/*"
    case .maxAttempts(let attempts):
      "max_attempts is \(attempts), but must be from 1 to 1000"
    case .header(let problem): "\(problem)"
    case .credentialName(let name):
      "'\(SafeText.visible(name))' is not the name of a credential: a name has at most 63 letters, digits, '.', '_' and '-'"
    case .mirrors(let count):
      "the job has \(count) mirrors, but the maximum is \(SubmissionCheck.mostMirrors)"
    case .mirror(let problem): "the URL of a mirror is not valid: \(problem)"
    }
  }
}

/// A complete response that may be an error page in place of the file, as it was first seen.
///
/// The same response again, at least ``patience`` later, counts as the file's new content if it has a validator of its own
/// and the file's media type. Error texts repeat too, so nothing else does.
package struct SuspectPage: Sendable, Hashable, Codable {
  /// Seconds until the response's repetition says something.
  static let patience: Int64 = 60

  /// As ``Validator/text``; nil where it had none.
  var validator: String?
  /// Type and subtype in lower case; nil where it had none.
  var mediaType: String?
  /// In bytes; nil where it stated none.
  var length: Int64?
  /// When it came first, in seconds since 1970.
  var firstSeen: Int64

  init(_ new: Representation, now: HTTPDate) {
    validator = new.validator?.text
    mediaType = new.mediaType
    length = new.completeLength
    firstSeen = now.seconds
  }

  /// Whether `new` is this response again.
  private func isRepeated(by new: Representation) -> Bool {
    validator == new.validator?.text && mediaType == new.mediaType
      && length == new.completeLength
  }

  /// Whether its repetition would make it the new content of a file of `type`.
  func isConfirmable(for type: String?) -> Bool { validator != nil && mediaType == type }

  /// Whether `new` may replace a file of `type`, since it came before.
  func confirms(_ new: Representation, type: String?, now: HTTPDate) -> Bool {
    isRepeated(by: new) && isConfirmable(for: type) && now.seconds - firstSeen >= Self.patience
  }

  /// The page to remember after `new`: this one where it came again, so that its time counts.
  func next(_ new: Representation, now: HTTPDate) -> SuspectPage {
    isRepeated(by: new) ? self : SuspectPage(new, now: now)
  }
}

/// What is known of the file that a complete response may replace: of a part, or of a finished file.
struct KnownFile: Sendable {
  var hasValidator: Bool
  var mediaType: String?
  /// The length of the whole in bytes; nil where it is not known.
  var length: Int64?
  /// Bytes that would be lost.
  var saved: Int64
  /// See ``Checkpoint/isMoved``.
  var isMoved = false

  /// Why `new` looks like an error page, as a clause; nil where it does not. `isSame`: its validator is the file's.
  func suspicion(of new: Representation, isSame: Bool) -> String? {
    let isPage = new.mediaType == "text/html"
    if isPage, mediaType.map({ $0 != new.mediaType }) ?? !isSame {
      return "a page in HTML"
    }
    if isSame, let length, new.completeLength == length { return nil }
    // A changed query may select another file.
    if isMoved, let type = new.mediaType, type == mediaType || !Self.isText(type) { return nil }
    if hasValidator, new.validator == nil, !new.hasWeakValidator {
      return "a response without the validator that the file had"
    }
    if let type = new.mediaType, let mediaType, type != mediaType {
      return "a response of type \(type)"
    }
    if let short = new.completeLength, isMuchLonger(than: short) {
      return "a much shorter response"
    }
    return nil
  }

  /// Whether much of what is saved would be lost for a file of `length` bytes.
  func isMuchLonger(than length: Int64) -> Bool {
    length < saved / 2 && saved - length >= Self.leastLoss
  }

  /// Returns whether error messages may have this type.
  private static func isText(_ type: String) -> Bool {
    type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml")
  }

  /// Fewer bytes than these are not worth a doubt.
  private static let leastLoss: Int64 = 16_384

  /// Bytes of a part that prove by being equal that a response is the same file: two texts may begin with the same line.
  static let leastProof: Int64 = 1024
}

extension TransferState {
  /// What a complete response would replace; nil for nothing.
  var knownFile: KnownFile? {
    guard policy.mayBePages else { return nil }
    if let checkpoint {
      guard !checkpoint.durable.isEmpty, !checkpoint.isFromElsewhere else { return nil }
      return KnownFile(
        hasValidator: checkpoint.validator != nil && checkpoint.validator != .jobDigest,
        mediaType: checkpoint.mediaType,
        length: checkpoint.completeLength, saved: checkpoint.durable.count,
        isMoved: checkpoint.isMoved)
    }
    guard let present else { return nil }
    return KnownFile(
      hasValidator: present.condition != nil, mediaType: present.mediaType, length: present.length,
      saved: present.length ?? 0)
  }

  /// Whether a response has the validator of what it would replace.
  func isSame(_ head: ResponseHead) -> Bool {
    guard let checkpoint else { return present?.isRepeated(by: head) ?? false }
    guard let validator = checkpoint.validator, validator != .jobDigest else { return false }
    return validator.compared(with: head) == .same
  }

  /// The suspect that came before, whatever the file.
  var suspect: SuspectPage? { checkpoint?.suspect ?? present?.suspect }
}

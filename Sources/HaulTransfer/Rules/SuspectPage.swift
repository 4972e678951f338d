/// A complete response that may be an error page instead of the file, as Haul first saw it.
///
/// If the same response comes again at least 60 seconds (``patience``) later, Haul accepts it as the file's new content. For
/// this, the response must have a validator and the media type of the file. Error pages repeat too, so no other response is
/// accepted.
package struct SuspectPage: Sendable, Hashable, Codable {
  /// The number of seconds after which a repeated response counts.
  static let patience: Int64 = 60

  /// The validator in the form of ``Validator/text``; nil if the response had none.
  var validator: String?
  /// The type and subtype in lower case; nil if the response had none.
  var mediaType: String?
  /// The length in bytes; nil if the response stated none.
  var length: Int64?
  /// The time when the response first came, in seconds since 1970.
  var firstSeen: Int64

  init(_ new: Representation, now: HTTPDate) {
    validator = new.validator?.text
    mediaType = new.mediaType
    length = new.completeLength
    firstSeen = now.seconds
  }

  /// Whether `new` is the same response again.
  private func isRepeated(by new: Representation) -> Bool {
    validator == new.validator?.text && mediaType == new.mediaType
      && length == new.completeLength
  }

  /// Returns whether a repetition of this response would make it the new content of a file of `type`.
  func isConfirmable(for type: String?) -> Bool { validator != nil && mediaType == type }

  /// Returns whether `new` may replace a file of `type`, because the same response came before.
  func confirms(_ new: Representation, type: String?, now: HTTPDate) -> Bool {
    isRepeated(by: new) && isConfirmable(for: type) && now.seconds - firstSeen >= Self.patience
  }

  /// Returns the page to remember after `new`. If `new` is the same response as this page, returns this page, which keeps its
  /// ``firstSeen``.
  func next(_ new: Representation, now: HTTPDate) -> SuspectPage {
    isRepeated(by: new) ? self : SuspectPage(new, now: now)
  }
}

/// The facts about the file that a complete response would replace: a part or a finished file.
struct KnownFile: Sendable {
  var hasValidator: Bool
  var mediaType: String?
  /// The length of the whole file in bytes; nil if it is not known.
  var length: Int64?
  /// The number of saved bytes that would be lost.
  var saved: Int64
  /// See ``Checkpoint/isMoved``.
  var isMoved = false

  /// Returns why `new` looks like an error page, as a clause; nil if it does not. `isSame` says whether `new` has the file's
  /// validator.
  func suspicion(of new: Representation, isSame: Bool) -> String? {
    let isPage = new.mediaType == "text/html"
    if isPage, mediaType.map({ $0 != new.mediaType }) ?? !isSame {
      return "an HTML page"
    }
    if isSame, let length, new.completeLength == length { return nil }
    // A changed query may select another file.
    if isMoved, let type = new.mediaType, type == mediaType || !Self.isText(type) { return nil }
    if hasValidator, new.validator == nil, !new.hasWeakValidator {
      return "a response without the ETag or Last-Modified that the file had"
    }
    if let type = new.mediaType, let mediaType, type != mediaType {
      return "a response of type \(type)"
    }
    if let short = new.completeLength, isMuchLonger(than: short) {
      return "a much shorter response"
    }
    return nil
  }

  /// Returns whether replacing the file by one of `length` bytes would lose many of the saved bytes.
  func isMuchLonger(than length: Int64) -> Bool {
    length < saved / 2 && saved - length >= Self.leastLoss
  }

  /// Returns whether error messages may have this type.
  private static func isText(_ type: String) -> Bool {
    type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml")
  }

  /// The smallest loss in bytes that makes a shorter response suspect.
  private static let leastLoss: Int64 = 16_384

  /// The number of equal bytes that prove that a response is the file. Two different texts may begin with the same line.
  static let leastProof: Int64 = 1024
}

extension TransferState {
  /// The file that a complete response would replace; nil if there is none. If there is both a part of new content and a
  /// finished file, the result combines their properties.
  var knownFile: KnownFile? {
    guard policy.isHTTP else { return nil }
    let finished = present.map {
      KnownFile(
        hasValidator: $0.condition != nil, mediaType: $0.mediaType, length: $0.length,
        saved: $0.length ?? 0)
    }
    guard let checkpoint, !checkpoint.isFromElsewhere else { return finished }
    guard finished != nil || !checkpoint.durable.isEmpty else { return nil }
    return KnownFile(
      hasValidator: checkpoint.validator != nil && checkpoint.validator != .jobDigest,
      mediaType: checkpoint.mediaType ?? finished?.mediaType,
      length: checkpoint.completeLength,
      saved: max(checkpoint.durable.count, finished?.saved ?? 0), isMoved: checkpoint.isMoved)
  }

  /// Whether a response has the validator of the file that it would replace.
  func isSame(_ head: ResponseHead) -> Bool {
    guard let checkpoint else { return present?.isRepeated(by: head) ?? false }
    guard let validator = checkpoint.validator, validator != .jobDigest else { return false }
    return validator.compared(with: head) == .same
  }

  /// The suspect response that was remembered, from the part or from the finished file; nil if there is none.
  var suspect: SuspectPage? { checkpoint?.suspect ?? present?.suspect }
}

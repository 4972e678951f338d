import TestSupport

/// What a ``HostileSource`` does to one request.
enum HostileDeed: String, CaseIterable, Sendable {
  /// As RFC 9110 says: of the present version; of an older one, as a cache may have it; of a new one, and perhaps broken off.
  case correct, stale, change
  /// Correct, and broken off in the middle.
  case close, reset, stall
  /// Correct as far as it comes, and then the program that asked dies or is drained.
  case death, drain
  /// Correct with something before or behind it.
  case early, junk
  /// Ranges: shortened, ignored, another one, another total, no total, not said, several, more than asked for.
  case cap, ignored, startsEarly, startsLate, otherTotal, noTotal, unsaid, multipart, excess
  /// Ranges: under 200 though it is one, an error document, refused with a status.
  case saysWhole, errorText, refusesRange
  /// Without validator; another encoding.
  case noValidator, encoded
  /// 416, with another length, without any, with the right one.
  case unsatisfied
  /// Lengths: more than comes, two, none.
  case longLength, twoLengths, chunked, brokenChunks, unsized, cutUnsized
  /// Framing: chunks announced by a folded field, and a coding that is none beside the length.
  case foldedChunks, identity
  /// Something else altogether.
  case redirect, cookie, refusal, page, silence

  private static let toRanges: [HostileDeed] = [
    .cap, .ignored, .startsEarly, .startsLate, .otherTotal, .noTotal, .unsaid, .multipart, .excess,
    .noValidator, .unsatisfied, .page, .saysWhole, .errorText, .refusesRange,
  ]
  private static let toAll = allCases.filter { !toRanges.contains($0) }
  private static let breaks: [HostileDeed] = [.close, .reset, .death, .drain]

  /// Mostly correct answers that break off, so that there is something to go on with.
  static func draw(isRange: Bool, _ random: inout SplitMix) -> HostileDeed {
    let deeds =
      switch Int.random(in: 0..<12, using: &random) {
      case 0: [HostileDeed.correct]
      case 1...2: [HostileDeed.change]
      case 3...5: breaks
      case 6...8: isRange ? toRanges : breaks
      default: isRange ? allCases : toAll
      }
    return deeds.randomElement(using: &random) ?? .correct
  }
}

import Arguments
import HaulTransfer
import Terminal

extension ExpectedDigest: OptionValue {
  package static var expected: String { "a digest such as sha-256=… in hexadecimal or base64" }
  package init?(argument: String) { self.init(spelled: argument) }
  package var argument: String { description }

  package static func expected(insteadOf argument: String) -> String {
    let halves = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let all = DigestAlgorithm.allCases
    let digest = halves.last ?? ""
    let found = halves.count == 2 ? all.first { Self.names(halves[0], $0) } : nil
    guard let algorithm = found else {
      let fitting = all.filter { digest.count == $0.hexadecimalDigits }
      let names = (fitting.isEmpty ? all : fitting).map(\.rawValue)
      let which = fitting.isEmpty ? "algorithms" : "for a digest of this length"
      return "an algorithm, '=' and a digest (\(which): \(OneOf.listed(names)))"
    }
    let wanted = "\(algorithm.rawValue)= and \(algorithm.hexadecimalDigits) hexadecimal digits"
    if digest.count != algorithm.hexadecimalDigits {
      return "\(wanted) (\(counted(digest.count, "character")) given)"
    }
    return "\(wanted) (0-9 and a-f)"
  }

  /// Returns whether `text`, the part of a digest before `=`, names `algorithm`: `sha-256` or `SHA256`.
  private static func names(_ text: Substring, _ algorithm: DigestAlgorithm) -> Bool {
    let zeros = String(repeating: "0", count: algorithm.hexadecimalDigits)
    return ExpectedDigest(spelled: "\(text)=\(zeros)").map { $0.algorithm == algorithm } ?? false
  }
}

extension DigestAlgorithm {
  fileprivate var hexadecimalDigits: Int { 2 * byteCount }
}

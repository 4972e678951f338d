import Arguments
import HaulTransfer
import Testing

@testable import haul

/// What is said of a digest that cannot be read.
struct DigestArgumentTests {
  private static let algorithms = OneOf.listed(DigestAlgorithm.allCases.map(\.rawValue))

  @Test(arguments: [
    ("sha-256=abc", "sha-256= and 64 hexadecimal digits (3 characters given)"),
    (
      "SHA1=" + String(repeating: "0", count: 64),
      "sha-1= and 40 hexadecimal digits (64 characters given)"
    ),
    (
      "md5=" + String(repeating: "x", count: 32), "md5= and 32 hexadecimal digits (0-9 and a-f)"
    ),
    (
      String(repeating: "0", count: 64),
      "an algorithm, '=' and a digest (for a digest of this length: sha-256)"
    ),
    ("sum=17", "an algorithm, '=' and a digest (algorithms: \(algorithms))"),
    ("", "an algorithm, '=' and a digest (algorithms: \(algorithms))"),
  ])
  func `what a digest lacks`(text: String, expected: String) {
    #expect(ExpectedDigest(spelled: text) == nil)
    #expect(ExpectedDigest.expected(insteadOf: text) == expected)
  }
}

package import Transfer

/// Every error class that a job can end with: the transfer's, and those that only a pool has.
package enum ErrorTable {
  /// The word of the database and the logs, and what it means.
  package struct Row: Sendable {
    package let word: String
    package let explanation: TransferError.Explanation
  }

  /// In the order in which the documentation shows them.
  package static let rows =
    TransferError.Class.allCases.map { Row(word: $0.rawValue, explanation: $0.explanation) }
    + ofPool

  /// Made by the database from what several attempts have come to.
  private static let ofPool = [
    Row(
      word: "host_unreachable",
      explanation: .init(
        .kept,
        "The host was in trouble for longer than a job waits for one: a day, half a minute in 'haul get'.",
        "Check the host; then 'haul retry', or the same 'haul get' again.")),
    Row(
      word: "rescued_too_often",
      explanation: .init(
        .kept, "Worker after worker died while it had the job.",
        "Look into the workers' logs before 'haul retry'.")),
  ]

  /// What to do about an error class; nil for a word that is none.
  package static func advice(on word: String) -> String? {
    rows.first { $0.word == word }?.explanation.advice
  }
}

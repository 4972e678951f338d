package import JobQueue
package import ListFormats

extension JobOptions {
  /// Those that a list names for one of its entries; nil for none.
  package init?(_ entry: ListEntry) {
    self.init(
      digest: entry.digest, ifExists: entry.ifExists, maxAttempts: entry.maxAttempts,
      maxBytes: entry.maxBytes, acceptUnverifiedLength: entry.acceptUnverifiedLength,
      maxHostWait: entry.maxHostWait)
    length = entry.length
    recordDigest = entry.recordDigest
    maxRate = entry.maxRate
    remoteTime = entry.remoteTime
    connectTimeout = entry.connectTimeout
    stallTimeout = entry.stallTimeout
    headers = entry.headers
    credential = entry.credential
    if self == JobOptions() { return nil }
  }
}

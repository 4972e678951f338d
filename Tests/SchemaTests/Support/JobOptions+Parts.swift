import JobModel

extension JobOptions {
  /// Options with some of their values.
  init(
    digest: String? = nil, ifExists: String? = nil, maxAttempts: Int? = nil, maxBytes: Int64? = nil,
    acceptUnverifiedLength: Bool? = nil, maxHostWait: Int? = nil
  ) {
    self.init()
    self.digest = digest
    self.ifExists = ifExists
    self.maxAttempts = maxAttempts
    self.maxBytes = maxBytes
    self.acceptUnverifiedLength = acceptUnverifiedLength
    self.maxHostWait = maxHostWait
  }
}

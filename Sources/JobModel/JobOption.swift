/// The name of a job option, as it is spelled in the database, in JSON lines and in CSV headers.
///
/// To add an option, add a property to ``JobOptions``, a case to this type, and a line to `place` that connects the two. Lists,
/// export and submission then support the option.
package enum JobOption: String, CaseIterable, Sendable {
  case digest, length
  case ifExists = "if_exists"
  case expectType = "expect_type"
  case maxAttempts = "max_attempts"
  case maxBytes = "max_bytes"
  case maxRate = "max_rate"
  case maxHostWait = "max_host_wait"
  case acceptUnverifiedLength = "accept_unverified_length"
  case recordDigest = "record_digest"
  case contentDisposition = "content_disposition"
  case remoteTime = "remote_time"
  case connectTimeout = "connect_timeout"
  case stallTimeout = "stall_timeout"
  case headers, mirrors, credential

  /// The property that holds the option's value, with the kind of the value.
  private enum Place {
    case text(WritableKeyPath<JobOptions, String?>)
    /// The option takes a whole number that fits into 32 bits.
    case whole(WritableKeyPath<JobOptions, Int?>)
    case bytes(WritableKeyPath<JobOptions, Int64?>)
    case flag(WritableKeyPath<JobOptions, Bool?>)
    case texts(WritableKeyPath<JobOptions, [String]?>)
  }

  private var place: Place {
    switch self {
    case .digest: .text(\.digest)
    case .length: .bytes(\.length)
    case .ifExists: .text(\.ifExists)
    case .expectType: .text(\.expectType)
    case .maxAttempts: .whole(\.maxAttempts)
    case .maxBytes: .bytes(\.maxBytes)
    case .maxRate: .bytes(\.maxRate)
    case .maxHostWait: .whole(\.maxHostWait)
    case .acceptUnverifiedLength: .flag(\.acceptUnverifiedLength)
    case .recordDigest: .flag(\.recordDigest)
    case .contentDisposition: .flag(\.contentDisposition)
    case .remoteTime: .flag(\.remoteTime)
    case .connectTimeout: .whole(\.connectTimeout)
    case .stallTimeout: .whole(\.stallTimeout)
    case .headers: .texts(\.headers)
    case .mirrors: .texts(\.mirrors)
    case .credential: .text(\.credential)
    }
  }

  /// The kind of value that an option takes.
  package enum Kind: Sendable {
    case text
    /// The option takes a whole number from 0 to `most`.
    case number(most: Int64)
    case flag, texts
  }

  /// The kind of this option's value.
  package var kind: Kind {
    switch place {
    case .text: .text
    case .whole: .number(most: 1_000_000_000)
    case .bytes: .number(most: 9_000_000_000_000_000_000)
    case .flag: .flag
    case .texts: .texts
    }
  }

  /// The value of an option, in one of the types that JSON has.
  package enum Value: Sendable, Hashable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case texts([String])
  }
}

extension JobOptions {
  /// The value of an option; nil if it is not set. If you assign a value of the wrong kind, the option is removed.
  package subscript(option: JobOption) -> JobOption.Value? {
    get { option.value(in: self) }
    set { option.set(newValue, in: &self) }
  }
}

extension JobOption {
  fileprivate func value(in options: JobOptions) -> Value? {
    switch place {
    case .text(let path): options[keyPath: path].map { .text($0) }
    case .whole(let path): options[keyPath: path].map { .number(Int64($0)) }
    case .bytes(let path): options[keyPath: path].map { .number($0) }
    case .flag(let path): options[keyPath: path].map { .flag($0) }
    case .texts(let path): options[keyPath: path].map { .texts($0) }
    }
  }

  fileprivate func set(_ value: Value?, in options: inout JobOptions) {
    switch place {
    case .text(let path): options[keyPath: path] = value?.text
    case .whole(let path): options[keyPath: path] = value?.number.map(Int.init)
    case .bytes(let path): options[keyPath: path] = value?.number
    case .flag(let path): options[keyPath: path] = value?.flag
    case .texts(let path): options[keyPath: path] = value?.texts
    }
  }
}

extension JobOption.Value {
  fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
  fileprivate var number: Int64? { if case .number(let number) = self { number } else { nil } }
  fileprivate var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
  fileprivate var texts: [String]? { if case .texts(let texts) = self { texts } else { nil } }
}

extension JobOption.Value: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? container.decode(Int64.self) {
      self = .number(number)
    } else if let texts = try? container.decode([String].self) {
      self = .texts(texts)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .flag(let flag): try container.encode(flag)
    case .texts(let texts): try container.encode(texts)
    }
  }
}

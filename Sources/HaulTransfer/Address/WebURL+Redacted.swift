/// The form of a URL for people and logs.
extension WebURL {
  /// The URL without user and password. In the path and the query, `***` replaces the values of parameters that sign a URL or
  /// grant access. The SQL function `haul.redacted` follows the same rules.
  package var redacted: String {
    var shown = "\(scheme)://\(hostKey)" + Self.redact(path, separators: ";/")
    if let query { shown += "?" + Self.redact(query, separators: "&;") }
    return shown
  }

  /// Returns `text` with `***` instead of the values of secret parameters. The characters in `separators` separate parameters.
  private static func redact(_ text: String, separators: String) -> String {
    var shown = ""
    var rest = text[...]
    while !rest.isEmpty {
      let pair = rest.prefix { !separators.contains($0) }
      rest = rest[pair.endIndex...]
      let name = pair.prefix { $0 != "=" }
      shown += name.endIndex < pair.endIndex && isSecret(decoded(name)) ? "\(name)=***" : pair
      if let separator = rest.popFirst() { shown.append(separator) }
    }
    return shown
  }

  /// Returns a parameter's name in lower case, without percent-encoding.
  private static func decoded(_ name: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = name.utf8
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(Substring(rest.prefix(2))), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self).lowercased()
  }

  private static func isSecret(_ name: String) -> Bool {
    secretNames.contains(name) || secretParts.contains { name.contains($0) }
  }

  /// Short names in signed URLs: Azure SAS, Dropbox, Discord, nginx.
  private static let secretNames: Set<String> = [
    "se", "sp", "sv", "sr", "st", "si", "ss", "spr", "sip", "ske", "sks", "skt", "skv", "e", "s",
    "h",
    "ex", "is", "hm", "pw", "p",
  ]
  /// Parts of secret names: S3, GCS, CloudFront, Akamai, Cloudflare, Alibaba and Tencent clouds, SharePoint, Zenodo,
  /// Dataverse, and usual names of keys and sessions.
  private static let secretParts = [
    "sig", "token", "key", "secret", "pass", "pwd", "credential", "auth", "expire", "policy",
    "code",
    "hmac", "hash", "jwt", "sid", "session", "md5", "sha1", "sha256", "hdn", "verify", "ticket",
    "grant",
    "access", "x-amz-", "x-goog-", "x-oss-", "x-cos-", "x-ms-", "skoid", "sktid",
  ]
}

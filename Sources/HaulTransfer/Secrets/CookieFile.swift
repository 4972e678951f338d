import HaulSystem

/// The cookies of a file in the format that browsers and curl use (curl, "The Netscape cookie file format"). libcurl chooses
/// which cookies a request carries. Cookies that a server sets are not written to the file.
package struct CookieFile: Sendable {
  struct Cookie: Sendable, Hashable {
    /// The domain in lower case, without a leading dot.
    var domain: String
    /// Whether hosts below the domain get the cookie too.
    var isForSubdomains: Bool
    var path: String
    /// Whether the cookie is sent only over https.
    var isSecure: Bool
    /// The expiry in seconds since 1970; 0 if the cookie never expires.
    var expires: Int64
    var name: String
    var value: String
  }

  let cookies: [Cookie]
  /// The numbers of malformed lines, which were skipped. Lines are counted from 1.
  package let badLines: [Int]

  /// Reads a file that only its owner may read. Throws if a line is malformed and no line holds a cookie. Blocks.
  package init(path: String) throws(SecretFile.Problem) {
    self.init(try SecretFile.read(path))
    if let bad = badLines.first, cookies.isEmpty {
      throw SecretFile.Problem("\(path): line \(bad) is not a cookie in Netscape format")
    }
  }

  init(_ text: String) {
    var (cookies, badLines): ([Cookie], [Int]) = ([], [])
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      // Some editors write a byte order mark.
      let line = index == 0 && line.unicodeScalars.first == "\u{FEFF}" ? line.dropFirst() : line
      let isHidden = line.hasPrefix("#HttpOnly_")
      if line.allSatisfy(\.isWhitespace) || line.hasPrefix("#") && !isHidden { continue }
      if let cookie = Self.cookie(isHidden ? line.dropFirst("#HttpOnly_".count) : line) {
        cookies.append(cookie)
      } else {
        badLines.append(index + 1)
      }
    }
    self.cookies = cookies
    self.badLines = badLines
  }

  /// Reads a line of seven fields. The last field, the value, may be missing if it is empty. Some programs write the
  /// expiry with a fraction. Returns nil if the line is not valid.
  private static func cookie(_ line: Substring) -> Cookie? {
    var fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    if fields.count == 6 { fields.append("") }
    guard fields.count == 7, let expires = Double(fields[4]), !fields[0].isEmpty,
      fields[2].hasPrefix("/"), !fields[5].isEmpty,
      (fields[5] + fields[6]).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
    else { return nil }
    let domain = fields[0].lowercased()
    return Cookie(
      domain: domain.hasPrefix(".") ? String(domain.dropFirst()) : domain,
      isForSubdomains: fields[1].uppercased() == "TRUE", path: fields[2],
      isSecure: fields[3].uppercased() == "TRUE", expires: Int64(clamped: expires), name: fields[5],
      value: fields[6])
  }

  /// The cookies in the format that libcurl reads, one per line.
  var lines: [String] { cookies.map(\.line) }
}

extension CookieFile.Cookie {
  fileprivate var line: String {
    [
      (isForSubdomains ? "." : "") + domain, isForSubdomains ? "TRUE" : "FALSE", path,
      isSecure ? "TRUE" : "FALSE", "\(expires)", name, value,
    ].joined(separator: "\t")
  }
}

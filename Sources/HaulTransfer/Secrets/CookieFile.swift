/// Cookies by host and path, as browsers and curl write them (curl, "The Netscape cookie file format"). Nothing that a server
/// sets is added.
package struct CookieFile: Sendable {
  struct Cookie: Sendable, Hashable {
    /// In lower case, without a leading dot.
    var domain: String
    /// Whether hosts below the domain get it too.
    var isForSubdomains: Bool
    var path: String
    /// Over https alone.
    var isSecure: Bool
    /// Seconds since 1970; 0 for ever.
    var expires: Int64
    var name: String
    var value: String
  }

  let cookies: [Cookie]

  /// Reads a file that only its owner may read. Blocks.
  package init(path: String) throws(SecretFile.Problem) {
    try self.init(try SecretFile.read(path), name: path)
  }

  init(_ text: String, name: String) throws(SecretFile.Problem) {
    var cookies: [Cookie] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let isHidden = line.hasPrefix("#HttpOnly_")
      if line.allSatisfy(\.isWhitespace) || line.hasPrefix("#") && !isHidden { continue }
      let content = isHidden ? line.dropFirst("#HttpOnly_".count) : line
      guard let cookie = Self.cookie(content) else {
        throw SecretFile.Problem(
          "\(name):\(index + 1): no cookie in the format of Netscape: seven fields with a tab between"
        )
      }
      cookies.append(cookie)
    }
    self.cookies = cookies
  }

  private static func cookie(_ line: Substring) -> Cookie? {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 7, let expires = Int64(fields[4]), !fields[0].isEmpty,
      fields[2].hasPrefix("/"), !fields[5].isEmpty,
      (fields[5] + fields[6]).utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != 0x3b })
    else { return nil }
    let domain = fields[0].lowercased()
    return Cookie(
      domain: domain.hasPrefix(".") ? String(domain.dropFirst()) : domain,
      isForSubdomains: fields[1].uppercased() == "TRUE", path: fields[2],
      isSecure: fields[3].uppercased() == "TRUE", expires: expires, name: fields[5],
      value: fields[6])
  }

  /// The field that takes the cookies of `url` along (RFC 6265 §5.4); nil for none. `now` in seconds since 1970.
  func field(for url: WebURL, now: Int64) -> ResponseHead.Field? {
    let fitting = cookies.filter { $0.fits(url, now: now) }
      .sorted { $0.path.utf8.count > $1.path.utf8.count }
    if fitting.isEmpty { return nil }
    return ResponseHead.Field(
      "Cookie", fitting.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))
  }
}

extension CookieFile.Cookie {
  fileprivate func fits(_ url: WebURL, now: Int64) -> Bool {
    if isSecure && url.scheme != "https" { return false }
    if expires != 0 && expires <= now { return false }
    guard url.host == domain || isForSubdomains && url.host.hasSuffix(".\(domain)") else {
      return false
    }
    // RFC 6265 §5.1.4.
    return url.path == path || url.path.hasPrefix(path.hasSuffix("/") ? path : path + "/")
  }
}

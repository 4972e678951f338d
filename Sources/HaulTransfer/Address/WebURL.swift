internal import Glibc
internal import HaulCLibcurl

/// A URL, parsed by libcurl, so that the URL that Haul checks is the URL that libcurl fetches.
///
/// Spaces and bytes beyond ASCII are percent-encoded, numeric IPv4 hosts are written as four decimal numbers, and the fragment
/// is dropped. Path and query otherwise stay as submitted, including dot segments and an empty query. Requests use the form in
/// ``wire``.
package struct WebURL: Sendable, Hashable {
  /// The whole URL, including any credentials. Do not show it: show ``redacted``.
  package let text: String
  /// The scheme in lower case.
  package let scheme: String
  /// The host in lower case, with an IPv6 address in brackets. A name with letters beyond ASCII is in its `xn--…` form (RFC
  /// 5890), as in DNS.
  package let host: String
  /// The port to connect to: the given port or the scheme's default.
  package let port: Int
  /// The path, still percent-encoded. It begins with `/`.
  package let path: String
  /// The query without `?`; nil if the URL has no query.
  package let query: String?
  /// Whether the URL holds a user name or a password. The engine refuses such URLs.
  package let hasCredentials: Bool
  /// The key for limits per host: `example.org`, or `example.org:8443` if the port is not the scheme's default. libcurl keeps
  /// the given spelling of an IPv6 address. The key contains the spelling of inet_ntop(3) instead, so that each address has one
  /// key.
  package let hostKey: String

  /// Parses an absolute URL.
  ///
  /// - Parameters:
  ///   - text: The URL. It may contain spaces, but not at its start or end.
  ///   - schemes: The allowed schemes in lower case.
  /// - Throws: `.blockedURL` if the URL cannot be parsed or its scheme is not one of `schemes`.
  package init(
    _ text: String, schemes: Set<String> = WebURL.webSchemes
  ) throws(TransferError) {
    // libcurl reads `http:///a` as `http://a/`; RFC 9110 §4.2.1 makes a URL without host invalid.
    let rest = Substring(text.utf8.drop { $0 != UInt8(ascii: ":") })
    guard !rest.hasPrefix(":///") else { throw .noHost }
    // libcurl reads `http:/a` as `http://a/` too.
    guard !rest.hasPrefix(":/") || rest.hasPrefix("://") else { throw .noSlash }
    let parser = try URLParser()
    try parser.set(text, UInt32(CURLU_PATH_AS_IS))
    try self.init(parser, hasEmptyQuery: Self.hasEmptyQuery(text), schemes: schemes)
  }

  /// Returns whether a URL or reference ends in `?`. libcurl drops this `?`, although a URL with an empty query is a different
  /// URL (RFC 3986 §6.2.3).
  private static func hasEmptyQuery(_ text: String) -> Bool {
    guard text.utf8.contains(UInt8(ascii: "?")) else { return false }
    let reference = text.utf8.prefix { $0 != UInt8(ascii: "#") }
    return reference.last == UInt8(ascii: "?")
      && !reference.dropLast().contains(UInt8(ascii: "?"))
  }

  /// Resolves the value of a Location field against this URL (RFC 9110 §10.2.2, RFC 3986 §5).
  ///
  /// The result does not get this URL's credentials. If `location` itself contains credentials, the result has them, and the
  /// engine then refuses the URL.
  ///
  /// - Throws: `.blockedURL`, as ``init(_:schemes:)`` does.
  package func resolving(
    location: String, schemes: Set<String> = WebURL.webSchemes
  ) throws(TransferError) -> WebURL {
    let parser = try URLParser()
    try parser.set(text, UInt32(CURLU_PATH_AS_IS))
    parser.clear(CURLUPART_USER)
    parser.clear(CURLUPART_PASSWORD)
    let reference = location.prefix { $0 != "#" }
    // An empty reference means the same document (RFC 3986 §5.2.2). libcurl 7.88 would return its directory.
    if !reference.isEmpty { try parser.set(String(reference), 0) }
    return try WebURL(
      parser, hasEmptyQuery: !reference.isEmpty && Self.hasEmptyQuery(String(reference)),
      schemes: schemes)
  }

  private init(
    _ parser: borrowing URLParser, hasEmptyQuery: Bool, schemes: Set<String>
  ) throws(TransferError) {
    parser.clear(CURLUPART_FRAGMENT)
    let (user, password) = (parser.get(CURLUPART_USER), parser.get(CURLUPART_PASSWORD))
    // `http://@host/` has no user.
    let hasEmptyUser = user?.isEmpty == true && password?.isEmpty ?? true
    if hasEmptyUser {
      parser.clear(CURLUPART_USER)
      parser.clear(CURLUPART_PASSWORD)
    }
    hasCredentials = !hasEmptyUser && (user != nil || password != nil)
    scheme = (parser.get(CURLUPART_SCHEME) ?? "").lowercased()
    guard schemes.contains(scheme) else {
      let allowed = schemes.sorted().joined(separator: ", ")
      throw TransferError(
        .blockedURL, "the URL's scheme is '\(scheme)', but must be one of \(allowed)")
    }
    let host = try parser.hostInASCII()
    let ownPort = parser.get(CURLUPART_PORT, UInt32(CURLU_NO_DEFAULT_PORT))
    guard let text = parser.get(CURLUPART_URL, UInt32(CURLU_NO_DEFAULT_PORT)),
      let host, !host.isEmpty,
      let port = (ownPort ?? parser.get(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)))
        .flatMap({ Int($0) })
    else { throw .noHost }
    guard port > 0 else {
      throw TransferError(.blockedURL, "the URL's port is 0, which is not a valid port")
    }
    self.text = hasEmptyQuery && !text.hasSuffix("?") ? text + "?" : text
    self.host = host.lowercased()
    self.port = port
    path = parser.get(CURLUPART_PATH) ?? "/"
    query = parser.get(CURLUPART_QUERY)
    // `example.org.` is the same host as `example.org`.
    let name = self.host.hasSuffix(".") ? String(self.host.dropLast()) : self.host
    guard Self.hasValidLabels(name) else { throw .badHost }
    let address = name.hasPrefix("[") ? IPAddress(String(name.dropFirst().dropLast())) : nil
    let key = address.map { "[\($0)]" } ?? name
    hostKey = ownPort == nil ? key : "\(key):\(port)"
  }

  /// Returns whether each label between the dots of a host name has 1 to 63 bytes (RFC 1035 §2.3.4).
  private static func hasValidLabels(_ name: String) -> Bool {
    var length = 0
    for byte in name.utf8 {
      if byte != UInt8(ascii: ".") {
        length += 1
      } else if (1...63).contains(length) {
        length = 0
      } else {
        return false
      }
    }
    return (1...63).contains(length)
  }

  /// The scheme, host and port, which ``isSameOrigin(as:)`` compares.
  var origin: String { "\(scheme)://\(host):\(port)" }

  /// Returns whether both URLs have the same scheme, host and port (RFC 9110 §4.3.1).
  package func isSameOrigin(as other: WebURL) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }
}

/// A `CURLU` handle.
@safe private struct URLParser: ~Copyable {
  private let handle: OpaquePointer

  init() throws(TransferError) {
    guard let handle = unsafe curl_url() else {
      throw TransferError(.io, "out of memory while parsing a URL")
    }
    unsafe self.handle = unsafe handle
  }

  deinit {
    unsafe curl_url_cleanup(handle)
  }

  /// Sets the URL, or resolves a reference against the URL that is already set.
  func set(_ text: String, _ flags: UInt32) throws(TransferError) {
    // libcurl would turn a space in the query into `+`, which not every server reads as a space.
    let encoded =
      text.utf8.contains(UInt8(ascii: " "))
      ? text.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
      : text
    let flags = flags | UInt32(CURLU_NON_SUPPORT_SCHEME) | UInt32(CURLU_URLENCODE)
    let result = unsafe curl_url_set(handle, CURLUPART_URL, encoded, flags)
    guard result == CURLUE_OK, !text.utf8.contains(0) else {
      // The text may hold credentials and cannot be redacted, so the message leaves it out.
      let why =
        result == CURLUE_OK
        ? "it contains a NUL byte" : unsafe String(cString: curl_url_strerror(result))
      throw TransferError(.blockedURL, "cannot parse the URL: \(why)")
    }
  }

  /// Returns the host; nil if there is none. Converts a host name with letters beyond ASCII to its DNS form first. libcurl asks
  /// the locale for the name's encoding, and a program's locale is `C` unless the program sets another. So this thread uses a
  /// UTF-8 locale during the call.
  func hostInASCII() throws(TransferError) -> String? {
    guard let host = get(CURLUPART_HOST) else { return nil }
    if host.utf8.allSatisfy({ $0 < 0x80 }) { return host }
    let before = unsafe uselocale(Self.utf8)
    let spelled = get(CURLUPART_HOST, UInt32(CURLU_PUNYCODE))
    _ = unsafe uselocale(before)
    guard let spelled, unsafe curl_url_set(handle, CURLUPART_HOST, spelled, 0) == CURLUE_OK,
      let text = get(CURLUPART_URL)
    else { throw .badHost }
    // The name may now be an IP address, because digits of other scripts became ASCII digits. libcurl recognizes an IP address
    // only when it parses a whole URL.
    try set(text, 0)
    return get(CURLUPART_HOST)
  }

  /// A locale with UTF-8, from newlocale(3); never freed. `nonisolated(unsafe)` is safe because nothing changes the
  /// locale.
  nonisolated(unsafe) private static let utf8 = unsafe newlocale(1 << LC_CTYPE, "C.UTF-8", nil)

  func clear(_ part: CURLUPart) {
    _ = unsafe curl_url_set(handle, part, nil, 0)
  }

  /// Returns a part of the URL; nil if the URL does not have that part.
  func get(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text = unsafe text
    else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}

extension TransferError {
  fileprivate static var noHost: TransferError { TransferError(.blockedURL, "the URL has no host") }
  fileprivate static var noSlash: TransferError {
    TransferError(.blockedURL, "the URL has too few slashes: it must begin with scheme://host/")
  }
  fileprivate static var badHost: TransferError {
    TransferError(.blockedURL, "the URL's host is not a valid host name")
  }
}

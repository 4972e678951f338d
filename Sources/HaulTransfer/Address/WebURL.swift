internal import Glibc
internal import HaulCLibcurl

/// A URL as libcurl understands it, so that what is checked is what is fetched.
///
/// Spaces and bytes beyond ASCII are percent-encoded, numeric IPv4 hosts are written in the usual way, the
/// fragment is dropped; otherwise path and query stay as submitted, dot segments and an empty query included. ``wire`` is what
/// a request has.
package struct WebURL: Sendable, Hashable {
  /// The whole URL as it is fetched, with credentials if there are any. Do not show: ``redacted``.
  package let text: String
  /// In lower case.
  package let scheme: String
  /// In lower case, IPv6 in brackets; a name in other scripts is spelled `xn--…` (RFC 5890), as DNS knows it.
  package let host: String
  /// The port connected to, given or the scheme's default.
  package let port: Int
  /// Begins with `/`, still percent-encoded.
  package let path: String
  /// Without `?`; nil if there is none.
  package let query: String?
  /// Whether a user name or password stands in the URL. The engine refuses such URLs.
  package let hasCredentials: Bool
  /// The unit of politeness: `example.org`, or `example.org:8443` if that is not the scheme's port. An IPv6 address is
  /// written as inet_ntop(3) does, since libcurl leaves several spellings of one.
  package let hostKey: String

  /// Parses an absolute URL.
  ///
  /// - Parameters:
  ///   - text: may hold spaces inside; none around.
  ///   - schemes: in lower case.
  /// - Throws: `.blockedURL` if it cannot be parsed or its scheme is not one of `schemes`.
  package init(
    _ text: String, schemes: Set<String> = WebURL.webSchemes
  ) throws(TransferError) {
    // libcurl reads `http:///a` as `http://a/`; RFC 9110 §4.2.1 has no use for a URL without host.
    let rest = Substring(text.utf8.drop { $0 != UInt8(ascii: ":") })
    guard !rest.hasPrefix(":///") else { throw .noHost }
    // Nor of `http:/a`, which it reads likewise.
    guard !rest.hasPrefix(":/") || rest.hasPrefix("://") else { throw .noSlash }
    let parser = try URLParser()
    try parser.set(text, UInt32(CURLU_PATH_AS_IS))
    try self.init(parser, hasEmptyQuery: Self.hasEmptyQuery(text), schemes: schemes)
  }

  /// Whether `?` ends a URL or reference: libcurl drops it, though it makes another URL (RFC 3986 §6.2.3).
  private static func hasEmptyQuery(_ text: String) -> Bool {
    let reference = text.utf8.prefix { $0 != UInt8(ascii: "#") }
    return reference.last == UInt8(ascii: "?")
      && !reference.dropLast().contains(UInt8(ascii: "?"))
  }

  /// The URL a Location field means (RFC 9110 §10.2.2, RFC 3986 §5).
  ///
  /// This URL's credentials are not carried over; those that `location` spells out are kept, to be refused.
  ///
  /// - Throws: `.blockedURL` as for ``init(_:schemes:)``.
  package func resolving(
    location: String, schemes: Set<String> = WebURL.webSchemes
  ) throws(TransferError) -> WebURL {
    let parser = try URLParser()
    try parser.set(text, UInt32(CURLU_PATH_AS_IS))
    parser.clear(CURLUPART_USER)
    parser.clear(CURLUPART_PASSWORD)
    let reference = location.prefix { $0 != "#" }
    // libcurl 7.88 takes an empty reference for the directory; RFC 3986 §5.2.2 for the same document.
    if !reference.isEmpty { try parser.set(String(reference), 0) }
    return try WebURL(
      parser, hasEmptyQuery: !reference.isEmpty && Self.hasEmptyQuery(String(reference)),
      schemes: schemes)
  }

  private init(
    _ parser: borrowing URLParser, hasEmptyQuery: Bool, schemes: Set<String>
  ) throws(TransferError) {
    parser.clear(CURLUPART_FRAGMENT)
    // `http://@host/` names nobody.
    if parser.get(CURLUPART_USER)?.isEmpty == true, parser.get(CURLUPART_PASSWORD)?.isEmpty ?? true
    {
      parser.clear(CURLUPART_USER)
      parser.clear(CURLUPART_PASSWORD)
    }
    scheme = (parser.get(CURLUPART_SCHEME) ?? "").lowercased()
    guard schemes.contains(scheme) else {
      let allowed = schemes.sorted().joined(separator: ", ")
      throw TransferError(
        .blockedURL, "the URL's scheme is '\(scheme)'; allowed: \(allowed)")
    }
    try parser.spellHostInASCII()
    guard let text = parser.get(CURLUPART_URL, UInt32(CURLU_NO_DEFAULT_PORT)),
      let host = parser.get(CURLUPART_HOST), !host.isEmpty,
      let port = parser.get(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) })
    else { throw .noHost }
    guard port > 0 else {
      throw TransferError(.blockedURL, "the URL's port is 0, where no server can be")
    }
    self.text = hasEmptyQuery && !text.hasSuffix("?") ? text + "?" : text
    self.host = host.lowercased()
    self.port = port
    path = parser.get(CURLUPART_PATH) ?? "/"
    query = parser.get(CURLUPART_QUERY)
    hasCredentials = parser.get(CURLUPART_USER) != nil || parser.get(CURLUPART_PASSWORD) != nil
    // `example.org.` is the same host.
    let name = self.host.hasSuffix(".") ? String(self.host.dropLast()) : self.host
    // RFC 1035 §2.3.4.
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.allSatisfy({ (1...63).contains($0.utf8.count) }) else { throw .badHost }
    let isDefault = parser.get(CURLUPART_PORT, UInt32(CURLU_NO_DEFAULT_PORT)) == nil
    let address = name.hasPrefix("[") ? IPAddress(String(name.dropFirst().dropLast())) : nil
    let key = address.map { "[\($0)]" } ?? name
    hostKey = isDefault ? key : "\(key):\(port)"
  }

  /// Scheme, host and port: what ``isSameOrigin(as:)`` compares.
  var origin: String { "\(scheme)://\(host):\(port)" }

  /// Whether scheme, host and port are equal (RFC 9110 §4.3.1).
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

  /// Sets the URL, or resolves a reference against the one that is set.
  func set(_ text: String, _ flags: UInt32) throws(TransferError) {
    // libcurl would make a `+` of a space in the query, which not every server reads as one.
    let encoded =
      text.utf8.contains(UInt8(ascii: " "))
      ? text.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
      : text
    let flags = flags | UInt32(CURLU_NON_SUPPORT_SCHEME) | UInt32(CURLU_URLENCODE)
    let result = unsafe curl_url_set(handle, CURLUPART_URL, encoded, flags)
    guard result == CURLUE_OK, !text.utf8.contains(0) else {
      // The text may hold credentials and cannot be redacted: it stays out of the sentence.
      let why = result == CURLUE_OK ? "NUL byte" : unsafe String(cString: curl_url_strerror(result))
      throw TransferError(.blockedURL, "the URL cannot be parsed: \(why)")
    }
  }

  /// Host names in other scripts as DNS knows them. libcurl asks the locale how they are coded, which in a program is `C` unless
  /// it says otherwise: so this thread has another meanwhile.
  func spellHostInASCII() throws(TransferError) {
    guard let host = get(CURLUPART_HOST), !host.utf8.allSatisfy({ $0 < 0x80 }) else { return }
    let before = unsafe uselocale(Self.utf8)
    let spelled = get(CURLUPART_HOST, UInt32(CURLU_PUNYCODE))
    _ = unsafe uselocale(before)
    guard let spelled, unsafe curl_url_set(handle, CURLUPART_HOST, spelled, 0) == CURLUE_OK,
      let text = get(CURLUPART_URL)
    else { throw .badHost }
    // Digits of other scripts have become those of an address, which is read only as a part of a URL.
    try set(text, 0)
  }

  /// newlocale(3); never freed. `nonisolated(unsafe)` holds because nothing changes it.
  nonisolated(unsafe) private static let utf8 = unsafe newlocale(1 << LC_CTYPE, "C.UTF-8", nil)

  func clear(_ part: CURLUPart) {
    _ = unsafe curl_url_set(handle, part, nil, 0)
  }

  /// nil if the part is not there.
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
    TransferError(.blockedURL, "the URL lacks a slash: one begins with scheme://host/")
  }
  fileprivate static var badHost: TransferError {
    TransferError(.blockedURL, "the URL's host is no name that a host can have")
  }
}

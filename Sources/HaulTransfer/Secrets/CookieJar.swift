import Synchronization

/// A container for cookies that servers set, kept in memory for later downloads. Any number of downloads and downloaders may
/// share a jar.
///
/// libcurl chooses which cookies a request carries: by host, path, scheme and expiry. The jar writes nothing to a file.
public final class CookieJar: Sendable {
  /// The cookies in order of arrival, one line of the Netscape format for each domain, path and name.
  private let lines: Mutex<[String]>

  /// Creates an empty jar.
  public init() { lines = Mutex([]) }

  /// Creates a jar with the cookies of a file in the Netscape format, which browsers and curl write. Blocks.
  ///
  /// - Throws: `credential` if the file cannot be read, if other users may read it, or if it has malformed lines and no cookie.
  public init(file path: String) throws(TransferError) {
    do throws(SecretFile.Problem) {
      lines = Mutex(try CookieFile(path: path).lines)
    } catch {
      throw TransferError(.credential, "\(error)")
    }
  }

  /// The number of cookies, including those that have expired since the last download.
  public var count: Int { lines.withLock(\.count) }

  /// Forgets all cookies.
  public func removeAll() { lines.withLock { $0 = [] } }

  /// The cookies, each a line of the Netscape format.
  var all: [String] { lines.withLock(\.self) }

  /// Applies the changes of an exchange, which began with the cookies `before` and ended with the cookies `after`.
  func merge(before: [String], after: [String], now: HTTPDate = .now) {
    // libcurl 7.88 still lists a cookie that a server has just expired.
    let after = after.filter { !Self.hasExpired($0, now) }
    let gone = Set(before.map(Self.key)).subtracting(after.map(Self.key))
    let known = Set(before)
    let new = after.filter { !known.contains($0) }
    guard !gone.isEmpty || !new.isEmpty else { return }
    let replaced = gone.union(new.map(Self.key))
    lines.withLock { lines in
      lines.removeAll { replaced.contains(Self.key($0)) }
      lines += new
    }
  }

  private static func hasExpired(_ line: String, _ now: HTTPDate) -> Bool {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    guard fields.count >= 6, let expires = Int64(fields[4]) else { return false }
    return expires != 0 && expires <= now.seconds
  }

  /// Returns the identity of a cookie: domain, path and name (RFC 6265 §5.3, step 11).
  private static func key(_ line: String) -> [Substring] {
    let line = line.hasPrefix("#HttpOnly_") ? line.dropFirst("#HttpOnly_".count) : line[...]
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    guard fields.count >= 6 else { return fields }
    return [fields[0].hasPrefix(".") ? fields[0].dropFirst() : fields[0], fields[2], fields[5]]
  }
}

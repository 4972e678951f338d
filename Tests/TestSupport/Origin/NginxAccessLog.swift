import Foundation

/// nginx's own account of what it served, in the format that ``Nginx`` configures.
package struct NginxAccessLog: Sendable {
  /// One request that is over. Times are nginx's wall clock in milliseconds since 1970.
  package struct Request: Sendable {
    /// When its first byte was read, to the millisecond.
    package let begin: Int64
    package let end: Int64
    package let status: Int
    /// Bytes of the body that were sent.
    package let bytes: Int64
    /// The `Range` field as received; nil if there was none.
    package let range: String?
    /// nginx's serial number of the connection.
    package let connection: Int
    package let remoteAddress: String
    package let target: String
  }

  /// In the order in which they ended.
  package let requests: [Request]

  /// The value of `log_format`; the target comes last because it may hold anything.
  static let format =
    "$msec $request_time $status $body_bytes_sent $connection $remote_addr \"$http_range\" $request_uri"

  /// Lines that are not complete yet are left out.
  init(_ text: String) {
    requests = text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ", maxSplits: 7)
      guard words.count == 8, let end = milliseconds(words[0]), let took = milliseconds(words[1]),
        let status = Int(words[2]), let bytes = Int64(words[3]), let connection = Int(words[4])
      else { return nil }
      let range = words[6].dropFirst().dropLast()
      return Request(
        begin: end - took, end: end, status: status, bytes: bytes,
        range: range == "-" ? nil : String(range), connection: connection,
        remoteAddress: String(words[5]), target: String(words[7]))
    }
  }

  /// Bytes of bodies sent for each target.
  package var bytes: [String: Int64] {
    requests.reduce(into: [:]) { $0[$1.target, default: 0] += $1.bytes }
  }

  /// The `Range` fields of the requests for one target, in the order in which they ended.
  package func ranges(of target: String) -> [String?] {
    requests.filter { $0.target == target }.map(\.range)
  }

  /// The most requests that ran at the same moment; one that ended in the millisecond in which another
  /// began does not count with it.
  package var peak: Int {
    let changes = requests.flatMap { [($0.begin, 1), ($0.end, -1)] }.sorted { $0 < $1 }
    var (running, peak) = (0, 0)
    for (_, change) in changes {
      running += change
      peak = max(peak, running)
    }
    return peak
  }
}

/// Of seconds with three decimals, without the rounding of a floating-point number.
private func milliseconds(_ seconds: Substring) -> Int64? {
  Int64(seconds.filter { $0 != "." })
}

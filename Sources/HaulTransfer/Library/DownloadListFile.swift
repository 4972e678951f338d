import FoundationEssentials
import Glibc
import HaulSystem
import Synchronization

/// A download in the file of a queue.
struct DownloadListEntry: Sendable {
  var request: DownloadRequest
  var priority: Int
  var isPaused: Bool
  var resumeData: ResumeData?

  init?(_ download: Download) {
    guard case .get = download.request.options.method else { return nil }
    request = download.request
    (priority, isPaused, resumeData) = download.shared.withLock {
      ($0.priority, $0.isSuspended, $0.saved)
    }
  }
}

extension DownloadListEntry: Codable {
  private enum Key: String, CodingKey {
    case url, path, priority, paused, resume
    case digest, maximumLength, ifExists, acceptUnverifiedLength, fields
    case connectTimeout, stallTimeout, timeout, maxAttempts, maxHostWait
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    var options = DownloadOptions()
    func time(_ key: Key) throws -> Duration? {
      try values.decodeIfPresent(Double.self, forKey: key).map { .clamped(seconds: $0) }
    }
    options.digest = try values.decodeIfPresent(String.self, forKey: .digest)
      .map { try ExpectedDigest($0) }
    options.maximumLength = try values.decodeIfPresent(Int64.self, forKey: .maximumLength)
    options.ifExists =
      try values.decodeIfPresent(String.self, forKey: .ifExists)
      .flatMap(CollisionPolicy.init) ?? .fail
    options.acceptUnverifiedLength =
      try values.decodeIfPresent(Bool.self, forKey: .acceptUnverifiedLength) ?? false
    options.fields =
      try values.decodeIfPresent([[String]].self, forKey: .fields)?
      .filter { $0.count == 2 }.map { HeaderField($0[0], $0[1]) } ?? []
    options.connectTimeout = try time(.connectTimeout)
    options.stallTimeout = try time(.stallTimeout)
    options.timeout = try time(.timeout)
    if let attempts = try values.decodeIfPresent(Int.self, forKey: .maxAttempts) {
      var retry = RetryPolicy()
      retry.maxAttempts = attempts
      retry.maxHostWait = try time(.maxHostWait) ?? retry.maxHostWait
      options.retry = retry
    }
    request = DownloadRequest(
      try values.decode(String.self, forKey: .url),
      to: try values.decode(String.self, forKey: .path),
      options: options)
    priority = try values.decodeIfPresent(Int.self, forKey: .priority) ?? 0
    isPaused = try values.decodeIfPresent(Bool.self, forKey: .paused) ?? false
    resumeData = try values.decodeIfPresent(Checkpoint.self, forKey: .resume)
      .flatMap(ResumeData.init)
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    let options = request.options
    func write(_ time: Duration?, _ key: Key) throws {
      try values.encodeIfPresent(time.map { $0.clamped / .seconds(1) }, forKey: key)
    }
    try values.encode(request.url, forKey: .url)
    try values.encode(request.path, forKey: .path)
    if priority != 0 { try values.encode(priority, forKey: .priority) }
    if isPaused { try values.encode(true, forKey: .paused) }
    try values.encodeIfPresent(resumeData?.checkpoint, forKey: .resume)
    try values.encodeIfPresent(options.digest?.description, forKey: .digest)
    try values.encodeIfPresent(options.maximumLength, forKey: .maximumLength)
    try values.encode(options.ifExists.rawValue, forKey: .ifExists)
    if options.acceptUnverifiedLength { try values.encode(true, forKey: .acceptUnverifiedLength) }
    if !options.fields.isEmpty {
      try values.encode(options.fields.map { [$0.name, $0.value] }, forKey: .fields)
    }
    try write(options.connectTimeout, .connectTimeout)
    try write(options.stallTimeout, .stallTimeout)
    try write(options.timeout, .timeout)
    try values.encodeIfPresent(options.retry?.maxAttempts, forKey: .maxAttempts)
    try write(options.retry?.maxHostWait, .maxHostWait)
  }
}

/// The file that keeps the downloads of a queue: JSON, replaced as a whole. One queue has it at a time.
final class DownloadListFile: Sendable {
  /// The version of the form that this code writes, and the only one it reads.
  private static let version = 1

  private struct Content: Codable {
    var version: Int
    var downloads: [DownloadListEntry]
  }

  private let path: String
  private let lock: FileLock
  private let io: SerialIO

  /// - Throws: `path_conflict` where another queue has the list, or the path is none; `io`.
  init(_ path: String) throws(TransferError) {
    // C would take what stands before it for the path.
    guard !path.utf8.contains(0) else {
      throw TransferError(.pathConflict, "the path of the list holds a NUL byte")
    }
    self.path = path
    lock = try translating(try FileLock("\(path).lock"))
    guard try translating(try lock.tryTake(.exclusive)) else {
      throw TransferError(.pathConflict, "another queue has the list \(path)")
    }
    io = SerialIO(try translating(try IOPool(threads: 1)))
  }

  /// Lets another queue have the list.
  func release() { lock.release() }

  /// The entries; none where there is no file yet. Blocks.
  func read() throws(TransferError) -> [DownloadListEntry] {
    guard unsafe access(path, F_OK) == 0 || errno != ENOENT else { return [] }
    do {
      let content = try JSONDecoder().decode(
        Content.self, from: try Data(contentsOf: URL(filePath: path)))
      guard content.version == Self.version else {
        throw TransferError(.io, "the list \(path) is of version \(content.version)")
      }
      return content.downloads
    } catch let error as TransferError {
      throw error
    } catch {
      throw TransferError(.io, "\(path) is no list of downloads, or cannot be read: \(error)")
    }
  }

  /// Replaces the file durably with what `entries` returns. Keeps the old file if it returns nil.
  func write(
    _ entries: @escaping @Sendable () -> [DownloadListEntry]?
  ) async throws(TransferError) {
    try await io.run { () throws(TransferError) in
      guard let entries = entries() else { return }
      let bytes: [UInt8]
      do {
        let content = Content(version: Self.version, downloads: entries)
        bytes = Array(try JSONEncoder().encode(content))
      } catch {
        throw TransferError(.io, "the list \(self.path) cannot be written: \(error)")
      }
      try self.replace(bytes)
    }
  }

  private func replace(_ bytes: [UInt8]) throws(TransferError) {
    let (directory, name) = DownloadTarget.split(path)
    let files = PartDirectory(try translating(try FileDescriptor.directory(directory)))
    // The mode is set at creation: no other user can open the file before.
    let file = try files.createAnew("\(name).new", mode: 0o600)
    do {
      try file.write(bytes)
    } catch {
      try? files.remove("\(name).new")
      throw error
    }
    _ = try files.rename("\(name).new", to: name)
    try files.sync()
  }
}

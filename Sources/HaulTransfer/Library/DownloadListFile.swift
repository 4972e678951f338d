import FoundationEssentials
import Glibc
import HaulSystem
import Synchronization

/// A complete file that has its final name, or is about to get it.
struct PublishedFile: Sendable, Hashable, Codable {
  var identity: FileIdentity
  var length: Int64
  /// The path of the file below the requested directory, chosen from the response or the URL; nil if the request gives the
  /// file's path.
  var chosenName: String?
}

/// A download in the list file of a queue.
struct DownloadListEntry: Sendable {
  /// The identifier of the entry. It is the same in every process that reads the list.
  var id: String
  var request: DownloadRequest
  var priority: Int
  var isPaused: Bool
  var resumeData: ResumeData?
  /// The complete file, recorded just before it gets its final name; nil before. After a crash, Haul compares this record with
  /// the file on the disk to see whether the download is complete.
  var published: PublishedFile?

  /// Creates the entry for the present state of a download; nil for a download that does not belong in the list: a POST or PUT,
  /// a target URL that is not a file URL, or a download that is complete or cancelled.
  init?(_ download: Download, id: String, published: PublishedFile?) {
    guard case .get = download.request.options.method, !download.request.isURL else { return nil }
    self.id = id
    request = download.request
    self.published = published
    let hasLeft: Bool
    (priority, isPaused, resumeData, hasLeft) = download.shared.withLock {
      ($0.priority, $0.isSuspended, $0.saved, $0.hasLeftList)
    }
    if hasLeft { return nil }
  }

  static func newID() -> String { String(UInt64.random(in: 0...(.max)), radix: 36) }

  /// Whether the file already has its final name. The list does not show this if the process died before it wrote the list
  /// again.
  var isComplete: Bool {
    guard let published,
      let target = try? DownloadTarget(request).named(published.chosenName)
    else { return false }
    return (try? target.holds(published, request.options.ifExists)) == true
  }
}

extension Download.State {
  /// Whether the download has left the list: it is complete or cancelled. A download that ``Download/pause()`` ended
  /// stays.
  fileprivate var hasLeftList: Bool {
    if case .success? = result { true } else { wish == .cancel }
  }
}

extension DownloadListEntry: Codable {
  private enum Key: String, CodingKey {
    case id, tag, url, path, directory, priority, paused, resume, published
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
    let (url, path) = (
      try values.decode(String.self, forKey: .url), try values.decode(String.self, forKey: .path)
    )
    let isDirectory = try values.decodeIfPresent(Bool.self, forKey: .directory) ?? false
    request =
      isDirectory
      ? DownloadRequest(url, in: path, options: options)
      : DownloadRequest(url, to: path, options: options)
    request.tag = try values.decodeIfPresent(String.self, forKey: .tag)
    id = try values.decodeIfPresent(String.self, forKey: .id) ?? Self.newID()
    published = try values.decodeIfPresent(PublishedFile.self, forKey: .published)
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
    try values.encode(id, forKey: .id)
    try values.encodeIfPresent(request.tag, forKey: .tag)
    try values.encodeIfPresent(published, forKey: .published)
    try values.encode(request.url, forKey: .url)
    try values.encode(request.path, forKey: .path)
    if request.isDirectory { try values.encode(true, forKey: .directory) }
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

/// The file that lists the downloads of a queue. It begins with JSON. Later, Haul appends a line for each file that is about to
/// get its name. The queue keeps the file locked.
final class DownloadListFile: Sendable {
  /// The version of the format. This code writes and reads only this version.
  private static let version = 1

  private struct Content: Codable {
    var version: Int
    var downloads: [DownloadListEntry]
  }

  private struct Line: Codable {
    var entry: String
    var file: PublishedFile

    /// The first bytes of each appended line: its keys are sorted, so `entry` comes first. No line of the JSON before it begins
    /// with these bytes.
    static let start = Array("{\"entry\":".utf8)
  }

  private let path: String
  private let name: String
  private let files: PartDirectory
  private let io: SerialIO
  /// The locked file; nil once another queue may use the list.
  private let current: Mutex<PartFile?>

  /// Opens the list, or creates an empty list.
  ///
  /// - Throws: `path_conflict` if another queue uses the list, or if the path names no file; `io` or a similar error if the
  ///   file cannot be opened.
  init(_ path: String) throws(TransferError) {
    // C functions end a path at its first NUL byte.
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw TransferError(
        .pathConflict,
        "the path of the download list \(path.isEmpty ? "is empty" : "contains a NUL byte")")
    }
    self.path = path
    let directory: String
    (directory, name) = DownloadTarget.split(Self.resolved(path))
    // A new file is locked before it gets the list's name.
    files = PartDirectory(
      try translating(try FileDescriptor.directory(directory)), locksParts: true)
    io = SerialIO(try translating(try IOPool(threads: 1)))
    current = Mutex(try Self.open(name, in: files, path))
  }

  /// Returns the path with symbolic links resolved (realpath(3)), because a rename would replace a link and not the file.
  /// Returns `path` unchanged if it cannot be resolved, for example because no file exists.
  private static func resolved(_ path: String) -> String {
    guard let found = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  private static func open(
    _ name: String, in files: PartDirectory, _ path: String
  ) throws(TransferError) -> PartFile {
    while true {
      let file: FileDescriptor
      switch files.directory.openBeneath(name, O_RDWR | O_CREAT, mode: 0o600) {
      case .success(let opened): file = opened
      case .failure(let error):
        throw .file(error.number, "cannot open the download list \(path)", in: files.directory)
      }
      let status = try translating(try file.status())
      guard status.isRegular else {
        throw TransferError(.pathConflict, "the download list \(path) is not a file")
      }
      guard file.lock(exclusive: true) else {
        throw TransferError(.pathConflict, "another DownloadQueue uses the download list \(path)")
      }
      // Prevents this order: the file is opened → another queue replaces it and ends → the old file is locked.
      if try translating(try files.directory.status(of: name))?.inode == status.inode {
        return PartFile(name: name, inode: status.inode, file: file)
      }
    }
  }

  /// Unlocks the list, so that another queue may use it.
  func release() { current.withLock { $0 = nil } }

  /// Unlocks the list after all current writes. Later writes are ignored.
  func giveUp() async { await io.run { self.release() } }

  // MARK: - Reading

  /// Returns the entries; none if the file is new. Blocks.
  func read() throws(TransferError) -> [DownloadListEntry] {
    let bytes = try bytes()
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    let first = lines.firstIndex { $0.starts(with: Line.start) } ?? lines.endIndex
    let json = first < lines.endIndex ? bytes[..<lines[first].startIndex] : bytes[...]
    guard !json.isEmpty else { return [] }
    do {
      var content = try JSONDecoder().decode(Content.self, from: Data(json))
      guard content.version == Self.version else {
        throw TransferError(
          .io,
          "the download list \(path) has the format version \(content.version), which this program cannot read"
        )
      }
      var published: [String: PublishedFile] = [:]
      // The process may have died in the middle of a line.
      for line in lines[first...] {
        guard let line = try? JSONDecoder().decode(Line.self, from: Data(line)) else { continue }
        published[line.entry] = line.file
      }
      for (index, entry) in content.downloads.enumerated() {
        content.downloads[index].published = published[entry.id] ?? entry.published
      }
      return content.downloads
    } catch let error as TransferError {
      throw error
    } catch {
      throw TransferError(.io, "cannot read the download list \(path): \(error)")
    }
  }

  private func bytes() throws(TransferError) -> [UInt8] {
    guard let file = current.withLock(\.self) else { return [] }
    let size = Int(try file.size())
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 16)
    defer { unsafe room.deallocate() }
    let count = try unsafe file.read(
      into: UnsafeMutableRawBufferPointer(rebasing: room[..<size]), at: 0)
    return unsafe Array(room[..<count])
  }

  // MARK: - Writing

  /// Durably replaces the content with the entries that `entries` returns. Keeps the old file if `entries` returns nil.
  func write(
    _ entries: @escaping @Sendable () -> [DownloadListEntry]?
  ) async throws(TransferError) {
    try await io.run { () throws(TransferError) in
      guard self.current.withLock({ $0 != nil }), let entries = entries() else { return }
      let bytes: [UInt8]
      do {
        let content = Content(version: Self.version, downloads: entries)
        bytes = Array(try JSONEncoder().encode(content))
      } catch {
        throw TransferError(.io, "cannot write the download list \(self.path): \(error)")
      }
      try self.replace(bytes)
    }
  }

  private func replace(_ bytes: [UInt8]) throws(TransferError) {
    // The mode is set at creation, so that no other user can ever open the file.
    let file = try files.createAnew("\(name).new", mode: 0o600)
    do {
      try file.write(bytes)
      _ = try files.rename("\(name).new", to: name)
    } catch {
      try? files.remove("\(name).new")
      throw error
    }
    current.withLock { $0 = file }
    try files.sync()
  }

  /// Appends a line that records the file of the entry `id`; no line if `file` returns nil. On return, the line survives the
  /// end of the process, but perhaps not a power failure. A line that cannot be written is not an error.
  func add(_ id: String, _ file: @escaping @Sendable () -> PublishedFile?) async {
    await io.run {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys]
      guard let file = file(), let list = self.current.withLock(\.self),
        let line = try? encoder.encode(Line(entry: id, file: file)), let size = try? list.size()
      else { return }
      // The previous line may be incomplete, so start a new line.
      let bytes = [UInt8(ascii: "\n")] + line + [UInt8(ascii: "\n")]
      unsafe bytes.withUnsafeBytes { unsafe try? list.write($0, at: size) }
    }
  }
}

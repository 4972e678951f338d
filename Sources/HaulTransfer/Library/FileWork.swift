import HaulSystem
import Synchronization

/// Downloads a file: transfers the bytes into a part file, then gives the part file the final name.
final class FileWork: DownloadWork {
  private let engine: Engine
  private let io: IOPool
  /// The directory where a relative path starts; nil if the path is absolute.
  private let base: String?
  /// The parsed URL, which the first attempt takes so that it need not parse the URL again; nil afterwards. A finished download
  /// thus does not keep it in memory.
  private let url: Mutex<WebURL?>
  /// The transfer in progress.
  private let transfer = Mutex<PartTransfer?>(nil)

  init(_ engine: Engine, _ io: IOPool, url: WebURL?, base: String?) {
    self.engine = engine
    self.io = io
    self.url = Mutex(url)
    self.base = base
  }

  func stop() { transfer.withLock(\.self)?.stop() }

  var progress: AttemptProgress? {
    guard let transfer = transfer.withLock(\.self) else { return nil }
    return Self.progress(of: transfer)
  }

  private static func progress(of transfer: PartTransfer) -> AttemptProgress {
    let (bytes, total, fetched) = transfer.progress
    return AttemptProgress(
      bytes: bytes, total: total, fetched: fetched, received: transfer.received)
  }

  func discard(_ data: ResumeData) async { await Self.discard(data, io) }

  static func discard(_ data: ResumeData, _ io: IOPool) async {
    let (saved, directory) = (data.checkpoint, data.checkpoint.directory)
    await io.run {
      // The program may have created the resume data itself. So remove only a partial file, and only if it has the right inode.
      guard saved.part.contains(DownloadTarget.mark), let directory,
        let open = try? FileDescriptor.directory(directory)
      else { return }
      // The part stays if another download uses it.
      _ = try? PartDirectory(open, locksParts: true).discard(saved.part, inode: saved.inode)
    }
  }

  func remove(_ file: DownloadedFile, _ identity: FileIdentity, of request: DownloadRequest) async {
    await io.run { [base] in
      let (directory, name) = DownloadTarget.split(file.path)
      let path = DownloadTarget.absolute(directory, from: base ?? "")
      guard let open = try? FileDescriptor.directory(path) else { return }
      _ = try? PartDirectory(open).removeFile(name, identity)
    }
  }

  func attempt(_ download: Download) async -> Result<DownloadedFile, TransferError> {
    defer { download.registry?.unclaim(download) }
    do throws(TransferError) {
      return .success(try await fetch(download))
    } catch {
      var error = error
      if error.isAboutFiles { error.path = error.path ?? download.path }
      return .failure(error)
    }
  }

  private func fetch(_ download: Download) async throws(TransferError) -> DownloadedFile {
    let data = download.shared.withLock { $0.saved }
    let plan = try await io.run { () throws(TransferError) in try self.plan(download, data) }
    let (transfer, target): (PartTransfer, DownloadTarget)
    switch plan {
    case .existing(let file): return file
    case .transfer(let made, let place): (transfer, target) = (made, place)
    }
    if var moved = transfer.order.resuming?.checkpoint {
      moved.directory = target.directoryPath
      if let moved = ResumeData(moved), moved != data { download.saved(moved) }
      // From now on, this download keeps or removes the partial file.
      if let data { download.registry?.forget(data) }
    } else {
      download.forgetSaved()
    }
    self.transfer.withLock { $0 = transfer }
    if download.shared.withLock({ $0.wish != .complete }) { transfer.stop() }
    let outcome = await transfer.run()
    download.remember(Self.progress(of: transfer))
    self.transfer.withLock { $0 = nil }
    defer { transfer.unlockPart() }
    if case .complete(let part, let length) = outcome {
      await download.members?.willPublish(part, length: length, of: download)
    }
    return try await io.run { () throws(TransferError) in
      try Self.end(outcome, transfer, try target.named(download.chosenName), download)
    }
  }

  /// What an attempt does, decided before it sends a request.
  private enum Plan: Sendable {
    /// This file counts as the result.
    case existing(DownloadedFile)
    case transfer(PartTransfer, DownloadTarget)
  }

  /// Checks the disk and creates the transfer. Called on a thread of the pool.
  private func plan(_ download: Download, _ data: ResumeData?) throws(TransferError) -> Plan {
    let url = try takeURL(of: download.request)
    if url.isFile { download.chooseName(by: url) }
    let target = try DownloadTarget(download.request, from: base).named(download.chosenName)
    let existing = try Self.check(target, for: download)
    var order = try Self.order(download.request, url, target, data?.checkpoint)
    if let existing {
      // The part is no longer needed.
      if let part = order.resuming?.part { try? target.parts.remove(part.name) }
      return .existing(existing)
    }
    if download.request.options.onlyIfChangedSince != nil {
      order.present = TransferRequest.present(
        url, download.request.options, stands: try target.existing(.skip) != nil)
    }
    observe(&order, target, by: download)
    let transfer = PartTransfer(
      order, engine: engine, io: io,
      save: { [url = download.request.url, sendsBody = order.body != nil] in
        var checkpoint = $0
        (checkpoint.url, checkpoint.directory) = (url, target.directoryPath)
        checkpoint.chosenName = download.chosenName
        if !sendsBody, let data = ResumeData(checkpoint) { download.saved(data) }
        return true
      })
    return .transfer(transfer, target)
  }

  private func takeURL(of request: DownloadRequest) throws(TransferError) -> WebURL {
    if let parsed = url.withLock({ $0.take() }) { return parsed }
    return try WebURL(request.url, schemes: WebURL.knownSchemes)
  }

  /// Checks before the first byte whether the file can get its name.
  ///
  /// - Returns: The file that counts as the result; nil if there is none.
  /// - Throws: `exists` under the policy `fail`; `path_conflict` if a directory has the name, or if another download will
  ///   create the file.
  private static func check(
    _ target: DownloadTarget, for download: Download
  ) throws(TransferError) -> DownloadedFile? {
    let policy = download.request.options.ifExists
    // The claim comes before the check of the disk, to prevent this order:
    //   no file exists → another download publishes its file and gives up its claim → this download claims the path.
    if let place = try target.place(), let registry = download.registry,
      !registry.claim(place, for: download), policy == .fail
    {
      throw TransferError(.pathConflict, "another download already uses the path \(download.path)")
    }
    return try target.existing(policy)
  }

  /// Passes the redirects, requests and responses of the transfer to the download.
  private func observe(
    _ order: inout TransferRequest, _ target: DownloadTarget, by download: Download
  ) {
    order.onRedirect = { head, from, next in
      if let error = download.request.options.refusal(of: head, from, to: next) { return error }
      download.tell(.redirected(from: from.text, to: next.text))
      return nil
    }
    let text = download.request.url
    order.onRequest = { metrics in
      var metrics = metrics
      // Share the text, so that a finished download keeps only one copy of its URL.
      if metrics.url == text { metrics.url = text }
      download.shared.withLock { $0.spent.add(metrics) }
    }
    if download.request.isDirectory {
      // The transfer calls this check after the response has named the file.
      let check: @Sendable () throws(TransferError) -> Void = { () throws(TransferError) in
        let named = try target.named(download.chosenName)
        if let file = try Self.check(named, for: download) { throw .exists(file.path) }
      }
      order.checkTarget = check
      // An empty body may end before that check runs, so check here, too.
      order.makePart = { [makePart = order.makePart] (name, length) throws(TransferError) in
        try check()
        return try makePart(name, length)
      }
    }
    if !order.url.isFile {
      order.onResponse = { head, url in
        var response = DownloadResponse(head, from: url)
        if response.url == text { response.url = text }
        return download.received(response)
      }
    }
  }

  /// Creates the request. It continues the part that `saved` names, if that part exists.
  private static func order(
    _ request: DownloadRequest, _ url: WebURL, _ target: DownloadTarget, _ saved: Checkpoint?
  ) throws(TransferError) -> TransferRequest {
    var order = try TransferRequest(
      url, request.options, partName: target.newPartName(), makePart: target.parts.make)
    // The first resume data should exist soon, because a program may be killed.
    order.firstCheckpoint = .milliseconds(500)
    // Unlike in a worker pool, no other process waits to continue the part, so a pause may wait for a slow disk.
    order.stopTime = .seconds(60)
    // The part is opened last, because opening may move it.
    if let saved, let part = try target.part(saved) {
      order.partName = saved.part
      order.resuming = (saved, part)
    } else if let saved {
      // The part no longer holds its durable bytes, and nothing else would remove it.
      target.discard(saved)
    }
    return order
  }

  /// Publishes a complete part, or removes the files that cannot be continued.
  private static func end(
    _ outcome: TransferOutcome, _ transfer: PartTransfer, _ target: DownloadTarget,
    _ download: Download
  ) throws(TransferError) -> DownloadedFile {
    do throws(TransferError) {
      // The download may have been cancelled while the last byte arrived.
      guard case .complete(let part, let length) = outcome, !download.isCancelled else {
        if case .failed(let error) = outcome {
          // The response has named an existing file.
          guard error.errorClass == .exists, download.request.options.ifExists == .skip,
            !download.isCancelled, let file = try target.existing(.skip)
          else { throw error }
          remove(transfer.partNames, target)
          return file
        }
        if case .unchanged = outcome, !download.isCancelled {
          guard var file = try target.existing(.skip) else {
            throw TransferError(.io, "the file \(download.path) was removed")
          }
          file.isUnchanged = true
          return file
        }
        throw TransferError(.cancelled, "the download was cancelled")
      }
      var (file, identity) = try target.publish(
        part, length: length, options: download.request.options)
      download.shared.withLock { $0.published = identity }
      file.response = download.response
      remove(transfer.partNames.filter { $0 != part.name }, target)
      return file
    } catch {
      if !download.keepsPart(after: error) { download.forgetSaved() }
      let kept = download.shared.withLock { $0.saved?.checkpoint.part }
      remove(transfer.partNames.filter { $0 != kept }, target)
      throw error
    }
  }

  /// Removes part files. Ignores errors, because only the download's own result counts.
  private static func remove(_ names: [String], _ target: DownloadTarget) {
    for name in names { try? target.parts.remove(name) }
  }
}

extension TransferError {
  /// Whether the error concerns a local file, and not the network.
  var isAboutFiles: Bool {
    switch errorClass {
    case .exists, .pathConflict, .diskFull, .io, .notPermitted, .openFiles: true
    default: false
    }
  }
}

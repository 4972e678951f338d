/// The results of several downloads, in the order of completion.
///
/// A download that has ended still counts towards the concurrency limit until the loop has handled its result and asks for the
/// next one. A slow loop therefore delays the downloads that have not begun.
///
/// Each of these events cancels the remaining downloads:
/// - You leave a loop over this value.
/// - The task that runs the loop is cancelled.
/// - The last copy of this value is released.
/// - You call ``cancel()``.
///
/// Haul then removes the partial files of these downloads. ``Downloader/shutdown()`` waits until they are removed.
///
/// At the top level of a program (`main.swift`), Swift keeps the iterator of a loop until the program ends. If you leave such a
/// loop, no more downloads begin, but running downloads continue: call ``cancel()``, or put the loop into a function.
public struct Downloads: AsyncSequence, Sendable {
  /// Cancels the work when the last reference is released.
  fileprivate final class Owner: Sendable {
    let work: Task<Void, Never>

    init(_ work: Task<Void, Never>) { self.work = work }

    deinit { work.cancel() }
  }

  private let stream: AsyncStream<DownloadResult>
  private let owner: Owner
  private let demand: Demand

  init(
    _ list: [DownloadRequest], by downloader: some Downloading, maxConcurrent: Int,
    continueAfterFailure: Bool
  ) {
    precondition(maxConcurrent > 0, "the limit must be at least 1")
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadResult.self)
    self.stream = stream
    let demand = Demand(maxConcurrent)
    self.demand = demand
    let work = Task {
      await withTaskGroup(of: DownloadResult?.self) { group in
        var waiting = list.makeIterator()
        func begin() {
          guard let next = waiting.next() else { return }
          group.addTask { await demand.take() ? await Self.result(of: next, downloader) : nil }
        }
        for _ in 0..<Swift.min(maxConcurrent, list.count) { begin() }
        await withTaskCancellationHandler {
          while case let ended?? = await group.next() {
            if Task.isCancelled { break }
            continuation.yield(ended)
            if case .failure = ended.result, !continueAfterFailure { break }
            begin()
          }
        } onCancel: {
          demand.end()
        }
        demand.end()
        group.cancelAll()
      }
      continuation.finish()
    }
    owner = Owner(work)
  }

  private static func result(
    of request: DownloadRequest, _ downloader: some Downloading
  ) async -> DownloadResult {
    let download = downloader.start(request)
    let result = await withTaskCancellationHandler {
      await download.result
    } onCancel: {
      download.cancel()
    }
    // Leave no partial file after a failure.
    if case .failure = result {
      download.cancel()
      await download.untilRemoved()
    }
    return DownloadResult(request: request, result: result)
  }

  /// Cancels the unfinished downloads. The loop then ends.
  public func cancel() { owner.work.cancel() }

  /// Returns an iterator. Run one loop at a time: several loops would split the results among them.
  public func makeAsyncIterator() -> Iterator {
    Iterator(stream.makeAsyncIterator(), owner, demand)
  }

  /// An iterator over the results. When it is released, it cancels the remaining downloads.
  public struct Iterator: AsyncIteratorProtocol {
    private var results: AsyncStream<DownloadResult>.Iterator
    private let owner: Owner
    /// Keeps the work alive if the sequence is released before the loop ends.
    private let sequence: Owner
    private let demand: Demand
    private var hasResult = false

    fileprivate init(
      _ results: AsyncStream<DownloadResult>.Iterator, _ sequence: Owner, _ demand: Demand
    ) {
      self.results = results
      self.demand = demand
      self.sequence = sequence
      owner = Owner(sequence.work)
    }

    /// Waits for the next result. Returns nil after the last result, and if the task is cancelled.
    public mutating func next() async -> DownloadResult? {
      if hasResult { demand.give() }
      let result = await withTaskCancellationHandler {
        await results.next()
      } onCancel: { [work = owner.work] in
        work.cancel()
      }
      hasResult = result != nil
      return result
    }
  }
}

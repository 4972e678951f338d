/// The results of several downloads, in the order of completion.
///
/// A result keeps the place of its download until the loop asks for the next result. So a slow loop delays the downloads that have
/// not begun.
///
/// What is left is cancelled when a loop over it is left, when the task that runs the loop is cancelled, when the last copy of
/// this value goes, and by ``cancel()``. Partial files are removed soon after; ``Downloader/shutdown()`` waits for that.
///
/// At the top level of a program (`main.swift`) Swift keeps the iterator of a loop until the program ends. If such a loop is left,
/// nothing more begins, but what runs goes on: call ``cancel()``, or put the loop into a function.
public struct Downloads: AsyncSequence, Sendable {
  /// Cancels the work with its last reference.
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
    precondition(maxConcurrent > 0, "no download would ever start")
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
    // A failure leaves nothing behind.
    if case .failure = result {
      download.cancel()
      await download.untilRemoved()
    }
    return DownloadResult(request: request, result: result)
  }

  /// Cancels what is not over. The loop then ends.
  public func cancel() { owner.work.cancel() }

  /// One loop at a time: several share the results.
  public func makeAsyncIterator() -> Iterator {
    Iterator(stream.makeAsyncIterator(), owner, demand)
  }

  /// Gives the results, and cancels what is left when it goes.
  public struct Iterator: AsyncIteratorProtocol {
    private var results: AsyncStream<DownloadResult>.Iterator
    private let owner: Owner
    /// The sequence may go before the loop is through.
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

    /// Waits for the next result. Nil after the last, and when the task is cancelled.
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

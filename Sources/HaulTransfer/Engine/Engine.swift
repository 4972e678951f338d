import HaulSystem

/// Fetches over HTTP with one thread and one `curl_multi`. If FTP or SFTP is allowed, a second thread serves those protocols.
/// At the end of an FTP or SFTP transfer, libcurl 7.88 blocks until the server answers. With one thread, this would delay all
/// other exchanges.
///
/// Each exchange (a request with its response) has a connection of its own, even with HTTP/2. In libcurl 7.88, a paused HTTP/2
/// stream blocks all other streams of the same connection. The engine reuses connections and libcurl handles for later
/// exchanges.
package final class Engine: Sendable {
  package typealias Configuration = DownloaderConfiguration

  private let mailbox: EngineMailbox
  /// The mailbox for FTP and SFTP; nil if neither is allowed.
  private let fileMailbox: EngineMailbox?
  let configuration: Configuration

  /// Creates an engine and starts its threads.
  ///
  /// - Throws: `.io` if libcurl or the system does not provide a resource that the engine needs, such as a thread.
  package init(_ configuration: Configuration = Configuration()) throws(TransferError) {
    self.configuration = configuration
    mailbox = try EngineThread.start(configuration)
    do throws(TransferError) {
      let isWanted = !configuration.allowedSchemes.isDisjoint(with: WebURL.fileSchemes)
      fileMailbox = isWanted ? try EngineThread.start(configuration) : nil
    } catch {
      mailbox.post(.shutdown)
      throw error
    }
  }

  deinit {
    mailbox.post(.shutdown)
    fileMailbox?.post(.shutdown)
  }

  /// Runs one request without following redirects.
  ///
  /// Returns when the exchange is over and the sink has received every accepted body byte. Cancelling the task cancels the
  /// exchange. This function does not throw: errors are in ``ExchangeResult/outcome``.
  package func perform(
    _ request: ExchangeRequest, sink: any BodySink, handle: ExchangeHandle = ExchangeHandle()
  ) async -> ExchangeResult {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let order = PendingExchange(
          request: request, sink: sink, handle: handle, continuation: continuation)
        let mailbox = request.isForFile ? fileMailbox ?? mailbox : mailbox
        if !mailbox.post(.start(order)) { order.refuse(.cancelled) }
      }
    } onCancel: {
      handle.cancel()
    }
  }

  /// Ends all exchanges as `.cancelled`, closes all connections, and returns when the threads have released everything. A
  /// second call is not an error.
  package func shutdown() async {
    await withCheckedContinuation { mailbox.shutdown($0) }
    if let fileMailbox { await withCheckedContinuation { fileMailbox.shutdown($0) } }
  }
}

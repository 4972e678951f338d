import HaulSystem

/// Fetches over HTTP: one thread, one `curl_multi`. Where FTP or SFTP is allowed, these have another thread: at the end of a transfer
/// libcurl 7.88 waits there for the server's word, and would hold up all others.
///
/// Each exchange has a connection of its own, also with HTTP/2: with libcurl 7.88 a paused stream holds up
/// all others of its connection. Connections and handles are kept and reused between exchanges.
package final class Engine: Sendable {
  package typealias Configuration = DownloaderConfiguration

  private let mailbox: EngineMailbox
  /// The mailbox for FTP and SFTP; nil if neither is allowed.
  private let fileMailbox: EngineMailbox?
  let configuration: Configuration

  /// Starts the thread.
  ///
  /// - Throws: `.io` when libcurl or the system cannot provide what an engine needs.
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

  /// Runs one request; redirects are not followed.
  ///
  /// Returns when the exchange is over and every accepted body byte has been handed to the sink. Cancelling
  /// the task cancels the exchange. Nothing is thrown: see ``ExchangeResult/outcome``.
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

  /// Ends all exchanges as `.cancelled`, closes all connections and returns when the thread has let go of
  /// everything. A second call is no error.
  package func shutdown() async {
    await withCheckedContinuation { mailbox.shutdown($0) }
    if let fileMailbox { await withCheckedContinuation { fileMailbox.shutdown($0) } }
  }
}

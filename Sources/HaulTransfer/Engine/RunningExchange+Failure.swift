import HaulSystem

/// Classifies the error that ended the exchange.
extension RunningExchange {
  /// Returns whether the failure comes from a reused connection and says nothing about this request: the connection broke, or
  /// bytes of its last response came instead of a head. libcurl recovers from that without help, but only five times in a
  /// handle's life (CONN_MAX_RETRIES, counted over all its transfers).
  func deservesFreshConnection(after finished: CurlEnd) -> Bool {
    guard !isFresh, parsed == nil, !isAnswer(finished), connectedTo != nil, openedSockets.isEmpty,
      case .failed(let error) = ending ?? judge(finished)
    else { return false }
    return error.errorClass == .protocol || error.errorClass == .interrupted
  }

  /// Returns how the exchange ended, from libcurl's result and the received data.
  func judge(_ finished: CurlEnd) -> ExchangeOutcome {
    guard let parsed else {
      if connectedTo == nil, openedSockets.isEmpty, !refused.isEmpty {
        return .failed(TransferError(notPublic: refused, host: hostKey))
      }
      if lacksDescriptors {
        return .failed(
          failure(.openFiles, "cannot connect: too many files are open"))
      }
      let progress: CurlEnd.Progress =
        connectedTo != nil ? .connected : openedSockets.isEmpty ? .resolving : .connecting
      if let proxy = limits.proxy, let fault = finished.fault(of: proxy, easy.proxyProgress) {
        let remedy =
          fault.message == CurlEnd.proxyWantsPassword ? TransferError.Remedy.proxyPassword : nil
        return .failed(failure(fault.errorClass, fault.message, remedy: remedy))
      }
      if file != nil,
        let fault = finished.fileFault(order.request, of: hostKey, easy.reply, progress)
      {
        return .failed(failure(fault.errorClass, fault.message, remedy: fault.remedy))
      }
      let errorClass = finished.errorClass(progress)
      let message = finished.message(errorClass)
      guard errorClass == .connect, !refused.isEmpty else {
        return .failed(failure(errorClass, message))
      }
      let others = refused.map(\.description).joined(separator: " and ")
      return .failed(
        failure(
          errorClass,
          "\(message). Haul skipped these addresses because they are not public: \(others)",
          remedy: .allow(refused.map(CIDR.init))))
    }
    guard finished.isOK else {
      return finished.isTimeout ? .stalled(finished.sentence) : .truncated(finished.sentence)
    }
    switch parsed.framing {
    case .untilClose: return tlsEnd?.isSaid == false ? .cut : .closed
    case .length(let length) where length != bytes:
      return .truncated("the server sent \(bytes) of \(length) bytes")
    case .chunked where chunks?.isDone == false:
      return .truncated("the server closed the connection before the last chunk")
    case .length, .chunked, .stream, .noBody: return .complete
    }
  }

  /// Returns whether to send the request again and let the engine read the length, because libcurl could not read the
  /// Content-Length. One example is a value on the next line. Haul never repeats a request that has a body.
  func hasUnreadableLength(after finished: CurlEnd) -> Bool {
    parsed == nil && ending == nil && finished.refusesLength && order.request.body == nil
      && !order.request.engineReadsLength
  }

  /// Whether the system gave no descriptor for a socket, or has fewer descriptors left than an exchange may need before its
  /// response. Name resolution and TLS open files too, and libcurl does not report why they failed.
  var lacksDescriptors: Bool {
    if TransferError.file(socketError, "").errorClass == .openFiles { return true }
    var taken: [FileDescriptor] = []
    do throws(SystemError) {
      while taken.count < 8 { taken.append(try FileDescriptor.directory("/")) }
      return false
    } catch {
      return TransferError(error).errorClass == .openFiles
    }
  }

  var hostKey: String? {
    (try? WebURL(order.request.url, schemes: WebURL.knownSchemes))?.hostKey
  }

  func failure(
    _ errorClass: TransferError.Class, _ message: String, remedy: TransferError.Remedy? = nil
  ) -> TransferError {
    TransferError(errorClass, message, remedy: remedy, host: hostKey)
  }
}

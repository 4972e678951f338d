import HaulSystem

/// What an error says of the exchange that it ended.
extension RunningExchange {
  /// Whether no descriptor was to be had for a socket, or fewer are now than an exchange may have open on its way to an answer:
  /// resolving and TLS open files too, and libcurl does not tell why they failed.
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

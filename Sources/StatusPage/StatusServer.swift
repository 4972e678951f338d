package import Log

/// The metrics and the page of a pool, served on one address. It reads and changes nothing: the rights of `haul_monitor` are
/// enough.
package final class StatusServer: Sendable {
  /// Where it listens, with the port that it got.
  package let address: ListenAddress
  private let reader: PoolReader
  private let server: HTTPServer

  /// Listens on `address` from now on; the database is connected to when somebody asks.
  ///
  /// - Parameters:
  ///   - token: what whoever asks must know; nil on a loopback address alone.
  ///   - leader: what this process knows of itself as the pool's housekeeper.
  package init(
    on address: ListenAddress, token: ListenToken?, conninfo: String, version: String,
    leader: @escaping @Sendable () -> LeaderFacts, logger: Logger
  ) throws(ListenError) {
    guard token != nil || address.isLoopback else { throw .needsToken(address) }
    let socket = try ListenSocket(address)
    let reader = PoolReader(conninfo: conninfo)
    let desk = StatusResponder(
      rules: AccessRules(token: token), reader: reader, version: version, leader: leader,
      logger: logger)
    self.address = socket.address
    self.reader = reader
    server = try HTTPServer(socket) { await desk.answer($0) }
    logger.info(.pageListening, (.address, LogValue("\(socket.address)")))
  }

  /// Ends all connections, those of whoever looks and those to the database.
  package func stop() async {
    await server.stop()
    await reader.close()
  }
}

package import Log
package import Postgres

/// Serves the metrics and the status page of a pool on one address. It only reads, so the rights of the role `haul_monitor` are
/// enough.
package final class StatusServer: Sendable {
  /// The address on which the server listens, with the actual port.
  package let address: ListenAddress
  private let reader: PoolReader
  private let server: HTTPServer

  /// Starts to listen on `address`. The server connects to the database at the first request.
  ///
  /// - Parameters:
  ///   - token: the secret that every client must send. It may be nil only on a loopback address.
  ///   - leader: returns whether this process runs the pool's maintenance, and how many rounds of maintenance it has run.
  package init(
    on address: ListenAddress, token: ListenToken?, conninfo: String, schema: SchemaName = .usual,
    version: String,
    leader: @escaping @Sendable () -> LeaderFacts, logger: Logger
  ) throws(ListenError) {
    guard token != nil || address.isLoopback else { throw .needsToken(address) }
    let socket = try ListenSocket(address)
    let reader = PoolReader(conninfo: conninfo, schema: schema)
    let desk = StatusResponder(
      rules: AccessRules(token: token), reader: reader, version: version, leader: leader,
      logger: logger)
    self.address = socket.address
    self.reader = reader
    server = try HTTPServer(socket) { await desk.answer($0) }
    logger.info(.pageListening, (.address, LogValue("\(socket.address)")))
  }

  /// Stops the server: closes all connections to clients and to the database.
  package func stop() async {
    await server.stop()
    await reader.close()
  }
}

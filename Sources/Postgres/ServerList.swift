/// One of several servers in a connection string.
struct ServerAddress: Sendable, Equatable {
  let host: String?
  let hostaddr: String?
  let port: String?

  /// The connection parameters that select only this server.
  var parameters: [String: String] {
    var parameters = ["host": host ?? "", "port": port ?? ""]
    if let hostaddr { parameters["hostaddr"] = hostaddr }
    return parameters
  }

  /// The server as a line in the file of ``KnownAddresses``.
  var line: String {
    [host, hostaddr, port].map { $0 ?? "" }.joined(separator: " ")
  }
}

/// The servers that libpq would try one after the other. Their names may come from the string, a service file or the
/// environment. (libpq: "Specifying Multiple Hosts")
struct ServerList: Sendable, Equatable {
  let servers: [ServerAddress]
  /// Whether libpq chooses among the servers by other rules than their order.
  let isChosenFrom: Bool

  /// Creates the list from connection parameters. Makes no connection.
  init(_ parameters: [String: String]) throws(PostgresError) {
    // PQconnectStart collects the parameters. Because of the invalid sslmode, it ends before it connects.
    guard let libpq = Libpq(starting: parameters.merging(["sslmode": "none such"]) { $1 }) else {
      throw .connecting(nil, "out of memory")
    }
    let options = libpq.options
    isChosenFrom =
      options["load_balance_hosts", default: "disable"] != "disable"
      || options["target_session_attrs"] == "prefer-standby"
    let list = { (name: String) in
      options[name].map {
        $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      }
    }
    let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port") ?? [])
    servers = (0..<max(hosts?.count ?? 0, addresses?.count ?? 0)).map { index in
      let of = { (values: [String]?) in
        values.flatMap { $0.indices.contains(index) ? $0[index] : nil }
      }
      return ServerAddress(
        host: of(hosts), hostaddr: of(addresses), port: ports.count == 1 ? ports[0] : of(ports))
    }
  }
}

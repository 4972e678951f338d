/// One of several servers that a connection string lists.
struct ServerAddress: Sendable, Equatable {
  let host: String?
  let hostaddr: String?
  let port: String?

  /// The parameters that lead to it alone.
  var parameters: [String: String] {
    var parameters = ["host": host ?? "", "port": port ?? ""]
    if let hostaddr { parameters["hostaddr"] = hostaddr }
    return parameters
  }

  /// The address in a file of ``KnownAddresses``.
  var line: String {
    [host, hostaddr, port].map { $0 ?? "" }.joined(separator: " ")
  }
}

/// The servers that libpq would try in turn, wherever their names come from: the string, a service file or the environment.
/// (libpq: "Specifying Multiple Hosts")
struct ServerList: Sendable, Equatable {
  let servers: [ServerAddress]
  /// Whether libpq is to choose among them by more than their order.
  let isChosenFrom: Bool

  /// Reads the parameters, and connects to nothing.
  init(_ parameters: [String: String]) throws(PostgresError) {
    // PQconnectStart gathers the parameters, and ends before it connects if one of them has no such value.
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

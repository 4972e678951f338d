import CLibpq
import Glibc

/// Owns a `PGresult`, and frees it when the value ends.
@safe struct LibpqResult: ~Copyable {
  enum Status {
    /// The statement succeeded, with or without rows, or was empty.
    case done
    case copyIn
    case copyOut
    case failed
  }

  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  deinit {
    unsafe PQclear(handle)
  }

  var status: Status {
    switch unsafe PQresultStatus(handle) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .done
    case PGRES_COPY_IN: .copyIn
    case PGRES_COPY_OUT, PGRES_COPY_BOTH: .copyOut
    default: .failed
    }
  }

  /// Returns the error of a `failed` result: an error of the server, or the end of the connection.
  func error() -> PostgresError {
    let message =
      field(Int32(UInt8(ascii: "M")))
      ?? PostgresError.oneLine(unsafe String(cString: PQresultErrorMessage(handle)))
    // PG_DIAG_SEVERITY_NONLOCALIZED: after FATAL and PANIC the server closes the connection.
    let severity = field(Int32(UInt8(ascii: "V")))
    guard let state = field(Int32(UInt8(ascii: "C"))), severity == "ERROR" else {
      // The words of PgBouncer.
      return message.contains("in statement pooling mode")
        ? .noTransactions : .connectionLost(message)
    }
    return .server(
      .init(
        state: SQLState(rawValue: state), message: message,
        detail: field(Int32(UInt8(ascii: "D"))),
        hint: field(Int32(UInt8(ascii: "H"))),
        constraint: field(Int32(UInt8(ascii: "n")))))
  }

  /// Returns a field of the error by its letter in the protocol; nil if the error lacks it. libpq's PG_DIAG_ macros have the same
  /// values.
  private func field(_ code: Int32) -> String? {
    unsafe PQresultErrorField(handle, code).map { unsafe String(cString: $0) }
  }

  /// Copies all rows out of libpq's memory.
  func rows() -> Rows {
    let columnCount = unsafe PQnfields(handle)
    let rowCount = unsafe PQntuples(handle)
    var bytes: [UInt8] = []
    var cells: [Range<Int>?] = []
    cells.reserveCapacity(Int(columnCount) * Int(rowCount))
    for row in 0..<rowCount {
      for column in 0..<columnCount {
        guard unsafe PQgetisnull(handle, row, column) == 0,
          let value = unsafe PQgetvalue(handle, row, column)
        else {
          cells.append(nil)
          continue
        }
        let start = bytes.count
        unsafe bytes.append(
          contentsOf: UnsafeRawBufferPointer(
            start: value, count: Int(PQgetlength(handle, row, column))))
        cells.append(start..<bytes.count)
      }
    }
    return Rows(
      columns: (0..<columnCount).map { unsafe String(cString: PQfname(handle, $0)) },
      affected: Int(unsafe String(cString: PQcmdTuples(handle))) ?? 0,
      commandTag: unsafe String(cString: PQcmdStatus(handle)),
      bytes: bytes, cells: cells, rowCount: Int(rowCount))
  }
}

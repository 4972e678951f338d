/// The rows of one statement, copied out of libpq, in the server's order.
package struct Rows: Sendable {
  /// The names of the columns, in the order of the statement.
  package let columns: [String]
  /// The number of rows that were inserted, updated, deleted, selected or copied; 0 for other statements.
  package let affected: Int
  /// The server's tag for the completed command, such as `COMMIT` or `INSERT 0 5`.
  let commandTag: String
  /// The bytes of all values, one value after another.
  private let bytes: [UInt8]
  /// The range of each value in `bytes`, row by row; nil is NULL.
  private let cells: [Range<Int>?]
  private let rowCount: Int

  init(
    columns: [String] = [], affected: Int = 0, commandTag: String = "", bytes: [UInt8] = [],
    cells: [Range<Int>?] = [], rowCount: Int = 0
  ) {
    self.columns = columns
    self.affected = affected
    self.commandTag = commandTag
    self.bytes = bytes
    self.cells = cells
    self.rowCount = rowCount
  }

  fileprivate func cell(row: Int, column: Int) -> ArraySlice<UInt8>? {
    cells[row * columns.count + column].map { bytes[$0] }
  }
}

extension Rows: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { rowCount }

  package subscript(position: Int) -> Row {
    precondition(indices.contains(position), "the row is out of range")
    return Row(rows: self, index: position)
  }
}

/// One row, which decodes its values on request.
package struct Row: Sendable {
  fileprivate let rows: Rows
  fileprivate let index: Int

  /// Returns the value of a column by its name. If several columns have this name, returns the value of the first.
  ///
  /// NULL is an error unless `T` is optional.
  /// - Throws: `PostgresError.decoding`, which never quotes the value.
  package func decode<T: PostgresDecodable>(
    _ column: String, as type: T.Type = T.self
  ) throws(PostgresError) -> T {
    guard let position = rows.columns.firstIndex(of: column) else {
      throw .decoding(column: column, "there is no such column")
    }
    return try decode(position, as: type)
  }

  /// Returns the value of a column by its position, starting at 0.
  ///
  /// NULL is an error unless `T` is optional.
  /// - Throws: `PostgresError.decoding`, which never quotes the value.
  package func decode<T: PostgresDecodable>(
    _ position: Int, as type: T.Type = T.self
  ) throws(PostgresError) -> T {
    guard rows.columns.indices.contains(position) else {
      throw .decoding(column: "\(position)", "there is no such column")
    }
    if let text = rows.cell(row: index, column: position) {
      if let value = T(postgresText: text) { return value }
      throw .decoding(column: rows.columns[position], "the value is not of the type \(T.self)")
    }
    if let value = T.null { return value }
    throw .decoding(
      column: rows.columns[position],
      "the value is NULL, but a value of the type \(T.self) is expected")
  }
}

/// Where on the screen things stand. From the top: title, figures, sparkline, tabs, heading, rows, detail, status.
package struct TopLayout: Equatable {
  /// Less is a window too small.
  package static let least = (columns: 40, rows: 10)

  package let isTooSmall: Bool
  package let sparkline: Int
  /// Rows of the table.
  package let rows: Int
  /// Lines about the row that the cursor is on.
  package let detail: Int

  package init(_ size: (columns: Int, rows: Int)) {
    isTooSmall = size.columns < Self.least.columns || size.rows < Self.least.rows
    sparkline = size.rows >= 40 ? 4 : size.rows >= 30 ? 2 : 1
    // What is said of a row may end in a command to copy.
    detail = size.rows >= 20 ? (size.columns < 100 ? 3 : 2) : 1
    rows = max(size.rows - 5 - sparkline - detail, 1)
  }

  /// Rows of the detail of a job, which takes the place of heading, table and lines about the row.
  package var detailRows: Int { rows + 1 + detail }
}

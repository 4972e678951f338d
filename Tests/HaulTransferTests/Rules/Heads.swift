import HaulTransfer

/// A head written as `206`, then `Name: value` lines.
func head(_ status: Int, _ lines: String...) -> ResponseHead {
  ResponseHead(
    status: status,
    fields: lines.map { line in
      let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
      return .init(parts[0], String(parts[1].drop { $0 == " " }))
    })
}

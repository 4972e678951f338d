extension String {
  /// The same with some scalars replaced, each by itself. Not characters: after a scalar that is drawn together with the next one
  /// (UAX #29, "Prepend", such as U+0600) a `<` is none.
  func replacing(scalars table: [Unicode.Scalar: String]) -> String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if let replacement = table[scalar] {
        text.append(contentsOf: replacement.unicodeScalars)
      } else {
        text.append(scalar)
      }
    }
    return String(text)
  }
}

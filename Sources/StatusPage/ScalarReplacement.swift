extension String {
  /// The string with some scalars replaced. It compares scalars, not characters: after a scalar that joins the next one
  /// (UAX #29, "Prepend", such as U+0600) a `<` is no character of its own.
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

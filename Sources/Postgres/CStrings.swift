import Glibc

/// Swift strings as the array of C strings that libpq takes.
enum CStrings {
  /// Lends `body` the strings, each ended by NUL, and a null pointer after the last; nil becomes a
  /// null pointer.
  static func with<R>(
    _ strings: [String?], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R
  ) -> R {
    let copies = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(
      capacity: strings.count + 1)
    unsafe copies.initialize(repeating: nil, count: strings.count + 1)
    for (index, string) in strings.enumerated() {
      unsafe copies[index] = unsafe string.flatMap { unsafe UnsafePointer(strdup($0)) }
    }
    defer {
      for index in strings.indices {
        unsafe free(UnsafeMutablePointer(mutating: copies[index]))
      }
      unsafe copies.deallocate()
    }
    return unsafe body(copies)
  }
}

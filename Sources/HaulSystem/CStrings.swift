import Glibc

/// Converts Swift strings to the arrays of C strings that libpq and execve(2) take.
package enum CStrings {
  /// Calls `body` with the strings as NUL-terminated C strings, and a null pointer after the last one. A nil string becomes a
  /// null pointer.
  package static func with<R>(
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

  /// Calls `body` with the strings as execve(2) takes them: writable C strings, with a null pointer after the last one.
  package static func withMutable<R>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
  ) -> R {
    let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe copies.withUnsafeBufferPointer { copies in
      // The array is not empty, so it has an address.
      guard let start = copies.baseAddress else {
        preconditionFailure("the list of C strings has no null pointer at its end")
      }
      return unsafe body(start)
    }
  }
}

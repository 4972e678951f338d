import Glibc
import HaulCLinux
import HaulSystem
import Testing

@testable import HaulTransfer

/// A directory that cannot be read to its end.
struct ListingTests {
  /// Makes a system call of this thread fail from now on. (seccomp(2): SECCOMP_RET_ERRNO)
  private static func fail(_ call: Int32, with error: Int32) -> Bool {
    typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    // prctl(2) is variadic, which Swift does not import.
    guard let address = dlsym(nil, "prctl") else { return false }
    let control = unsafeBitCast(address, to: Control.self)
    // Four instructions of a filter, each an operation, two jumps and a value: load the call's number; skip the next
    // unless it is this one; fail; permit.
    let filter: [UInt64] = [
      0x20, 0x15 | 1 << 24 | UInt64(call) << 32, 0x06 | (0x0005_0000 | UInt64(error)) << 32,
      0x06 | 0x7fff_0000 << 32,
    ]
    return filter.withUnsafeBufferPointer { filter in
      let program = [UInt(filter.count), UInt(bitPattern: filter.baseAddress)]
      return program.withUnsafeBufferPointer { program in
        // PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP, SECCOMP_MODE_FILTER.
        control(38, 1, 0, 0, 0) == 0
          && control(22, 2, UInt(bitPattern: program.baseAddress), 0, 0) == 0
      }
    }
  }

  /// In a process of its own, since nothing takes the failure back.
  @Test func `a failure to read a directory is not its end`() async {
    await #expect(processExitsWith: .exitCode(3)) {
      let parts = PartDirectory(try FileDescriptor.directory("/"))
      guard try parts.names(startingWith: "").contains("proc") else { exit(4) }
      guard Self.fail(Int32(SYS_getdents64), with: EIO) else { exit(5) }
      do throws(TransferError) {
        _ = try parts.names(startingWith: "")
        exit(6)
      } catch {
        exit(error == .file(EIO, "cannot list the partial files") ? 3 : 7)
      }
    }
  }
}

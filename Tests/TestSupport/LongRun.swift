import Foundation

/// Whether randomized and exhaustive tests try all that `scripts/nightly` tries (`HAUL_TEST_LONG=1`), or the part that fits
/// into `scripts/test`.
package let isLongRun = ProcessInfo.processInfo.environment["HAUL_TEST_LONG"] != nil

import EmbeddedPostgres
import FoundationEssentials
import Glibc

/// A process that uses the embedded cluster of `HAUL_STATE_DIR`, for tests that kill one: says each step,
/// then `ready CONNINFO`, lets go on SIGTERM and says `closed`.
@main
enum ClusterUser {
  static func main() {
    var stop = sigset_t()
    unsafe sigemptyset(&stop)
    unsafe sigaddset(&stop, SIGTERM)
    unsafe pthread_sigmask(SIG_BLOCK, &stop, nil)
    Task.detached { await use() }
    while true { pause() }
  }

  private static func use() async {
    do {
      let location = try ClusterLocation.standard(
        environment: ProcessInfo.processInfo.environment)
      let cluster = try await EmbeddedCluster.open(location) { say("step \($0)") }
      try await cluster.ensureDatabase("haul")
      say("ready \(cluster.conninfo(database: "haul"))")
      waitForStop()
      cluster.close()
      say("closed")
      exit(0)
    } catch {
      say("error \(error)")
      exit(1)
    }
  }

  private static func waitForStop() {
    var stop = sigset_t()
    unsafe sigemptyset(&stop)
    unsafe sigaddset(&stop, SIGTERM)
    var signal: Int32 = 0
    unsafe sigwait(&stop, &signal)
  }

  private static func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}

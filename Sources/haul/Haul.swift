import Arguments
import FoundationEssentials
import Glibc

/// The program: its tree of commands, one file each in this folder.
@main
enum Haul {
  static let version = "0.1.0"

  static let tree = CommandTree(
    name: "haul", version: version, versionLines: { versionLines },
    "Download long lists of URLs with a pool of workers.",
    discussion: """
      Workers on any number of machines claim jobs from a PostgreSQL database, download them and \
      take over each other's interrupted work. Times are shown in UTC.
      """,
    [
      CommandSection(
        "SET UP",
        [
          CommandNode(MigrateCommand.self), CommandNode(CheckCommand.self),
          CommandNode(
            group: "store", "Manage stores.",
            [CommandNode(StoreInitCommand.self), CommandNode(StoreListCommand.self)]),
          CommandNode(group: "queue", "Manage queues.", [CommandNode(QueueCreateCommand.self)]),
          CommandNode(
            group: "host", "Manage hosts.",
            [
              CommandNode(HostSetCommand.self), CommandNode(HostUnsetCommand.self),
              CommandNode(HostPoliciesCommand.self),
            ]),
          CommandNode(CompletionCommand.self), CommandNode(CompleteCommand.self),
        ]),
      CommandSection(
        "RUN",
        [
          CommandNode(GetCommand.self), CommandNode(UpCommand.self),
          CommandNode(SubmitCommand.self), CommandNode(ExportCommand.self),
          CommandNode(WorkerCommand.self), CommandNode(CoordinatorCommand.self),
          CommandNode(DrainCommand.self),
        ]),
      CommandSection(
        "WATCH",
        [
          CommandNode(JobsCommand.self), CommandNode(JobCommand.self),
          CommandNode(WorkersCommand.self), CommandNode(QueuesCommand.self),
          CommandNode(HostsCommand.self),
          CommandNode(group: "batch", "Wait for batches.", [CommandNode(BatchWaitCommand.self)]),
        ]),
      CommandSection(
        "STEER",
        [
          CommandNode(PauseCommand.self), CommandNode(ResumeCommand.self),
          CommandNode(CancelCommand.self), CommandNode(RetryCommand.self),
          CommandNode(VerifyCommand.self),
        ]),
    ])

  /// Runs the command on Swift's threads, while the main thread waits for signals: nothing may need
  /// the main actor, which never gets its turn.
  static func main() {
    // The time zone of every session, so that lists are in UTC (libpq: Environment Variables).
    unsafe setenv("PGTZ", "UTC", 1)
    let signals = StopSignals.block()
    Task.detached {
      exit(
        await tree.run(
          arguments: Array(CommandLine.arguments.dropFirst()),
          environment: ProcessInfo.processInfo.environment))
    }
    signals.deliver()
  }
}

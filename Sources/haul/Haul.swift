import Arguments
import FoundationEssentials
import Glibc
import HaulSystem
import JobQueue

/// The program with its tree of commands. Each command has its own file in this folder.
@main
enum Haul {
  static let version = JobQueue.programVersion

  /// The commands of Haul that match command names of other programs.
  static let synonyms = [
    "unpause": "resume", "continue": "resume", "unhold": "resume", "hold": "pause",
    "status": "check", "info": "check", "health": "check", "doctor": "check",
    "ls": "jobs", "list": "jobs", "logs": "why", "explain": "why", "log": "history",
    "stop": "drain", "quit": "drain", "undo": "cancel", "ps": "workers", "whoami": "check",
    "pool": "check",
    "add": "submit", "enqueue": "submit", "push": "submit",
    "download": "get", "fetch": "get", "copy": "get",
    "rm": "cancel", "remove": "cancel", "delete": "cancel", "kill": "cancel", "abort": "cancel",
    "requeue": "retry", "rerun": "retry", "start": "up", "serve": "up", "server": "up",
    "monitor": "top", "dashboard": "top", "ui": "top", "setup": "migrate", "init": "migrate",
    "upgrade": "migrate", "errors": "failures", "events": "history", "audit": "history",
    "compare": "verify", "stats": "metrics",
  ]

  static let tree = CommandTree(
    name: "haul", version: version, versionLines: { versionLines }, synonyms: synonyms,
    "Download long lists of URLs with a pool of workers.",
    discussion: """
      Workers on any number of machines claim jobs from a PostgreSQL database and download the files. If a \
      worker stops, other workers continue its downloads. If no other worker can read the disk of the stopped \
      worker, these downloads start again from the first byte after five minutes. Haul shows times in UTC.
      """,
    [
      CommandSection(
        "SET UP",
        [
          CommandNode(MigrateCommand.self), CommandNode(CheckCommand.self),
          CommandNode(
            group: "store", "Manage stores.",
            [CommandNode(StoreInitCommand.self), CommandNode(StoreListCommand.self)]),
          CommandNode(
            group: "queue", "Manage queues.",
            [
              CommandNode(QueueCreateCommand.self), CommandNode(QueueSetCommand.self),
              CommandNode(QueuePauseCommand.self), CommandNode(QueueResumeCommand.self),
              CommandNode(QueueDeleteCommand.self),
            ]),
          CommandNode(
            group: "host", "Manage hosts.",
            [
              CommandNode(HostSetCommand.self), CommandNode(HostUnsetCommand.self),
              CommandNode(HostPoliciesCommand.self), CommandNode(HostBlockCommand.self),
              CommandNode(HostUnblockCommand.self),
            ]),
          CommandNode(CompletionCommand.self), CommandNode(CompleteCommand.self),
          CommandNode(ManualCommand.self),
        ]),
      CommandSection(
        "RUN",
        [
          CommandNode(GetCommand.self), CommandNode(UpCommand.self),
          CommandNode(SubmitCommand.self), CommandNode(ExportCommand.self),
          CommandNode(WorkerCommand.self), CommandNode(CoordinatorCommand.self),
          CommandNode(DrainCommand.self),
          CommandNode(
            group: "rescue", "Hand the jobs of a worker to other workers.",
            [CommandNode(RescueWorkerCommand.self)]),
        ]),
      CommandSection(
        "WATCH",
        [
          CommandNode(TopCommand.self), CommandNode(WatchCommand.self),
          CommandNode(JobsCommand.self), CommandNode(JobCommand.self), CommandNode(WhyCommand.self),
          CommandNode(WorkersCommand.self), CommandNode(QueuesCommand.self),
          CommandNode(HostsCommand.self),
          CommandNode(BatchesCommand.self),
          CommandNode(
            group: "batch", "Show batches and wait for them.",
            [CommandNode(BatchShowCommand.self), CommandNode(BatchWaitCommand.self)]),
          CommandNode(FailuresCommand.self), CommandNode(HistoryCommand.self),
          CommandNode(MetricsCommand.self),
        ]),
      CommandSection(
        "STEER",
        [
          CommandNode(PauseCommand.self), CommandNode(ResumeCommand.self),
          CommandNode(CancelCommand.self), CommandNode(RetryCommand.self),
          CommandNode(PrioritizeCommand.self),
          CommandNode(ReplaceURLCommand.self), CommandNode(VerifyCommand.self),
        ]),
    ])

  /// Runs the command on Swift's threads while the main thread waits for signals. No code may need the main actor, because it
  /// never runs.
  static func main() {
    // A parent may have left SIGCHLD ignored (trap '' CHLD). The kernel then keeps no child's exit status. (wait(2))
    _ = signal(SIGCHLD, SIG_DFL)
    FirstProcess.leave()
    requireArguments()
    // Sets the time zone of every session, so that lists are in UTC (libpq: Environment Variables).
    unsafe setenv("PGTZ", "UTC", 1)
    let signals = StopSignals.block()
    Task.detached {
      let code = await tree.run(
        arguments: Array(CommandLine.arguments.dropFirst()),
        environment: ProcessInfo.processInfo.environment)
      StandardStream.flush()
      exit(code)
    }
    signals.deliver()
  }

  /// Ends the process with a message if /proc is missing. Swift's runtime reads the arguments from /proc and crashes without
  /// it.
  private static func requireArguments() {
    guard unsafe access("/proc/self/cmdline", R_OK) != 0 else { return }
    StandardStream.say(
      "haul: /proc is not mounted, but Haul needs it. Mount /proc.\n")
    exit(ExitCode.configuration.rawValue)
  }
}

import Arguments
import FoundationEssentials
import Glibc
import HaulSystem
import JobQueue

/// The program with its tree of commands. Each command has its own file in this folder.
@main
enum Haul {
  static let version = JobQueue.programVersion

  /// Command names of other programs (the keys), and the commands of Haul to suggest (the values).
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
    "compare": "verify", "stats": "metrics", "usage": "report",
  ]

  static let tree = CommandTree(
    name: "haul", version: version, versionLines: { versionLines }, synonyms: synonyms,
    "Download long lists of URLs with a pool of workers.",
    discussion: """
      A pool is one PostgreSQL database and the workers that take jobs from it. Workers run on any number of \
      machines. You can submit, watch and steer from any machine that reaches the database. 'haul check' shows \
      which database a command uses. Haul shows times in UTC.

        job    one file to download: its URL, its path in the store, and options
        store  a named directory for finished files, shared or one on each machine
        queue  waiting jobs for one store. Each store has a queue with its name
        batch  a name for the jobs of one or more submissions
        host   the server in a URL. The pool runs at most 4 transfers from each one

      To download files without any setup, use 'haul get'. To run a pool on one machine, use 'haul up'. To run \
      a pool on three machines, create a database in PostgreSQL 15 or newer. Then type:

        1. on each machine  export HAUL_DATABASE_URL=postgresql://USER@HOST/DATABASE
        2. once             haul migrate
        3. on each machine  haul store init main /srv/haul
                            (an existing directory; only once if it is shared)
        4. on each machine  haul worker --store main=/srv/haul
        5. on any machine   haul submit -i list.txt
        6. on any machine   haul top

      If the process of a worker dies, the pool frees its jobs within about 5 seconds. If it hangs and sends no \
      heartbeats, or if its machine dies or loses its network, the pool frees them after about 15 seconds. A \
      worker that mounts the same directory then continues the downloads. If none does so within five more \
      minutes, any worker starts them again from the first byte. If a worker hangs but still sends heartbeats, \
      use 'haul rescue worker'.

      If a host or the whole pool downloads nothing, 'haul why' shows the causes and what to type.
      """,
    [
      CommandSection(
        "SET UP",
        [
          CommandNode(MigrateCommand.self), CommandNode(CheckCommand.self),
          CommandNode(
            group: "store", "Manage stores.",
            discussion: """
              A store is a named directory where finished files arrive. Machines can share the directory, or \
              each machine has one of its own.
              """,
            [CommandNode(StoreInitCommand.self), CommandNode(StoreListCommand.self)]),
          CommandNode(
            group: "queue", "Manage queues.",
            discussion: """
              A queue holds waiting jobs for one store. Each store has a queue with its name. 'haul queues' \
              lists queues.
              """,
            [
              CommandNode(QueueCreateCommand.self), CommandNode(QueueSetCommand.self),
              CommandNode(QueuePauseCommand.self), CommandNode(QueueResumeCommand.self),
              CommandNode(QueueDeleteCommand.self),
            ]),
          CommandNode(
            group: "host", "Manage hosts.",
            discussion: """
              A host is the server in a URL. By default, the whole pool runs at most 4 transfers from each \
              host at the same time, however many workers run. 'haul hosts' lists hosts, and why no more \
              transfers start.
              """,
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
            group: "rescue", "Hand the jobs of a hung worker to other workers.",
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
            discussion: """
              A batch is a name for jobs. 'haul submit --batch NAME' adds jobs to a batch. 'haul batches' lists \
              batches.
              """,
            [CommandNode(BatchShowCommand.self), CommandNode(BatchWaitCommand.self)]),
          CommandNode(FailuresCommand.self), CommandNode(HistoryCommand.self),
          CommandNode(ReportCommand.self), CommandNode(MetricsCommand.self),
        ]),
      CommandSection(
        "STEER",
        [
          CommandNode(PauseCommand.self), CommandNode(ResumeCommand.self),
          CommandNode(CancelCommand.self), CommandNode(RetryCommand.self),
          CommandNode(PrioritizeCommand.self),
          CommandNode(ReplaceURLCommand.self), CommandNode(VerifyCommand.self),
          CommandNode(PruneCommand.self),
        ]),
    ])

  /// Runs the command on Swift's threads while the main thread waits for signals. No code may need the main actor, because the
  /// main actor never runs.
  static func main() {
    // A parent may have left SIGCHLD ignored (trap '' CHLD). The kernel then discards the exit statuses of children (wait(2)).
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

import JobQueue

/// The database's roles, made by 'haul migrate'; what each may do is in Sources/Schema/Views/zz_grants.sql.
enum PoolRole: String, CaseIterable {
  case monitor = "haul_monitor"
  case submitter = "haul_submitter"
  case worker = "haul_worker"
  case admin = "haul_admin"

  /// The least that `command` needs; nil where none of them is enough.
  static func needed(by command: any HaulCommand.Type) -> PoolRole? {
    switch command {
    case is MigrateCommand.Type: nil
    case is SubmitCommand.Type, is ExportCommand.Type, is any ControlCommand.Type,
      is PrioritizeCommand.Type:
      .submitter
    case is WorkerCommand.Type, is CoordinatorCommand.Type: .worker
    case is StoreInitCommand.Type, is QueueCreateCommand.Type, is DrainCommand.Type,
      is HostSetCommand.Type, is HostUnsetCommand.Type, is HostBlockCommand.Type,
      is HostUnblockCommand.Type, is QueueSetCommand.Type, is QueuePauseCommand.Type,
      is QueueResumeCommand.Type, is QueueDeleteCommand.Type:
      .admin
    default: .monitor
    }
  }

  /// Whether a user with these rights may do what it may.
  func isHeld(_ rights: DatabaseFacts.Rights) -> Bool {
    switch self {
    case .monitor: rights.watch
    case .submitter: rights.submit
    case .worker: rights.work
    case .admin: rights.administer
    }
  }
}

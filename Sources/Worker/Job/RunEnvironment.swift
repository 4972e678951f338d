import HaulTransfer
import Log
import Stores

/// The objects and settings that all runs of a worker share.
struct RunEnvironment: Sendable {
  let engine: Engine
  let stores: OpenStores
  let pool: String
  let allowsOwnOrigins: Bool
  let recordsDigests: Bool
  /// The directory of credentials; nil if the worker has none.
  let credentials: CredentialDirectory?
  let checkpoints: CheckpointWriter
  let slots: TransferSlots
  let watch: StoreWatch
  let keeper: LeaseKeeper
  let logger: Logger
}

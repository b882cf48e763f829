import JSON

/// A call of a transaction, as far as it was carried out before the transaction began.
public enum TransactionStep: Sendable {
    /// It writes no object: all of it is left to do.
    case call
    /// It saves an object.
    case save(SavePipeline.Outcome)
    /// It removes an object.
    case delete(String, String, DeletePipeline.TriggerOutcome)
    /// It was refused.
    case refused(any Error)
}

/// What a call of a transaction came to, before it was committed.
public enum TransactionOutcome: Sendable {
    /// It wrote no object.
    case nothing
    /// It was a save in name only, and has its answer.
    case saved(WriteResult)
    /// An object was stored.
    case stored(StoredSave)
    /// An object was removed.
    case deleted(DeletePipeline.Planned)
}

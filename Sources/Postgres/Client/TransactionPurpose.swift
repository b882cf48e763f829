/// What a transaction is for. Each purpose has connections of its own, so that none starves another.
public enum TransactionPurpose: Sendable {
    /// One request does several things at once.
    case request
    /// A caller sent several requests that are to be one.
    case batch
    /// Classes are changed; there is no limit of time for that.
    case administration

    /// The connections that it may have.
    var poolPurpose: PoolPurpose {
        switch self {
        case .request: .transactions
        case .batch: .batches
        case .administration: .administration
        }
    }
}

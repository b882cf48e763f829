import HTTP
import Synchronization

/// Whether the server takes requests. It is shared by what starts the server and by what answers.
public final class ServerState: Sendable {
    /// The phases of a server's life.
    public enum Phase: String, Sendable {
        case initialized
        case starting
        case ok
        case error
    }

    private let value: Mutex<Phase>

    /// A server in some phase.
    public init(_ phase: Phase) {
        value = Mutex(phase)
    }

    /// The phase that the server is in. Requests are only taken in `ok`.
    public var phase: Phase {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}

public import Logging
import Synchronization

/// Records the statements that PostgreSQL reports to a server whose database was created by ``layout``.
public final class StatementLog: Sendable {
    private let texts = Mutex<[String]>([])

    public init() {}

    /// Makes PostgreSQL report every statement to the connection that sent it.
    public static let layout = """
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET log_statement = ''all''', current_database());
            EXECUTE format('ALTER DATABASE %I SET client_min_messages = ''log''', current_database());
        END $$
        """

    public var logger: Logger { Logger(label: "statements") { _ in Handler(statements: self) } }

    /// Returns the statements since the last call.
    public func take() -> [String] {
        texts.withLock { texts in
            defer { texts = [] }
            return texts
        }
    }

    private struct Handler: LogHandler {
        let statements: StatementLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard let text = event.metadata?["message"].map({ "\($0)" }), text.utf8.starts(with: "LOG:".utf8) else {
                return
            }
            statements.texts.withLock { $0.append(text) }
        }
    }
}

public import JSON
import Logging
public import ParseStorage
import Postgres
public import ServerConfiguration
import Synchronization

/// Options that operators change while the server runs. Stored values override the configured ones on all servers of
/// the database.
public struct RuntimeOptions: Sendable, BackendPart {
    let backend: Backend

    /// The number of times that stored options have changed, plus 1 if rate limits are configured. If it is 0, no rate
    /// limits are in force.
    public var changes: Int { services.options.changes.load(ordering: .acquiring) }

    /// The rate limits in force.
    public var rateLimits: [RateLimit] { services.options.state.withLock { $0.rateLimits } }

    /// Returns the stored value in force, or nil if the configured value is in force.
    @inline(never) public func stored(_ option: RuntimeOption) -> StoredOption? {
        services.options.state.withLock { $0.stored[option] }
    }

    /// Puts the stored values into force. Ignores them, with one warning, if the database user may not read their
    /// table, or the table doesn't exist or has other columns.
    ///
    /// - Throws: `PostgresError`.
    public func load() async throws {
        // Of concurrent reads, the last one to begin wins.
        let read = services.options.reads.add(1, ordering: .acquiringAndReleasing).newValue
        do {
            apply(try await store.settings.options(), read)
            services.options.isIgnoring.store(false, ordering: .releasing)
        } catch let error as PostgresError where ["42501", "42703", "42P01", "42804"].contains(error.sqlState) {
            guard !services.options.isIgnoring.exchange(true, ordering: .acquiringAndReleasing) else { return }
            logger.warning("stored options ignored", metadata: ["reason": "\(error.message)"])
        }
    }

    /// Stores a value that has passed ``check(_:_:language:)``, or removes the stored value if nil. Takes effect on all
    /// servers.
    ///
    /// - Throws: `PostgresError`.
    public func set(_ option: RuntimeOption, _ value: JSONValue?, by operatorName: String) async throws {
        try await store.settings.setOption(option.rawValue, value, by: operatorName)
        try await load()
        await backend.caches.settingsChanged()
    }

    /// Checks a value as in the configuration file.
    ///
    /// - Parameter value: The value, or nil for the configured one.
    /// - Returns: For an email template, the result of ``Mailer/draft(_:_:language:)``, otherwise an empty object.
    /// - Throws: `ConfigurationError`.
    public func check(_ option: RuntimeOption, _ value: JSONValue?, language: String = "en")
        throws(ConfigurationError) -> JSONObject
    {
        var changed = configuration
        if let value { try changed.set(option, value) }
        guard let mailer = services.mailer, let kind = AccountMail.Kind(rawValue: option.rawValue) else { return [:] }
        return try mailer.draft(kind, value == nil ? nil : changed.mailTemplate(option), language: language)
    }

    @inline(never) private func apply(_ rows: [StoredOption], _ read: Int) {
        // Only loads wait for this lock, requests don't.
        let names: [String]? = services.options.applied.withLock { applied in
            guard read > applied.read else { return nil }
            applied.read = read
            guard rows != applied.rows else { return nil }
            applied.rows = rows
            var changed = configuration
            var stored: [RuntimeOption: StoredOption] = [:]
            for row in rows {
                guard let option = RuntimeOption(rawValue: row.name) else { continue }
                do throws(ConfigurationError) {
                    _ = try check(option, row.value)
                    try changed.set(option, row.value)
                    stored[option] = row
                } catch {
                    logger.warning(
                        "stored option ignored", metadata: ["option": "\(row.name)", "error": "\(error.message)"])
                }
            }
            let state = OptionsInForce.State(stored: stored, rateLimits: changed.rateLimits)
            services.options.state.withLock { $0 = state }
            services.mailer?.use(stored.keys.reduce(into: [:]) { $0[$1] = changed.mailTemplate($1) })
            return stored.keys.map(\.rawValue).sorted()
        }
        guard let names else { return }
        services.options.changes.add(1, ordering: .acquiringAndReleasing)
        logger.notice(
            names.isEmpty ? "the configured options are in force" : "stored options override the configured ones",
            metadata: names.isEmpty ? [:] : ["options": "\(names.joined(separator: ", "))"])
    }
}

/// The values of ``RuntimeOptions``.
final class OptionsInForce: Sendable {
    struct State {
        var stored: [RuntimeOption: StoredOption] = [:]
        var rateLimits: [RateLimit]
    }

    struct Applied {
        /// The number of the read whose values were applied last.
        var read = 0
        var rows: [StoredOption] = []
    }

    let state: Mutex<State>
    let applied = Mutex(Applied())
    let reads = Atomic(0)
    let isIgnoring = Atomic(false)
    let changes: Atomic<Int>

    init(_ configuration: Configuration) {
        state = Mutex(State(rateLimits: configuration.rateLimits))
        changes = Atomic(configuration.rateLimits.isEmpty ? 0 : 1)
    }
}

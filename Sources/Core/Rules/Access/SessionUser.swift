import JSON
import ParseModel
import Synchronization

/// The user of a session. Shared by all requests with the token while the session is cached.
public final class SessionUser: Sendable, Hashable {
    /// A user's own record as sent in responses.
    package struct Record: Sendable {
        package var bytes: [UInt8]
        /// The URL of the API that file links in the record begin with.
        package var mountURL: String
        /// The schema version used to read the record.
        package var schemaVersion: Int

        package init(bytes: [UInt8], mountURL: String, schemaVersion: Int) {
            self.bytes = bytes
            self.mountURL = mountURL
            self.schemaVersion = schemaVersion
        }
    }

    public let id: String
    /// The id of the `_Session` row, or empty without a session.
    public let sessionId: String
    public let token: String
    /// The user's roles including inherited ones, as `role:<name>`.
    public let roles: [Name]
    /// `*`, the roles, and the user's id, unless the id looks like another principal, such as `role:admin`.
    public let principals: [Name]
    /// Whether the user can log in only with the anonymous provider. Always false for a session that was just created.
    public let isAnonymous: Bool

    private let lastRecord = Mutex<Record?>(nil)
    private let lastRecordSize = Atomic(0)

    public init(id: String, sessionId: String, token: String, roles: [Name], isAnonymous: Bool) {
        self.id = id
        self.sessionId = sessionId
        self.token = token
        self.roles = roles
        principals = ["*"] + roles + (Principal.isReserved(Name(id)) ? [] : [Name(id)])
        self.isAnonymous = isAnonymous
    }

    /// The cached record of the user, or nil if it hasn't been requested yet or is too large. Any change of the record
    /// evicts the user from the session cache.
    package var record: Record? {
        get { lastRecord.withLock { $0 } }
        set { lastRecord.withLock { $0 = newValue } }
    }

    /// The size of the user's record in bytes when it was last read, or 0 before. May be outdated.
    package var recordSize: Int {
        get { lastRecordSize.load(ordering: .relaxed) }
        set { lastRecordSize.store(newValue, ordering: .relaxed) }
    }

    public static func == (left: SessionUser, right: SessionUser) -> Bool {
        left === right
            || left.id.hasSameBytes(as: right.id) && left.sessionId.hasSameBytes(as: right.sessionId)
                && left.token.hasSameBytes(as: right.token)
                && left.roles == right.roles && left.isAnonymous == right.isAnonymous
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(Name(id))
        hasher.combine(Name(token))
    }
}

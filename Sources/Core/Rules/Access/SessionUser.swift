import JSON
import ParseModel
import Synchronization

/// The user of a session. Requests with the same token share it for as long as the session is remembered.
public final class SessionUser: Sendable, Hashable {
    /// What a user reads of itself, as it is answered.
    package struct Record: Sendable {
        package var bytes: [UInt8]
        /// The URL under which the API was reached: links to files in it begin with that.
        package var mountURL: String
        /// The version of the schema by which it was read.
        package var schemaVersion: Int

        package init(bytes: [UInt8], mountURL: String, schemaVersion: Int) {
            self.bytes = bytes
            self.mountURL = mountURL
            self.schemaVersion = schemaVersion
        }
    }

    /// The user's id.
    public let id: String
    /// The id of the `_Session` row.
    public let sessionId: String
    /// The session's token.
    public let token: String
    /// The user's roles, inherited ones included, as `role:<name>`.
    public let roles: [Name]
    /// `*`, the roles, and the user's id, unless that could be read as another principal: by which names the user is let in.
    public let principals: [Name]
    /// Whether the user has no account but that of the anonymous provider.
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

    /// The user's own record, once it was asked for. Whatever changes it makes the session cache forget the user, and this
    /// with it.
    package var record: Record? {
        get { lastRecord.withLock { $0 } }
        set { lastRecord.withLock { $0 = newValue } }
    }

    /// How many bytes the user's own record took when it was read last; 0 before. It says nothing of how many it takes now.
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

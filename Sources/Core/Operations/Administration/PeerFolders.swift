import Synchronization

/// Detects processes on the same database that store uploads in another folder, where this process can't read them.
///
/// Each folder has a mark. Processes announce their folder's mark when they start listening, and processes with another
/// mark reply.
final class PeerFolders: Sendable {
    private struct State {
        var mark: String?
        var reported: Set<String> = []
    }

    private let state = Mutex(State())

    private static let maxReports = 100

    /// The announcement of this process's folder, or nil if it stores no files in a folder.
    var question: String? { state.withLock { $0.mark.map { "files?\($0)" } } }

    func begin(_ mark: String) { state.withLock { $0.mark = mark } }

    /// A different folder that another process announced.
    struct Other: Equatable {
        /// The reply to send, or nil if the message was itself a reply.
        let answer: String?
        /// Whether the operator hasn't been warned about this folder yet. False after 100 warnings.
        let isNew: Bool
    }

    static func isAnnouncement(_ payload: String) -> Bool { payload.hasPrefix("files?") || payload.hasPrefix("files!") }

    /// Returns the announced folder, or nil if it is this process's own or this process stores no files in a folder.
    func other(in payload: String) -> Other? {
        let mark = String(payload.dropFirst(6))
        return state.withLock { state in
            guard let own = state.mark, own != mark else { return nil }
            let isNew = state.reported.count < Self.maxReports && state.reported.insert(mark).inserted
            return Other(answer: payload.hasPrefix("files?") ? "files!\(own)" : nil, isNew: isNew)
        }
    }
}

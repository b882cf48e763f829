import Synchronization

/// Notices that another process on the database keeps uploaded files in another folder: what one of them stores, the other
/// does not find.
///
/// Each folder has a mark, which its processes announce when they begin to hear others. Who has another one says so.
final class PeerFolders: Sendable {
    private struct State {
        var mark: String?
        var reported: Set<String> = []
    }

    private let state = Mutex(State())

    private static let mostReports = 100

    /// The announcement of the own folder, which others answer; nil for a process without one.
    var question: String? { state.withLock { $0.mark.map { "files?\($0)" } } }

    func begin(_ mark: String) { state.withLock { $0.mark = mark } }

    /// Another folder that was announced.
    struct Other: Equatable {
        /// What its process is to hear; nil for nothing.
        let answer: String?
        /// Whether the operator has not been warned of it.
        let isNew: Bool
    }

    static func isAnnouncement(_ payload: String) -> Bool { payload.hasPrefix("files?") || payload.hasPrefix("files!") }

    /// The folder that a process announced, where it is not the own one.
    func other(in payload: String) -> Other? {
        let mark = String(payload.dropFirst(6))
        return state.withLock { state in
            guard let own = state.mark, own != mark else { return nil }
            let isNew = state.reported.count < Self.mostReports && state.reported.insert(mark).inserted
            return Other(answer: payload.hasPrefix("files?") ? "files!\(own)" : nil, isNew: isNew)
        }
    }
}

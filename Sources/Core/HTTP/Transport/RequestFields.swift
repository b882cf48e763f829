import Encoding
import Logging
import Logs

/// What the log says of a request that was answered.
package struct RequestFields: Sendable {
    let id: RequestID
    let method: String
    let path: String
    /// nil for a client that left before its answer.
    let status: Int?
    let duration: Duration
    /// The template of the path, where it is one of a route.
    var route: String?
    /// The number of Parse's error.
    var code: Int?
    /// The bytes of the content of the answer.
    var bytes: Int?
    var caller = RequestRecord.Caller()
    var traceID: String?

    /// Takes of a target what lines keep: the path, without the query string, which may hold secrets, without the host
    /// of a whole URL, which may hold a password, and not all of one that is long.
    package init(id: RequestID, method: String, target: String, status: Int?, duration: Duration) {
        self.id = id
        self.method = method
        self.status = status
        self.duration = duration
        path = Self.isShortPath(target) ? target : Self.path(target)
    }

    /// The common case: the target is kept unchanged.
    private static func isShortPath(_ target: String) -> Bool {
        let isShort = target.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.count <= longestPath && bytes.first == UInt8(ascii: "/") && !bytes.contains(UInt8(ascii: "?"))
        }
        return isShort ?? false
    }

    private static func path(_ target: String) -> String {
        let kept = withoutHost(target.utf8[...]).prefix(longestPath).prefix { $0 != UInt8(ascii: "?") }
        return String(decoding: kept, as: UTF8.self)
    }

    /// In bytes.
    private static let longestPath = 256

    private static func withoutHost(_ target: Substring.UTF8View) -> Substring.UTF8View {
        guard target.first != UInt8(ascii: "/"), let scheme = Substring(target).firstRange(of: "://") else {
            return target
        }
        let authority = target[scheme.upperBound...]
        return authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }.map { authority[$0...] }
            ?? authority.suffix(0)
    }

    /// The path as lines have it. The name of a file opens it to everybody, and is left out.
    var shownPath: String {
        if let route, !route.hasPrefix("/files") { return path }
        guard let start = lengthToFile else { return path }
        let slash = path.utf8.dropFirst(start).firstIndex(of: UInt8(ascii: "/"))
        let shown = slash.map { path.utf8[...$0] } ?? path.utf8.prefix(start)
        return String(decoding: shown, as: UTF8.self) + "\u{2026}"
    }

    /// Length of the path before an app's file, or nil for other paths.
    private var lengthToFile: Int? {
        var (matched, length) = (0, 0)
        for byte in path.utf8 {
            length += 1
            // Names of routes may have capitals.
            if byte.lowercasedASCII == Self.files[matched] {
                matched += 1
            } else {
                matched = byte == UInt8(ascii: "/") ? 1 : 0
            }
            if matched == Self.files.count { return length }
        }
        return nil
    }

    private static let files = Array("/files/".utf8)

    /// How loudly the log says it.
    ///
    /// - Parameter slow: From how long on a request is slow.
    package func level(isQuiet: Bool, slow: Duration) -> Logger.Level {
        if isQuiet { return .debug }
        if let status, status >= 500 { return .error }
        return duration >= slow && status != nil ? .warning : .info
    }

    /// The fields, sorted by name.
    package var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        fields.reserveCapacity(12)
        func add(_ name: String, _ value: String?) {
            if let value { fields.append((name, value)) }
        }
        add("aborted", status == nil ? "true" : nil)
        add("bytes", bytes.map(String.init))
        add("client", caller.client)
        add("code", code.map(String.init))
        add("id", id.description)
        add("method", method)
        add("ms", milliseconds)
        add("path", shownPath)
        add("power", caller.power)
        add("route", route)
        add("status", status.map(String.init))
        add("trace_id", traceID)
        add("user", caller.user)
        return fields
    }

    private var milliseconds: String {
        let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        let rest = String(microseconds % 1000)
        return String(microseconds / 1000) + (rest.utf8.count == 1 ? ".00" : rest.utf8.count == 2 ? ".0" : ".") + rest
    }
}

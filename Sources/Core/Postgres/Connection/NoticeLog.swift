import CLibpq
import Logging

/// Writes the server's messages to the log instead of standard error. Drops notices, such as those about existing
/// tables, because each start causes hundreds.
final class NoticeLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Routes a connection's messages to this log, which must outlive the connection and all its results.
    func receive(from connection: OpaquePointer) {
        PQsetNoticeReceiver(
            connection,
            { log, result in
                guard let log, let result else { return }
                Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue().write(result)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func write(_ result: OpaquePointer) {
        // The severity, always in English.
        let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))).map { String(cString: $0) }
        guard severity != "NOTICE" else { return }
        logger.debug(
            "PostgreSQL message",
            metadata: ["message": "\(PQresultErrorMessage(result).map { String(cString: $0).trimmed } ?? "")"])
    }
}

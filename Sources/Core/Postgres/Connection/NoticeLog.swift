import CLibpq
import Logging

/// Where the server's messages go: the log, never standard error. Notices, as that a table is there already, are dropped: a
/// start brings hundreds of them.
final class NoticeLog: Sendable {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// Makes a connection send its notices here. The log must outlive the connection and all its results.
    func receive(from connection: OpaquePointer) {
        PQsetNoticeReceiver(
            connection,
            { log, result in
                guard let log, let result else { return }
                Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue().write(result)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func write(_ result: OpaquePointer) {
        // Its severity, in English.
        let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))).map { String(cString: $0) }
        guard severity != "NOTICE" else { return }
        logger.debug(
            "PostgreSQL message",
            metadata: ["message": "\(PQresultErrorMessage(result).map { String(cString: $0).trimmed } ?? "")"])
    }
}

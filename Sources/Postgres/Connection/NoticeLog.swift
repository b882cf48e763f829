import CLibpq
import Logging

/// Where the server's notices go: the log, never standard error.
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
        logger.debug(
            "PostgreSQL notice",
            metadata: ["message": "\(PQresultErrorMessage(result).map { String(cString: $0).trimmed } ?? "")"])
    }
}

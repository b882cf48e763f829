import FileStorage
import Limits
import NIOCore
import Outgoing
import Synchronization

/// An object opened by one request, whose response may already contain the wanted bytes.
package final class S3Object: StoredFile {
    package let size: Int64
    package let modified: FileTime
    package let entityTag: String
    package let details: FileDetails?
    package let isInMemory = false
    private let client: S3Client
    private let key: String
    /// The download slot, held with the file, or nil if the response has no body.
    private let place: GatePlace?
    /// A response with bytes that haven't been passed on, for the next read.
    private let pending: Mutex<Answer?>

    /// A response that is read in order.
    private struct Answer {
        /// The range of bytes that haven't been passed on.
        var range: Range<Int64>
        let body: HTTPPieces
        /// The bytes of this range that have been received.
        var piece = ByteBuffer()
    }

    /// - Parameters:
    ///   - size: The size of the whole object.
    ///   - range: The byte range in the response, or nil if it has no body.
    init(
        _ client: S3Client, key: String, answer: HTTPStream, size: Int64, range: Range<Int64>?,
        place: GatePlace? = nil
    ) {
        self.client = client
        self.place = place
        self.key = key
        self.size = size
        modified = FileTime(seconds: answer.header("Last-Modified").flatMap { StoreDate.seconds(ofHTTPDate: $0) } ?? 0)
        entityTag = answer.header("ETag") ?? ""
        let tagged = answer.header("x-amz-tagging-count").flatMap { Int($0) } ?? 0
        // Tags need another request, which is made on demand.
        details = tagged > 0 ? nil : S3Details.details(answer, name: key)
        pending = Mutex(range.map { Answer(range: $0, body: answer.body) })
    }

    package func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        guard !range.isEmpty else { return }
        guard let place = place ?? GatePlace.acquire(in: client.downloads) else {
            throw FileStorageError.unavailable(retryAfter: 1)
        }
        defer { withExtendedLifetime(place) {} }
        var answer = if let ready = consumePending(range) { ready } else { try await second(range) }
        var left = range.count
        do {
            while left > 0 {
                if answer.piece.readableBytes == 0 {
                    guard let piece = try await answer.body.next() else { break }
                    guard piece.readableBytes <= answer.range.count else { throw FileStorageError.refused }
                    answer.piece = piece
                }
                guard let part = answer.piece.readSlice(length: min(left, answer.piece.readableBytes)) else { break }
                left -= part.readableBytes
                answer.range = answer.range.lowerBound + Int64(part.readableBytes)..<answer.range.upperBound
                try await sink(part)
            }
        } catch let failure as HTTPCallFailure {
            throw Cut(reason: failure.description)
        }
        guard left == 0 else { throw Cut(reason: "\(left) bytes are missing") }
        store(answer)
    }

    /// The error for a file that ended early or was replaced while it was read.
    package struct Cut: Error, CustomStringConvertible {
        let reason: String
        package var description: String { "the file store returned a truncated file: \(reason)" }
    }

    private func consumePending(_ range: Range<Int64>) -> Answer? {
        pending.withLock { pending in
            defer { pending = nil }
            guard let known = pending, known.range.lowerBound == range.lowerBound,
                known.range.upperBound >= range.upperBound
            else { return nil }
            return known
        }
    }

    private func store(_ answer: Answer) {
        if !answer.range.isEmpty { pending.withLock { $0 = answer } }
    }

    /// Sends another request for a range, of the version that was opened.
    private func second(_ range: Range<Int64>) async throws -> Answer {
        var request = S3Request("GET", key)
        request.isDownload = true
        if range != 0..<size {
            request.headers.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        }
        if !entityTag.isEmpty { request.headers.append(("If-Match", entityTag)) }
        do {
            let answer = try await client.open(request)
            let given = S3Storage.range(answer, range.count)
            guard given?.range == range else { throw Cut(reason: "the store returned the wrong byte range") }
            return Answer(range: range, body: answer.body)
        } catch let failure as S3Failure where failure.status == 412 || failure.isAbsence {
            throw Cut(reason: "the file was replaced meanwhile")
        } catch {
            throw client.refusal(error, "GetObject")
        }
    }
}

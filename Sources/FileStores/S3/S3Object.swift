import FileStorage
import NIOCore
import Outgoing
import Synchronization
import Tasks

/// An object of a bucket, opened by one request, whose answer may bring the bytes that are wanted.
final class S3Object: StoredFile {
    let size: Int64
    let modified: FileTime
    let entityTag: String
    let details: FileDetails?
    let isInMemory = false
    private let client: S3Client
    private let key: String
    /// Held for as long as the file is; nil where no bytes of it were asked for.
    private let place: GatePlace?
    /// The answer under way, and the bytes that it brings; taken by the first who wants these.
    private let pending: Mutex<(range: Range<Int64>, body: HTTPPieces)?>

    /// - Parameters:
    ///   - size: The size, where the answer does not say it.
    ///   - range: The bytes that the answer brings; nil for none.
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
        // Tags need one more request, which is made for those who ask.
        details = tagged > 0 ? nil : S3Details.details(answer, name: key)
        pending = Mutex(range.map { ($0, answer.body) })
    }

    func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        guard let place = place ?? client.downloads.take() else { throw FileStorageError.unavailable(retryAfter: 1) }
        defer { withExtendedLifetime(place) {} }
        let body: HTTPPieces
        if let ready = take(range) {
            body = ready
        } else {
            body = try await second(range)
        }
        var left = range.count
        do {
            while left > 0, let piece = try await body.next() {
                guard piece.readableBytes <= left else { throw FileStorageError.refused }
                left -= piece.readableBytes
                try await sink(piece)
            }
        } catch let failure as HTTPCallFailure {
            throw Cut(reason: failure.description)
        }
        guard left == 0 else { throw Cut(reason: "\(left) bytes are missing") }
    }

    /// The file ended before its size.
    struct Cut: Error, CustomStringConvertible {
        let reason: String
        var description: String { "the file store has cut a file short: \(reason)" }
    }

    private func take(_ range: Range<Int64>) -> HTTPPieces? {
        pending.withLock { pending in
            defer { pending = nil }
            guard let known = pending, known.range == range else { return nil }
            return known.body
        }
    }

    /// Asks again, for the same version only.
    private func second(_ range: Range<Int64>) async throws -> HTTPPieces {
        var request = S3Request("GET", key)
        request.isDownload = true
        if range != 0..<size {
            request.headers.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        }
        if !entityTag.isEmpty { request.headers.append(("If-Match", entityTag)) }
        do {
            let answer = try await client.open(request)
            let given = S3Storage.range(answer, range.count)
            guard given?.range == range else { throw Cut(reason: "other bytes came than were asked for") }
            return answer.body
        } catch let failure as S3Failure where failure.status == 412 || failure.isAbsence {
            throw Cut(reason: "it was replaced meanwhile")
        } catch {
            throw client.refusal(error, "GetObject")
        }
    }
}

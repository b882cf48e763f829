import Crypto
import Encoding
import FileStorage
import Logging
import NIOCore
import Outgoing

/// Uploads a file: a short one with a single request, a longer one in parts of equal size. One part is sent while the
/// next is filled.
///
/// A slow client occupies no connection to the store, and a part can be sent again.
package struct S3Upload {
    /// The size of each part but the last, in bytes. A file up to this size is sent with a single request.
    package static let partSize = 8 * 1024 * 1024
    private static let maxParts = 10_000
    /// The number of bytes of a part that are filled only after the previous part is stored. They leave room for the
    /// buffers of both connections, so that an upload never takes more memory than two parts.
    private static let reserve = 2 * 1024 * 1024

    let client: S3Client
    let key: String
    let headers: [(name: String, value: String)]

    /// Stores the contents. Aborts an upload in parts after an error. If the store's response was lost, the object may
    /// exist nevertheless.
    func run<Contents: AsyncSequence>(_ contents: Contents) async throws where Contents.Element == ByteBuffer {
        var part = Part()
        var started: String?
        do {
            var tags: [Int: String] = [:]
            var (count, size) = (0, Int64(0))
            var begun: Int?
            try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for try await var chunk in contents {
                    while chunk.readableBytes > 0 {
                        if part.size == Self.partSize {
                            if started == nil {
                                let start = try await begin()
                                (started, begun) = (start.id, start.time)
                            }
                            guard let id = started else { return }
                            if let (number, tag) = try await group.next() { tags[number] = tag }
                            count += 1
                            guard count < Self.maxParts else { throw FileStorageError.refused }
                            let (full, number) = (part.extract(), count)
                            group.addTask { try await send(full, number, id) }
                        }
                        part.fill(&chunk)
                        guard part.size > Self.partSize - Self.reserve, tags.count < count else { continue }
                        if let (number, tag) = try await group.next() { tags[number] = tag }
                    }
                }
                guard let id = started else { return }
                if let (number, tag) = try await group.next() { tags[number] = tag }
                size = Int64(count) * Int64(Self.partSize) + Int64(part.size)
                count += 1
                tags[count] = try await send(part.extract(), count, id).1
            }
            if let id = started {
                try await complete(id, (1...count).map { tags[$0] ?? "" }, size: size, begun: begun)
            } else {
                try await sendWhole(part.extract())
            }
        } catch {
            if let started { await abort(started) }
            throw client.refusal(error, started == nil ? "PutObject" : "multipart upload")
        }
    }

    private func put(_ part: Part.Full, _ request: S3Request) async throws -> (answer: HTTPStream, body: [UInt8]) {
        var request = request
        (request.content, request.digest) = (part.bytes, part.digest)
        // One second per 256 KiB, after 30 seconds.
        request.limit = .seconds(30 + part.bytes.readableBytes / (256 * 1024))
        return try await client.exchange(request)
    }

    private func sendWhole(_ part: Part.Full) async throws {
        let (answer, body) = try await put(part, S3Request("PUT", key, headers: headers))
        // Without an ETag, the response is not the store's, but for example a login page, and nothing was stored.
        guard answer.header("ETag") != nil else {
            throw S3Failure(answer, body: body, reason: "the response has no ETag")
        }
    }

    /// Begins an upload in parts.
    ///
    /// - Returns: The upload id, and the start time by the store's clock.
    private func begin() async throws -> (id: String, time: Int?) {
        let request = S3Request("POST", key, query: ["uploads="], headers: headers)
        let answer = try await client.exchange(request)
        guard let id = XMLText(answer.body)["UploadId"], !id.isEmpty else {
            throw S3Failure(answer.answer, body: answer.body)
        }
        return (id, answer.answer.header("Date").flatMap { StoreDate.seconds(ofHTTPDate: $0) })
    }

    private func send(_ part: Part.Full, _ number: Int, _ id: String) async throws -> (Int, String) {
        let query = ["partNumber=\(number)", "uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"]
        let (answer, body) = try await put(part, S3Request("PUT", key, query: query))
        guard let tag = answer.header("ETag") else { throw S3Failure(answer, body: body) }
        return (number, tag)
    }

    /// Completes the upload. If the response is lost, looks for the object instead.
    private func complete(_ id: String, _ tags: [String], size: Int64, begun: Int?) async throws {
        let parts = tags.enumerated().map {
            "<Part><PartNumber>\($0 + 1)</PartNumber><ETag>\(HTMLEscaping.escapeMarkup($1))</ETag></Part>"
        }.joined()
        var request = S3Request("POST", key, query: ["uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"])
        request.headers = [("Content-Type", "application/xml")]
        request.setBody(Array("<CompleteMultipartUpload>\(parts)</CompleteMultipartUpload>".utf8))
        request.limit = .seconds(60)
        do {
            let (answer, body) = try await client.exchange(request)
            // The store sends the status before it has finished, so errors are in the body.
            let text = XMLText(body)
            guard text.elements("Error").isEmpty else { throw S3Failure(answer, body: body) }
            if !text.elements("CompleteMultipartUploadResult").isEmpty { return }
            if await isThere(size, begun: begun) { return }
            throw S3Failure(answer, body: body, reason: "the response doesn't confirm that the upload is complete")
        } catch let failure as S3Failure where failure.code == "NoSuchUpload" {
            guard await isThere(size, begun: begun) else { throw failure }
        } catch let failure as S3Failure where failure.mayPass {
            throw FileStorageError.unavailable(retryAfter: 1)
        } catch let error as FileStorageError {
            guard await isThere(size, begun: begun) else { throw error }
        }
    }

    /// Returns whether the object exists with this size and, if the store sends times, isn't an older one of this name.
    private func isThere(_ size: Int64, begun: Int?) async -> Bool {
        guard let (answer, _) = try? await client.exchange(S3Request("HEAD", key)),
            answer.header("Content-Length").flatMap({ Int64($0) }) == size
        else { return false }
        guard let begun, let time = answer.header("Last-Modified").flatMap({ StoreDate.seconds(ofHTTPDate: $0) }) else {
            return true
        }
        // Both times are the store's, but each of its machines has its own clock.
        return time >= begun - 60
    }

    /// Aborts even if the task was cancelled, because leftover parts cost money.
    private func abort(_ id: String) async {
        let query = ["uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"]
        await Task { [client, key] in _ = try? await client.exchange(S3Request("DELETE", key, query: query)) }.value
    }
}

/// A part that is being filled. Its checksum is updated along the way instead of at the end.
private struct Part {
    /// A part that is ready to send.
    struct Full: Sendable {
        let bytes: ByteBuffer
        let digest: String
    }

    private var bytes = ByteBuffer()
    private var hash = SHA256()

    var size: Int { bytes.readableBytes }

    /// Moves bytes from the chunk until the part is full.
    mutating func fill(_ chunk: inout ByteBuffer) {
        guard let piece = chunk.readSlice(length: min(chunk.readableBytes, S3Upload.partSize - size)) else { return }
        bytes.writeImmutableBuffer(piece)
        piece.readableBytesView.withUnsafeBytes { hash.update(bufferPointer: $0) }
    }

    /// Returns the contents and resets the part.
    mutating func extract() -> Full {
        defer { self = Part() }
        return Full(bytes: bytes, digest: hash.finalize().hexadecimal)
    }
}

extension S3Storage {
    /// Aborts uploads that started before a Unix time and were never completed, because the process ended or the store
    /// was unreachable. Until they are aborted, their parts cost money.
    ///
    /// Several servers may do this at the same time.
    package func abortUploads(before seconds: Int) async throws {
        var marker: [String] = []
        var former: [String] = []
        repeat {
            let prefix = "prefix=\(AWSSignature.encode(client.bucket.prefix, keepingSlashes: false))"
            let page: XMLText
            do {
                page = XMLText(
                    try await client.exchange(S3Request("GET", nil, query: marker + [prefix, "uploads="])).body)
            } catch {
                throw client.refusal(error, "ListMultipartUploads")
            }
            for upload in page.elements("Upload") {
                guard let key = upload["Key"], let id = upload["UploadId"],
                    key.utf8.starts(with: client.bucket.prefix.utf8),
                    let begun = upload["Initiated"].flatMap({ StoreDate.seconds(ofISODate: $0) }), begun < seconds
                else { continue }
                try await abort(key, id)
            }
            marker = [("key-marker", "NextKeyMarker"), ("upload-id-marker", "NextUploadIdMarker")].compactMap {
                name, element in
                page[element].map { "\(name)=\(AWSSignature.encode($0, keepingSlashes: false))" }
            }
            if page["IsTruncated"] != "true" { marker = [] }
            guard marker.isEmpty || marker != former else {
                let reason = "the list is truncated and has no continuation token"
                throw client.refusal(S3Failure(status: 200, body: [], reason: reason), "ListMultipartUploads")
            }
            former = marker
        } while !marker.isEmpty
    }

    private func abort(_ key: String, _ id: String) async throws {
        let query = ["uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"]
        do {
            _ = try await client.exchange(S3Request("DELETE", key, query: query))
            client.logger.notice(
                "aborted an incomplete upload", metadata: ["bucket": "\(client.bucket.bucket)"])
        } catch let failure as S3Failure where failure.status == 404 {
            return
        } catch {
            throw client.refusal(error, "AbortMultipartUpload")
        }
    }
}

import Crypto
import Encoding
import FileStorage
import Logging
import NIOCore
import Outgoing

/// One upload: a request for a short file; for a longer one parts of one size, of which one is on its way while the next is
/// filled.
///
/// A client that sends slowly holds no connection to the store, and a part can be sent again.
package struct S3Upload {
    /// The bytes of each part but the last. A file of up to so many is sent at once.
    package static let partSize = 8 * 1024 * 1024
    private static let mostParts = 10_000
    /// Bytes of a part filled only after the previous part is stored. They leave room for both connections' buffers, so
    /// an upload never takes more than two parts.
    private static let reserve = 2 * 1024 * 1024

    let client: S3Client
    let key: String
    let headers: [(name: String, value: String)]

    /// Stores what comes. When it throws, nothing is stored.
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
                            guard count < Self.mostParts else { throw FileStorageError.refused }
                            let (full, number) = (part.take(), count)
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
                tags[count] = try await send(part.take(), count, id).1
            }
            if let id = started {
                try await complete(id, (1...count).map { tags[$0] ?? "" }, size: size, begun: begun)
            } else {
                try await sendWhole(part.take())
            }
        } catch {
            if let started { await abort(started) }
            throw client.refusal(error, started == nil ? "PutObject" : "multipart upload")
        }
    }

    /// Time limit for a body: 30 seconds, and a second per 256 KiB.
    private static func limit(_ size: Int) -> Duration { .seconds(30 + size / (256 * 1024)) }

    private func sendWhole(_ part: Part.Full) async throws {
        var request = S3Request("PUT", key, headers: headers)
        (request.content, request.digest, request.limit) = (
            part.bytes, part.digest, Self.limit(part.bytes.readableBytes)
        )
        // An empty body has a length too.
        let (answer, body) = try await client.exchange(request)
        // What answers everything with a success, such as a page to log in, stores nothing.
        guard answer.header("ETag") != nil else {
            throw S3Failure(answer, body: body, reason: "the response has no ETag")
        }
    }

    /// - Returns: The id, and the start by the store's clock.
    private func begin() async throws -> (id: String, time: Int?) {
        let request = S3Request("POST", key, query: ["uploads="], headers: headers)
        let answer = try await client.exchange(request)
        guard let id = XMLText(answer.body)["UploadId"], !id.isEmpty else {
            throw S3Failure(answer.answer, body: answer.body)
        }
        return (id, answer.answer.header("Date").flatMap { StoreDate.seconds(ofHTTPDate: $0) })
    }

    private func send(_ part: Part.Full, _ number: Int, _ id: String) async throws -> (Int, String) {
        var request = S3Request(
            "PUT", key, query: ["partNumber=\(number)", "uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"])
        (request.content, request.digest, request.limit) = (
            part.bytes, part.digest, Self.limit(part.bytes.readableBytes)
        )
        let (answer, body) = try await client.exchange(request)
        guard let tag = answer.header("ETag") else { throw S3Failure(answer, body: body) }
        return (number, tag)
    }

    /// Completes the upload. If the response is lost, looks for the object instead.
    private func complete(_ id: String, _ tags: [String], size: Int64, begun: Int?) async throws {
        let parts = tags.enumerated().map {
            "<Part><PartNumber>\($0 + 1)</PartNumber><ETag>\(XMLText.escaped($1))</ETag></Part>"
        }.joined()
        var request = S3Request("POST", key, query: ["uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"])
        request.headers = [("Content-Type", "application/xml")]
        request.setBody(Array("<CompleteMultipartUpload>\(parts)</CompleteMultipartUpload>".utf8))
        request.limit = .seconds(60)
        do {
            let (answer, body) = try await client.exchange(request)
            // The status is sent before the work is done: what went wrong stands in the body.
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

    /// Whether the object exists and isn't an older one of this name.
    private func isThere(_ size: Int64, begun: Int?) async -> Bool {
        guard let (answer, _) = try? await client.exchange(S3Request("HEAD", key)),
            answer.header("Content-Length").flatMap({ Int64($0) }) == size
        else { return false }
        guard let begun, let time = answer.header("Last-Modified").flatMap({ StoreDate.seconds(ofHTTPDate: $0) }) else {
            return true
        }
        // Both are the store's, of whose machines each has a clock.
        return time >= begun - 60
    }

    /// Aborts even if the task was cancelled, because leftover parts cost money.
    private func abort(_ id: String) async {
        let query = ["uploadId=\(AWSSignature.encode(id, keepingSlashes: false))"]
        await Task { [client, key] in _ = try? await client.exchange(S3Request("DELETE", key, query: query)) }.value
    }
}

/// A part being filled. Its checksum grows with it, so that none is left for the end.
private struct Part {
    /// A part that is sent.
    struct Full: Sendable {
        let bytes: ByteBuffer
        let digest: String
    }

    private var bytes = ByteBuffer()
    private var hash = SHA256()

    var size: Int { bytes.readableBytes }

    /// Takes as many bytes as there is room for.
    mutating func fill(_ chunk: inout ByteBuffer) {
        guard let piece = chunk.readSlice(length: min(chunk.readableBytes, S3Upload.partSize - size)) else { return }
        bytes.writeImmutableBuffer(piece)
        piece.readableBytesView.withUnsafeBytes { hash.update(bufferPointer: $0) }
    }

    /// What it holds; it is empty then.
    mutating func take() -> Full {
        defer { self = Part() }
        return Full(bytes: bytes, digest: hash.finalize().hexadecimal)
    }
}

extension S3Storage {
    /// Gives up uploads that were begun before a time and never ended: the process was killed, or the store out of reach.
    /// The parts of each cost money until then.
    ///
    /// Several servers may give them up at a time: the second finds nothing.
    package func giveUpUploads(before seconds: Int) async throws {
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
                try await giveUp(key, id)
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

    private func giveUp(_ key: String, _ id: String) async throws {
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

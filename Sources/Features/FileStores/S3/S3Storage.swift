import Crypto
import Encoding
public import FileStorage
import Limits
import Logging
public import NIOCore
import Outgoing
import Platform
import ServerConfiguration

/// Stores uploaded files as objects in a bucket of Amazon S3 or a compatible service.
public struct S3Storage: FileStorage {
    package let client: S3Client
    private let links: S3Links?

    /// The maximum length of a key, in bytes.
    private static let maxBytes = 1024
    /// The age in seconds from which an incomplete upload counts as abandoned.
    private static let grace: TimeInterval = 24 * 3600

    init(_ client: S3Client, preservesNames: Bool) {
        self.client = client
        links = S3Links(client, preservesNames: preservesNames)
    }

    /// The function that returns direct URLs of files, or nil if the options don't allow them.
    public var location: (@Sendable (_ name: String) -> String?)? {
        guard let links else { return nil }
        return { links.url($0) }
    }

    /// The bytes of two parts: one being sent, and one being filled.
    public var memoryOfWrites: Int { 2 * S3Upload.partSize }

    /// Does nothing, because ``tend()`` checks the bucket without delaying the start.
    public func prepare() async throws {}

    /// Logs an error if the bucket can't be used, then aborts abandoned uploads once a day.
    public func tend() async {
        do {
            // Google requires a separate permission for HEAD. The server needs the permission for listing anyway.
            _ = try await client.exchange(
                client.isForGoogle
                    ? S3Request("GET", nil, query: ["list-type=2", "max-keys=1"]) : S3Request("HEAD", nil))
        } catch let failure as S3Failure {
            let reason =
                failure.status == 404
                ? "the bucket doesn't exist" : failure.status == 403 ? "access is denied" : "\(failure)"
            client.logger.error(
                "can't use the file bucket",
                metadata: [
                    "bucket": "\(client.bucket.bucket)", "region": "\(client.bucket.region)", "action": "HeadBucket",
                    "reason": "\(reason)",
                ])
        } catch {
            client.logger.warning("can't reach the file bucket", metadata: ["reason": "\(error)"])
        }
        while !Task.isCancelled {
            let limit = Int(Date().addingTimeInterval(-Self.grace).timeIntervalSince1970)
            try? await abortUploads(before: limit)
            try? await Task.sleep(for: .seconds(24 * 3600))
        }
    }

    public func shutdown() async { await client.shutdown() }

    public func checkAvailable() throws { try client.breaker.check() }

    public var isOutOfReach: Bool { client.breaker.isClosed }

    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        guard let key = key(of: name) else { throw FileStorageError.unusableName }
        var headers = try S3Details.headers(details, name: name, storesTags: client.bucket.storesTags)
        if let acl = client.bucket.acl { headers.append(("x-amz-acl", acl)) }
        if let control = client.bucket.cacheControl { headers.append(("Cache-Control", control)) }
        if let encryption = client.bucket.encryption {
            headers.append(("x-amz-server-side-encryption", encryption))
            if let id = client.bucket.encryptionKeyId {
                headers.append(("x-amz-server-side-encryption-aws-kms-key-id", id))
            }
        }
        try await S3Upload(client: client, key: key, headers: headers).run(contents)
    }

    /// Opens a file, usually with a single request.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard let key = key(of: name) else { return nil }
        if wish.isHeadOnly { return try await head(key) }
        guard let place = GatePlace.acquire(in: client.downloads) else {
            throw FileStorageError.unavailable(retryAfter: 1)
        }
        var request = S3Request("GET", key)
        request.isDownload = true
        // Requests for several ranges get the whole file.
        if let range = wish.range, !range.contains(",") { request.headers.append(("Range", range)) }
        if let versions = wish.knownVersions { request.headers.append(("If-None-Match", versions)) }
        do {
            let answer = try await client.open(request, accepts: [304])
            if answer.status == 304 {
                // If the store matched a version that this server doesn't, the response has no bytes to send.
                guard Self.holds(wish.knownVersions ?? "", answer.header("ETag") ?? "") else {
                    return try await head(key)
                }
                return S3Object(client, key: key, answer: answer, size: 0, range: nil)
            }
            // A response without a length could pass for an empty file, and a part without a range for the whole file.
            guard let length = answer.header("Content-Length").flatMap({ Int($0) }), length >= 0,
                let given = Self.range(answer, length), given.range.count == length,
                answer.status != 206 || answer.header("Content-Range") != nil
            else { throw S3Failure(answer, body: [], reason: "the response has no valid Content-Range") }
            return S3Object(client, key: key, answer: answer, size: given.size, range: given.range, place: place)
        } catch let failure as S3Failure where failure.status == 416 {
            return try await head(key)
        } catch let failure as S3Failure where failure.isAbsence {
            return nil
        } catch {
            throw client.refusal(error, "GetObject")
        }
    }

    public func details(name: String) async throws -> FileDetails {
        guard let key = key(of: name) else { return FileDetails() }
        do {
            let (answer, _) = try await client.exchange(S3Request("HEAD", key))
            guard answer.header("x-amz-tagging-count").flatMap({ Int($0) }) ?? 0 > 0 else {
                return S3Details.details(answer, name: name)
            }
            let (_, body) = try await client.exchange(S3Request("GET", key, query: ["tagging="]))
            return S3Details.details(answer, name: name, tags: S3Details.tags(body))
        } catch let failure as S3Failure where failure.isAbsence {
            return FileDetails()
        } catch {
            throw client.refusal(error, "HeadObject")
        }
    }

    /// Deletes a file. Succeeds even if the object doesn't exist, because S3 doesn't report that.
    public func delete(name: String) async throws {
        guard let key = key(of: name) else { throw FileStorageError.notFound }
        do {
            _ = try await client.exchange(S3Request("DELETE", key))
        } catch let failure as S3Failure where failure.isAbsence {
            return
        } catch {
            throw client.refusal(error, "DeleteObject")
        }
    }

    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        let whole = client.bucket.prefix + prefix
        var token: String?
        repeat {
            var query = [
                "list-type=2", "max-keys=1000", "prefix=\(AWSSignature.encode(whole, keepingSlashes: false))",
            ]
            // Google doesn't report whether keys are encoded.
            if !client.isForGoogle { query.insert("encoding-type=url", at: 0) }
            if let token { query.append("continuation-token=\(AWSSignature.encode(token, keepingSlashes: false))") }
            let body: [UInt8]
            do {
                body = try await client.exchange(S3Request("GET", nil, query: query)).body
            } catch {
                throw client.refusal(error, "ListObjectsV2")
            }
            // A list that ends too early would look complete.
            guard let page = XMLText(body).elements("ListBucketResult").first else {
                throw client.refusal(S3Failure(status: 200, body: [], reason: "invalid file list"), "ListObjectsV2")
            }
            let isEncoded = page["EncodingType"] == "url"
            for entry in page.elements("Contents") {
                guard let text = entry["Key"],
                    let key = isEncoded ? PercentEncoding.decode(text, plusIsSpace: true) : text,
                    key.utf8.starts(with: client.bucket.prefix.utf8),
                    let size = entry["Size"].flatMap({ Int64($0) }), (0...Self.largestListed).contains(size)
                else { continue }
                // Without a known time, the file must not look old, because old files may be removed.
                let modified =
                    entry["LastModified"].flatMap { StoreDate.seconds(ofISODate: $0) }
                    ?? Int(Date().timeIntervalSince1970)
                let name = String(decoding: key.utf8.dropFirst(client.bucket.prefix.utf8.count), as: UTF8.self)
                // Folder markers created by web consoles aren't files.
                guard self.key(of: name) != nil else { continue }
                try await use(ListedFile(name: name, size: size, modified: FileTime(seconds: modified)))
            }
            guard page["IsTruncated"] == "true" else { return }
            guard let next = page["NextContinuationToken"], next != token else {
                let reason = "the list is truncated and has no continuation token"
                throw client.refusal(S3Failure(status: 200, body: [], reason: reason), "ListObjectsV2")
            }
            token = next
        } while true
    }

    /// Returns whether `If-None-Match` lists a version or is `*`.
    private static func holds(_ versions: String, _ version: String) -> Bool {
        func opaque(_ tag: some StringProtocol) -> String {
            let tag = tag.trimmingBlanks()
            return tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        }
        let known = versions.split(separator: ",").map { opaque($0) }
        return known == ["*"] || known.contains(opaque(version))
    }

    /// Returns the key of a file name, or nil if no upload could have created the name. Imported names may be anything,
    /// and some services resolve `..` to the parent folder.
    package func key(of name: String) -> String? { Self.key(of: name, prefix: client.bucket.prefix) }

    /// The maximum size of a listed file. Far above any store's limit, but sums of such sizes don't overflow.
    private static let largestListed: Int64 = 1 << 46

    static func key(of name: String, prefix: String) -> String? {
        let segments = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }),
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        let key = prefix + name
        return key.utf8.count <= maxBytes ? key : nil
    }

    /// Returns the byte range of a response and the size of the whole object, judging by the header fields instead of
    /// the status. Returns nil if they are inconsistent.
    static func range(_ answer: HTTPStream, _ length: Int) -> (range: Range<Int64>, size: Int64)? {
        guard let text = answer.header("Content-Range") else { return (0..<Int64(length), Int64(length)) }
        let numbers = text.split { " -/".contains($0) }.dropFirst().map { Int64($0) }
        guard numbers.count == 3, let first = numbers[0], let last = numbers[1], let size = numbers[2], first <= last,
            last < size
        else { return nil }
        return (first..<last + 1, size)
    }

    private func head(_ key: String) async throws -> (any StoredFile)? {
        do {
            let (answer, _) = try await client.exchange(S3Request("HEAD", key))
            guard let size = answer.header("Content-Length").flatMap({ Int64($0) }), size >= 0 else {
                throw S3Failure(answer, body: [], reason: "the response has no file size")
            }
            return S3Object(client, key: key, answer: answer, size: size, range: nil)
        } catch let failure as S3Failure where failure.isAbsence {
            return nil
        } catch {
            throw client.refusal(error, "HeadObject")
        }
    }
}

import Crypto
import Encoding
public import FileStorage
import Logging
public import NIOCore
import Outgoing
import ServerConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Uploaded files as objects of a bucket, which Amazon or another service keeps that speaks S3.
public struct S3Storage: FileStorage {
    package let client: S3Client
    private let links: S3Links?

    /// The longest key.
    private static let mostBytes = 1024
    /// Age in seconds at which an upload counts as aborted.
    private static let grace: TimeInterval = 24 * 3600

    init(_ client: S3Client, preservesNames: Bool) {
        self.client = client
        links = S3Links(client, preservesNames: preservesNames)
    }

    /// Addresses at the store, where the options say so.
    public var location: (@Sendable (_ name: String) -> String?)? {
        guard let links else { return nil }
        return { links.url($0) }
    }

    /// Two parts: one on its way, one that is filled.
    public var memoryOfWrites: Int { 2 * S3Upload.partSize }

    /// Nothing: the bucket is there or not, and is asked beside the start.
    public func prepare() async throws {}

    /// Says in the log whether the bucket can be used, and removes once a day what uploads left that were cut off.
    public func tend() async {
        do {
            // To look at a bucket is a right of its own at Google; to list it is needed anyway.
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
            try? await giveUpUploads(before: limit)
            try? await Task.sleep(for: .seconds(24 * 3600))
        }
    }

    /// Closes the connections.
    public func shutdown() async { await client.shutdown() }

    /// Refuses while the store does not answer.
    public func checkAvailable() throws { try client.breaker.check() }

    /// Whether requests are kept from it, or were until now.
    public var isOutOfReach: Bool { client.breaker.isClosed }

    /// Stores a file, replacing one of the same name.
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

    /// Opens a file by one request.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard let key = key(of: name) else { return nil }
        if wish.isHeadOnly { return try await head(key) }
        guard let place = client.downloads.take() else { throw FileStorageError.unavailable(retryAfter: 1) }
        var request = S3Request("GET", key)
        request.isDownload = true
        // Several parts at once are answered with the whole file.
        if let range = wish.range, !range.contains(",") { request.headers.append(("Range", range)) }
        if let versions = wish.knownVersions { request.headers.append(("If-None-Match", versions)) }
        do {
            let answer = try await client.open(request, accepts: [304])
            if answer.status == 304 {
                // A store may take for the same what this server does not, and has no bytes for it then.
                guard Self.holds(wish.knownVersions ?? "", answer.header("ETag") ?? "") else {
                    return try await head(key)
                }
                return S3Object(client, key: key, answer: answer, size: 0, range: nil)
            }
            // Without its length an empty file is like any other, and a part without its place like the whole.
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

    /// What the client said about a file when it was stored.
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

    /// Removes a file. The store does not say whether there was one.
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

    /// Gives the files whose names begin with a text, by the bytes of their names.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        let whole = client.bucket.prefix + prefix
        var token: String?
        repeat {
            var query = [
                "list-type=2", "max-keys=1000", "prefix=\(AWSSignature.encode(whole, keepingSlashes: false))",
            ]
            // Google does not say whether it encodes.
            if !client.isForGoogle { query.insert("encoding-type=url", at: 0) }
            if let token { query.append("continuation-token=\(AWSSignature.encode(token, keepingSlashes: false))") }
            let body: [UInt8]
            do {
                body = try await client.exchange(S3Request("GET", nil, query: query)).body
            } catch {
                throw client.refusal(error, "ListObjectsV2")
            }
            // A list that ends too early would be taken for all files.
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
                // A file whose time is not known is no old one, which might be removed.
                let modified =
                    entry["LastModified"].flatMap { StoreDate.seconds(ofISODate: $0) }
                    ?? Int(Date().timeIntervalSince1970)
                let name = String(decoding: key.utf8.dropFirst(client.bucket.prefix.utf8.count), as: UTF8.self)
                // Folders that consoles make are no files.
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

    /// Whether `If-None-Match` lists a version.
    private static func holds(_ versions: String, _ version: String) -> Bool {
        func opaque(_ tag: some StringProtocol) -> String {
            let tag = tag.trimmingBlanks()
            return tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        }
        let known = versions.split(separator: ",").map { opaque($0) }
        return known == ["*"] || known.contains(opaque(version))
    }

    /// The key of a name; nil for one that no upload gives. Names come from the database too, where imports bring what they
    /// like, and some services take `..` for the folder above.
    package func key(of name: String) -> String? { Self.key(of: name, prefix: client.bucket.prefix) }

    /// Limits listed sizes far above any store's, so that sums don't overflow.
    private static let largestListed: Int64 = 1 << 46

    static func key(of name: String, prefix: String) -> String? {
        let segments = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }),
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        let key = prefix + name
        return key.utf8.count <= mostBytes ? key : nil
    }

    /// The bytes that an answer brings, by its fields and not by its status, and the size of the whole.
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

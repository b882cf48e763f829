import Crypto
import Encoding
import FileStorage
import Limits
import Logging
import NIOCore
import Outgoing
import Platform
import ServerConfiguration
import Synchronization
import Telemetry

package struct S3Request: Sendable {
    var method: String
    /// The key of the object, or nil for a request to the bucket.
    var key: String?
    /// The encoded parameters, each `name=value`.
    var query: [String] = []
    var headers: [(name: String, value: String)] = []
    var content: ByteBuffer?
    /// The SHA-256 of the content, in hexadecimal.
    var digest = S3Request.emptyDigest
    /// The time limit for the head of the response.
    var limit = Duration.seconds(10)
    /// Whether a client reads the response at its own speed.
    var isDownload = false

    package init(_ method: String, _ key: String?, query: [String] = [], headers: [(name: String, value: String)] = [])
    {
        self.method = method
        self.key = key
        self.query = query
        self.headers = headers
    }

    mutating func setBody(_ bytes: [UInt8]) {
        content = ByteBuffer(bytes: bytes)
        digest = SHA256.hash(data: bytes).hexadecimal
    }

    /// The operation under which metrics count the request.
    var operation: FileStoreMeters.Operation {
        switch method {
        case "GET": key == nil ? .list : .get
        case "HEAD": .head
        case "DELETE": .delete
        default: .put
        }
    }

    static let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}

/// Sends signed requests to a bucket, retries them and interprets the responses.
package final class S3Client: Sendable {
    package let bucket: Configuration.S3
    let address: S3Address
    let breaker: StoreBreaker
    let logger: Logger
    /// Limits concurrent downloads. Each holds a connection to the store until its client has finished.
    let downloads = Gate(capacity: maxDownloads, leavesRoom: true)
    static let maxDownloads = 1024
    private let caller: HTTPCaller
    /// The client for downloads, with separate connections.
    private let reader: HTTPCaller
    private let signer: any StoreSigner
    private let meters: FileStoreMeters
    /// The seconds by which the store's clock is ahead.
    private let clockOffset = Mutex(0)
    private let budget = RetryBudget()

    init(
        _ bucket: Configuration.S3, caller: HTTPCaller, reader: HTTPCaller, signer: any StoreSigner,
        meters: FileStoreMeters, logger: Logger
    ) {
        self.bucket = bucket
        self.caller = caller
        self.reader = reader
        self.signer = signer
        self.meters = meters
        self.logger = logger
        address = S3Address(bucket)
        breaker = StoreBreaker(name: bucket.bucket, logger: logger)
    }

    /// AWS credentials that are valid without waiting for a renewal, or nil if there are none.
    var knownCredentials: AWSCredentials? { (signer as? AWSSigner)?.credentials.known }

    var now: Date { Date().addingTimeInterval(Double(clockOffset.withLock { $0 })) }

    var isForGoogle: Bool { signer.isForGoogle }

    func shutdown() async {
        await caller.shutdown()
        await reader.shutdown()
        await signer.shutdown()
    }

    /// Sends a request and returns the successful response, whose body hasn't been read.
    ///
    /// - Parameter accepts: Other statuses that count as success.
    /// - Throws: `S3Failure` for an error response, ``FileStorageError/unavailable(retryAfter:)`` if the store, its
    ///   credentials or a connection are unavailable, or `CancellationError`.
    func open(_ request: S3Request, accepts: Set<Int> = []) async throws -> HTTPStream {
        var attempt = 1
        var isCorrected = false
        while true {
            let isProbe = try breaker.enter()
            let reason: any Error
            var wait: Double?
            var moment = ContinuousClock.now
            do {
                let answer = try await send(request, signed: &moment)
                if (200...299).contains(answer.status) || accepts.contains(answer.status) {
                    meters.add(request.operation, .ok, .now - moment)
                    breaker.succeeded()
                    budget.gain()
                    return answer
                }
                let body = request.method == "HEAD" ? [] : (try? await answer.body.collect(upTo: 64 * 1024)) ?? []
                var failure = S3Failure(answer, body: body)
                failure.isOfHead = request.method == "HEAD"
                let result: FileStoreMeters.Result =
                    failure.mayPass ? .unavailable : failure.isAbsence ? .absent : .refused
                meters.add(request.operation, result, .now - moment)
                if !failure.mayPass {
                    breaker.succeeded()
                    if !isCorrected, try await correct(failure, signed: moment) {
                        isCorrected = true
                        continue
                    }
                    throw failure
                }
                breaker.failed("\(failure)", for: request.key, isProbe: isProbe)
                (reason, wait) = (failure, failure.retryAfter)
            } catch let failure as HTTPCallFailure where failure.kind == .busy {
                // All local connections are busy, which doesn't mean that the store is down.
                breaker.abandoned(isProbe: isProbe)
                log(failure, request.method)
                throw FileStorageError.unavailable(retryAfter: 1)
            } catch let failure as HTTPCallFailure {
                meters.add(request.operation, .unavailable, .now - moment)
                breaker.failed(
                    failure.description, for: failure.kind == .unreachable ? nil : request.key, isProbe: isProbe)
                reason = failure
            } catch let error as CredentialFailure {
                breaker.abandoned(isProbe: isProbe)
                logger.error("file store has no credentials", metadata: ["reason": "\(error)"])
                throw FileStorageError.unavailable(retryAfter: 5)
            } catch let error as CancellationError {
                breaker.abandoned(isProbe: isProbe)
                throw error
            }
            guard attempt < bucket.attempts, !breaker.isClosed, budget.spend() else {
                log(reason, request.method)
                throw FileStorageError.unavailable(retryAfter: max(1, Int(wait ?? 1)))
            }
            let longest = 0.1 * Double(attempt)
            try await Task.sleep(for: .seconds(min(5, wait ?? Double.random(in: 0...longest))))
            attempt += 1
        }
    }

    /// Sends a request and returns the successful response with its body.
    ///
    /// - Throws: `S3Failure` for an error response, ``FileStorageError/unavailable(retryAfter:)`` if the store, its
    ///   credentials or a connection are unavailable, or `CancellationError`.
    package func exchange(_ request: S3Request) async throws -> (answer: HTTPStream, body: [UInt8]) {
        let answer = try await open(request)
        guard request.method != "HEAD" else { return (answer, []) }
        do {
            return (answer, try await answer.body.collect(upTo: 8 * 1024 * 1024))
        } catch let failure as HTTPCallFailure {
            log(failure, request.method)
            throw FileStorageError.unavailable(retryAfter: 1)
        }
    }

    /// Logs an error response and returns ``FileStorageError/refused``. Returns other errors unchanged.
    func refusal(_ failure: any Error, _ request: String) -> any Error {
        guard failure is S3Failure else { return failure }
        log(failure, request)
        return FileStorageError.refused
    }

    /// Signs and sends a request.
    ///
    /// - Parameter moment: Set to the time of signing, after any fetch of credentials.
    private func send(_ request: S3Request, signed moment: inout ContinuousClock.Instant) async throws -> HTTPStream {
        let path = address.path(request.key)
        var call = HTTPCall(
            request.method, address.url(path, request.query),
            headers: try await signer.headers(for: request, host: address.host, path: path, at: now))
        moment = .now
        if request.content == nil, ["PUT", "POST"].contains(request.method) {
            call.headers.append(("Content-Length", "0"))
        }
        return try await (request.isDownload ? reader : caller).open(
            call, content: request.content, headWithin: request.limit, silence: .seconds(20))
    }

    /// Fixes the cause of a rejected request, if possible.
    ///
    /// - Returns: Whether to send the request again.
    private func correct(_ failure: S3Failure, signed moment: ContinuousClock.Instant) async throws -> Bool {
        guard failure.code == "RequestTimeTooSkewed" else {
            return await signer.renew(after: failure, signed: moment)
        }
        guard let seconds = failure.date.flatMap({ StoreDate.seconds(ofHTTPDate: $0) }) else { return false }
        let offset = seconds - Int(Date().timeIntervalSince1970)
        clockOffset.withLock { $0 = offset }
        logger.warning(
            "clock differs from the file store's, signing with the store's time", metadata: ["seconds": "\(offset)"])
        return true
    }

    private func log(_ reason: any Error, _ action: String) {
        logger.error(
            "file store request failed",
            metadata: ["action": "\(action)", "bucket": "\(bucket.bucket)", "reason": "\(reason)"])
    }
}

/// Allows ten retries at first, and one more per ten successes, to spare a failing store. At most 20 accumulate.
private final class RetryBudget: Sendable {
    private let tenths = Mutex(100)

    func gain() { tenths.withLock { $0 = min(200, $0 + 1) } }

    func spend() -> Bool {
        tenths.withLock { tenths in
            guard tenths >= 10 else { return false }
            tenths -= 10
            return true
        }
    }
}

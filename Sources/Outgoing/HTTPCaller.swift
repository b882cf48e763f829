import AsyncHTTPClient
import JSON
import NIOCore
import NIOHTTP1
import NIOSSL
public import ServerConfiguration
import Synchronization

/// Sends requests to servers of others: identity providers, services that send mails, hosts of cloud code.
///
/// Connections are kept for the next call. Redirects are not followed, since who redirects chooses whom the server talks
/// to; certificates are checked; an answer has a time and a size that it cannot go beyond.
public final class HTTPCaller: Sendable {
    /// The connections are opened by the first call, so a server that fails to start has none to close.
    private enum State {
        case unused(HTTPClient.Configuration)
        case open(HTTPClient)
        case closed
    }

    private let state: Mutex<State>

    /// Makes a caller, which connects when it is used.
    ///
    /// - Throws: When the file of certificates cannot be read.
    public init(_ settings: Configuration.Outgoing) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let path = settings.trustedCertificates {
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(path))]
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(5)
        configuration.proxy = settings.proxy.map { .server(host: $0.host, port: $0.port) }
        state = Mutex(.unused(configuration))
    }

    /// Closes the connections; calls after that fail.
    public func shutdown() async {
        let client: HTTPClient? = state.withLock { state in
            defer { state = .closed }
            guard case .open(let client) = state else { return nil }
            return client
        }
        try? await client?.shutdown()
    }

    func client() throws -> HTTPClient {
        try state.withLock { state in
            switch state {
            case .open(let client): return client
            case .closed: throw HTTPCallFailure(description: "the server is stopping")
            case .unused(let configuration):
                let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
                state = .open(client)
                return client
            }
        }
    }

    /// Sends a request and reads the whole answer.
    ///
    /// - Parameters:
    ///   - timeLimit: How long it may take altogether.
    ///   - mostBytes: The largest body of an answer, in bytes.
    /// - Throws: `HTTPCallFailure` when there is no answer within the limits; `CancellationError`.
    public func send(_ call: HTTPCall, timeLimit: Duration = .seconds(5), mostBytes: Int = 65_536) async throws
        -> HTTPReply
    {
        do {
            return try await withThrowingTaskGroup(of: HTTPReply?.self) { group in
                group.addTask { try await self.exchange(call, mostBytes) }
                group.addTask {
                    try await Task.sleep(for: timeLimit)
                    return nil
                }
                defer { group.cancelAll() }
                guard let first = try await group.next(), let reply = first else {
                    throw HTTPCallFailure(description: "no answer in time")
                }
                return reply
            }
        } catch let failure as HTTPCallFailure {
            throw failure
        } catch is NIOTooManyBytesError {
            throw HTTPCallFailure(description: "an answer of more than \(mostBytes) bytes")
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw HTTPCallFailure(description: (error as? HTTPClientError)?.shortDescription ?? "\(error)")
        }
    }

    private func exchange(_ call: HTTPCall, _ mostBytes: Int) async throws -> HTTPReply {
        var request = HTTPClientRequest(url: call.url)
        request.method = HTTPMethod(rawValue: call.method)
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        if !call.body.isEmpty { request.body = .bytes(call.body) }
        let response = try await client().execute(request, deadline: .distantFuture)
        let body = try await response.body.collect(upTo: mostBytes)
        return HTTPReply(
            status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) },
            body: Array(body.readableBytesView))
    }
}

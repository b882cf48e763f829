import AsyncHTTPClient
public import NIOCore
import NIOHTTP1

extension HTTPCaller {
    /// Sends a request and hands the body of the answer on while it comes, however large it is.
    ///
    /// - Parameters:
    ///   - timeLimit: How long all of it may take.
    ///   - sink: Takes the pieces of a body whose status is one of 200 to 299; the next one comes when it returns.
    /// - Returns: The status.
    /// - Throws: `HTTPCallFailure` when there is no answer, or not all of it; what `sink` throws.
    public func download(
        _ call: HTTPCall, timeLimit: Duration = .seconds(3600), to sink: (ByteBuffer) async throws -> Void
    ) async throws -> Int {
        var request = HTTPClientRequest(url: call.url)
        request.method = HTTPMethod(rawValue: call.method)
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        do {
            let response = try await client().execute(
                request, deadline: .now() + .seconds(timeLimit.components.seconds))
            guard (200...299).contains(response.status.code) else { return Int(response.status.code) }
            for try await piece in response.body { try await sink(piece) }
            return Int(response.status.code)
        } catch let error as HTTPClientError {
            throw HTTPCallFailure(description: error.shortDescription)
        }
    }
}

import Foundation
import JSON
import TestSupport

/// A client that sends requests in the format of an SDK, and rejects responses that the SDK can't read.
protocol WireClient: Sendable {
    var server: TestServer { get }
}

extension WireClient {
    /// The path of the server's URL, which SDKs prepend to paths in a batch.
    var mountPath: String { URL(string: server.url)?.path ?? "" }

    func batchPath(_ path: String) -> JSONValue { .string(mountPath + path) }

    /// Throws if the body is not a JSON object or array, which no SDK accepts.
    func requireReadable(_ answer: TestAnswer) throws -> TestAnswer {
        switch answer.json {
        case .object, .array: return answer
        default: throw UnreadableAnswer(status: answer.status, text: answer.text)
        }
    }
}

struct UnreadableAnswer: Error {
    let status: Int
    let text: String
}

extension JSONValue {
    var objectID: String? { self["objectId"]?.stringValue }
}

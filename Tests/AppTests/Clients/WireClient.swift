import Foundation
import JSON
import TestSupport

/// What the wire clients of these tests share: a server, and the session of who is logged in.
///
/// Each client sends its requests in the form of one SDK, and refuses an answer that this SDK could not read.
protocol WireClient: Sendable {
    var server: TestServer { get }
}

extension WireClient {
    /// The path component of the server's URL, which the SDKs put before the paths inside a batch.
    var mountPath: String { URL(string: server.url)?.path ?? "" }

    /// A path inside a batch.
    func batchPath(_ path: String) -> JSONValue { .string(mountPath + path) }

    /// Throws when the body is not a JSON object or array: every SDK fails then.
    func requireReadable(_ answer: TestAnswer) throws -> TestAnswer {
        switch answer.json {
        case .object, .array: return answer
        default: throw UnreadableAnswer(status: answer.status, text: answer.text)
        }
    }
}

/// An answer that the SDK cannot read.
struct UnreadableAnswer: Error {
    let status: Int
    let text: String
}

extension JSONValue {
    /// The id of an object or a pointer.
    var objectID: String? { self["objectId"]?.stringValue }
}

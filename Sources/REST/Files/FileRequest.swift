import Encoding
import HTTP
import JSON

/// A request below `/files`, whose body has not been read yet.
struct FileRequest {
    let request: IncomingRequest
    let target: RequestTarget
    let opener: EnvelopeOpener
    let state: ServerState
    let turns: RequestTurns

    /// The components after `files`, still percent-encoded.
    var components: ArraySlice<Substring> { target.components.dropFirst() }

    /// The components after `files`, decoded. A NUL is left in: it makes a name invalid, which has an error of its own.
    func decodedComponents() throws(HTTPError) -> [String] {
        var result: [String] = []
        for component in components {
            guard let decoded = PercentEncoding.decode(component) else {
                throw HTTPError(status: 400, message: "Failed to decode param '\(component)'")
            }
            result.append(decoded)
        }
        return result
    }

    /// The credentials that the headers hold.
    func headerCredentials() throws -> Credentials {
        try opener.credentialReader.read(headers: request.headers)
    }

    /// An envelope of a request whose credentials have been found.
    ///
    /// - Throws: ``HTTPError`` when the keys are not good enough or the server takes no requests.
    func envelope(method: Method, credentials: Credentials, body: JSONObject = [:]) throws -> Envelope {
        let origin = try opener.origin(of: request, credentials)
        try state.check()
        return Envelope(
            from: origin, method: method, path: ["files"] + (try decodedComponents()), rawPath: String(target.path),
            body: body)
    }
}
